"""What the matrix says: the lines of a run, docs/benchmarks.md and its figures, all from the results alone."""
import glob
import math
import os

import matrix_svg

PEERS = ("LIBLINEAR", "libocas", "LinearSVC", "SGDClassifier", "dlib")
MEASURES = {"a": ("hinge", PEERS, "(a) solving alone, one thread"),
            "b": ("hinge, all cores", (*PEERS, "libocas, all cores"), "(b) solving alone, all cores")}
FILE_PEERS = ("LIBLINEAR", "libocas", "LinearSVC", "SGDClassifier")
LARGE, SMALL = 100e6, 1e6  # bytes of text
TALL = 50  # rows for each column from which on "m >> d"
STAGES_OF = "like-ccat"


class Cell:
    """One set, cost and gap: seconds of hinge and of each peer, None where the gap was not reached."""

    def __init__(self, results, name, cost, gap, measure):
        ours, peers, _ = MEASURES[measure]
        self.set, self.cost, self.gap, self.cap = name, cost, gap, results.all["about"]["cap"]
        self.measured = bool(results.solver(name, cost, ours))
        found = results.fastest(name, cost, ours, gap) if self.measured else None
        self.ours = found and found[0]
        self.choice = found and results.solver(name, cost, ours)["points"][found[1]].get("choice", "")
        self.peers = {peer: fast and fast[0] for peer in peers
                      for fast in [results.fastest(name, cost, peer, gap)] if results.solver(name, cost, peer)}
        self.best = min(((s, peer) for peer, s in self.peers.items() if s), default=(None, None))

    def counts(self):
        return self.measured and bool(self.peers) and bool(self.ours or self.best[0])

    def ratio(self):
        """Best peer over hinge. None where no peer got there; the cap stands in where hinge did not."""
        return self.best[0] / (self.ours or self.cap) if self.best[0] else None

    def won(self):
        return bool(self.ours) and (not self.best[0] or self.ratio() >= 1)

    def where(self):
        return f"{self.set} C={self.cost} {self.gap:g}"


def cells(results, measure):
    made = [Cell(results, name, cost, gap, measure) for name in results.all["sets"] for cost in results.costs(name)
            for gap in results.gaps()]
    return [cell for cell in made if cell.counts()]


def mean(ratios):
    """Geometric; None of nothing."""
    ratios = [ratio for ratio in ratios if ratio]
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else None


def times(number):
    return "-" if number is None else f"{number:.3g}x" if number < 100 else f"{number:.0f}x"


def seconds(number):
    return "-" if number is None else f"{number:.3g}"


# The lines of a run


def cell_lines(results, name, cost):
    for measure in MEASURES:
        for gap in results.gaps():
            cell = Cell(results, name, cost, gap, measure)
            if not cell.measured:
                continue
            peers = ", ".join(f"{peer} {seconds(s)}" for peer, s in cell.peers.items())
            yield (f"{name} C={cost} gap {gap:g} ({measure}): hinge {seconds(cell.ours)} s; {peers}; "
                   f"{'best peer / hinge ' + times(cell.ratio()) if cell.peers else 'no peers'}")


def file_lines(results, name):
    found = results.all["files"].get(name, {})
    said = [f"{solver} {min(f['seconds']):.3g} s {f['peak'] / 1e6:.0f} MB" if "seconds" in f else
            f"{solver}: {f['missed']}" for solver, f in found.items()]
    yield f"{name} file to model, C=1, gap 0.001: {'; '.join(said)}"


# What must be shown


def file_ratio(results, name, ours):
    """-> best peer's text to model over hinge's, or None"""
    found = results.all["files"].get(name, {})
    best = min((min(found[p]["seconds"]) for p in FILE_PEERS if "seconds" in found.get(p, {})), default=None)
    return best / min(found[ours]["seconds"]) if best and "seconds" in found.get(ours, {}) else None


def memory_ratio(results, name):
    found = results.all["files"].get(name, {})
    peaks = [found.get(who, {}).get("peak") for who in ("hinge", "LIBLINEAR")]
    return peaks[0] / peaks[1] if all(peaks) else None


def list_of(losses):
    shown = ", ".join(losses[:8])
    return f"{shown} and {len(losses) - 8} more" if len(losses) > 8 else shown


def solve_lines(results):
    for measure in MEASURES:
        found = cells(results, measure)
        low = [cell for cell in found if float(cell.cost) <= 1]
        lost = [f"{cell.where()} ({times(cell.ratio())})" for cell in low if not cell.won()]
        overall = mean([cell.ratio() for cell in found])
        if not found:
            yield f"({measure}) anything", "not measured", None
            continue
        if measure == "a":
            yield ("(a) as fast as the best peer in every cell with C <= 1",
                   f"{len(low) - len(lost)} of {len(low)}" + (f"; lost: {list_of(lost)}" if lost else ""), not lost)
            won = sum(cell.won() for cell in found)
            yield "(a) and in 90 % of all cells", f"{100 * won / len(found):.0f} % of {len(found)}", won >= 0.9 * len(found)
            yield "(a) geometric mean at least 2x", times(overall), bool(overall) and overall >= 2
        else:
            tall = mean([cell.ratio() for cell in found if is_tall(results, cell.set)])
            yield "(b) geometric mean at least 4x", times(overall), bool(overall) and overall >= 4
            yield ("(b) no cell under 1.0x for C <= 1",
                   f"{len(low) - len(lost)} of {len(low)}" + (f"; lost: {list_of(lost)}" if lost else ""), not lost)
            yield ("(b) m >> d sets at least 10x geometric mean", times(tall),
                   None if tall is None else tall >= 10)


def is_tall(results, name):
    about = results.all["sets"][name]
    return about["rows"] >= TALL * about["features"]


def file_summary(results):
    sizes = {name: about["text_bytes"] for name, about in results.all["sets"].items()}
    large = [name for name in sizes if sizes[name] > LARGE]
    rest = [name for name in sizes if SMALL < sizes[name] <= LARGE]
    for line, names, ours, least in (("(c) at least 8x on every set above 100 MB of text", large, "hinge", 8),
                                     ("(c) at least 5x on the rest above 1 MB", rest, "hinge", 5),
                                     ("(d) at least 12x over the best peer's (c) above 100 MB", large, "hinge, binary", 12)):
        ratios = {name: ratio for name in names if (ratio := file_ratio(results, name, ours))}
        yield (line, ", ".join(f"{name} {times(ratio)}" for name, ratio in ratios.items()) or "not measured",
               min(ratios.values()) >= least if ratios else None)
    ratios = {name: ratio for name in sizes if (ratio := memory_ratio(results, name))}
    yield ("peak memory at most 0.7x of LIBLINEAR's", ", ".join(f"{n} {r:.2f}x" for n, r in ratios.items())
           or "not measured", max(ratios.values()) <= 0.7 if ratios else None)


def must_show(results):
    """[(line, figure, met: True, False or None where it was not measured)]"""
    return [*solve_lines(results), *file_summary(results)]


def verdict(met):
    return {True: "pass", False: "**fail**", None: "not measured"}[met]


def summary_text(results):
    lines = [f"{verdict(met).strip('*'):13} {line}: {figure}" for line, figure, met in must_show(results)]
    return "\n".join(["", *lines, *(" ".join(row) for row in stage_rows(results)), ""])


# Stages against the floor


def stage_rows(results):
    """Rows (stage, seconds, share, bytes it cannot do without, floor) of file to model on the large set."""
    name = STAGES_OF if "stages" in results.all["files"].get(STAGES_OF, {}).get("hinge", {}) else next(
        (n for n, f in sorted(results.all["files"].items(), key=lambda item: -results.all["sets"][item[0]]["text_bytes"])
         if "stages" in f.get("hinge", {})), None)
    if not name:
        return
    about, run = results.all["sets"][name], results.all["files"][name]["hinge"]
    rate = results.all["about"]["bandwidth"]["all"]
    stages, wall = run["stages"], min(run["seconds"])
    matrix = 8 * about["nonzeros"]  # a column and a float each
    # What each stage must move at least, by what it is: text in and rows out; passes as counted by the solver;
    # the rows once; the model out.
    moved = {"load": about["text_bytes"] + about["binary_bytes"], "solve": run["passes"] * matrix, "certify": matrix,
             "save": run["model_bytes"]}
    for stage, spent in stages.items():
        if stage == "total":
            continue
        floor = moved.get(stage, 0) / rate
        yield (name, stage, f"{spent:.4f}", f"{100 * spent / wall:.0f} %", f"{moved.get(stage, 0) / 1e6:.0f} MB",
               f"{floor:.4f}", times(spent / floor) if floor else "-")
    rest = wall - sum(spent for stage, spent in stages.items() if stage != "total")
    yield name, "start, exit and between", f"{rest:.4f}", f"{100 * rest / wall:.0f} %", "-", "-", "-"


# The page


def table(head, rows):
    return ["| " + " | ".join(head) + " |", "|" + "---|" * len(head), *("| " + " | ".join(row) + " |" for row in rows), ""]


def solve_table(results, measure):
    ours, peers, title = MEASURES[measure]
    found = cells(results, measure)
    if not found:
        return []
    rows = [(cell.set, cell.cost, f"{cell.gap:g}", seconds(cell.ours), *(seconds(cell.peers.get(p)) for p in peers),
             "only hinge" if cell.ratio() is None else times(cell.ratio()) if cell.won() else f"**{times(cell.ratio())}**",
             cell.choice or "-") for cell in found]
    return [f"## {title}", "", *table(("set", "C", "gap", ours, *peers, "best peer / hinge", "chosen"), rows)]


def file_table(results):
    def cell(found, solver):
        return f"{min(found[solver]['seconds']):.3g}" if "seconds" in found.get(solver, {}) else "-"

    rows = []
    for name, found in results.all["files"].items():
        ratios = [file_ratio(results, name, ours) for ours in ("hinge", "hinge, binary")]
        shown = [times(r) if r is None or r >= 1 else f"**{times(r)}**" for r in ratios]
        memory = memory_ratio(results, name)
        peaks = [f"{found[who]['peak'] / 1e6:.0f}" if "peak" in found.get(who, {}) else "-" for who in ("hinge", "LIBLINEAR")]
        rows.append((name, f"{results.all['sets'][name]['text_bytes'] / 1e6:.0f}", cell(found, "hinge"),
                     cell(found, "hinge, binary"), *(cell(found, peer) for peer in FILE_PEERS), *shown, *peaks,
                     f"{memory:.2f}x" if memory else "-"))
    if not rows:
        return []
    missed = [f"{name}: {solver}: {f['missed']}" for name, found in results.all["files"].items()
              for solver, f in found.items() if "missed" in f]
    return ["## (c) text to model, (d) binary set to model, peak memory", "",
            "C = 1, gap 0.001, wall seconds of whole programs; ratios are the best peer's text to model over hinge.", "",
            "![File to model](benchmarks/files.svg)", "",
            *table(("set", "MB of text", "(c) hinge", "(d) hinge", *FILE_PEERS, "(c) ratio", "(d) ratio", "peak MB hinge",
                    "peak MB LIBLINEAR", "memory ratio"), rows),
            *(["Did not get there: " + "; ".join(missed) + ".", ""] if missed else [])]


def ends(results):
    """Why solvers ended before the tightest gap, by reason."""
    reasons = {}
    for name, costs in results.all["solve"].items():
        for cost, solvers in costs.items():
            for solver, run in solvers.items():
                if run["ended"] and run["ended"] not in ("tightest gap reached", "tightest tolerance"):
                    reasons.setdefault(f"{solver}: {run['ended']}", []).append(f"{name} C={cost}")
    return [f"- {reason}: {', '.join(places)}" for reason, places in sorted(reasons.items())]


def method(about):
    return [
        f"Measured {about['date']} on {about['cores']} cores of {about['cpu']}, {about['memory_bytes'] / 2**30:.0f} GiB; "
        f"memory is read at {about['bandwidth']['one'] / 1e9:.1f} GB/s by one thread, {about['bandwidth']['all'] / 1e9:.1f} by "
        f"all. Best of {about['repeat']} runs, or {2 * about['repeat']} of what takes less than 0.3 s (one of what takes longer "
        f"than 3 s), hinge and peers in turn; {about['cap']:g} s at most for one run." +
        (f" {about['lanes']} pairs of a set and a cost at a time, each on so many cores of its own." if about.get("lanes", 1) > 1 else ""), "",
        "No bias anywhere. A gap is (primal - bound)/primal, of the worst class where there are several. hinge proves it; of "
        "a peer the primal of its model is computed here, in double, and held against the best bound that hinge has proved, "
        "with the doubt in the peer's favour where that bound is loose. Of a peer's tolerances the fastest that reaches the "
        "gap counts, which nobody knows beforehand. A solver that misses a gap is not asked for a tighter one (\"-\"). Ratios "
        "are best peer / hinge: above 1 hinge is faster; losses are bold, and where only a peer gets there the cap "
        "stands for hinge's time. Where only hinge gets there the cell is won but enters no mean. hinge's seconds are its "
        "stage \"solve\"; the certificate, which no peer has, is a stage of its own in (c) and (d).", "",
        *(f"- {name}: {version}" for name, version in about["versions"].items()), ""]


def stage_table(results):
    rows = list(stage_rows(results))
    if not rows:
        return []
    return [f"## Where the time goes: {rows[0][0]}, text to model", "",
            "The floor is what the stage has to move at least, over the bandwidth of all cores: load the text and the rows made "
            "of it; solve its passes over the rows, as the solver counts them; certify the rows once; save the model.", "",
            *table(("stage", "seconds", "share", "moves", "floor, seconds", "over the floor"), (row[1:] for row in rows))]


def markdown(results):
    about = results.all["about"]
    quick = ["*This is the quick run, a small part of the matrix.*", ""] if about["quick"] else []
    figures = [f"![Time to gap on {name}](benchmarks/{name}.svg)" for name in results.all["solve"]]
    sets = [(name, f"{s['rows']:,}", f"{s['features']:,}", f"{s['nonzeros']:,}", str(s["classes"]),
             "real" if s["real"] else "generated") for name, s in results.all["sets"].items()]
    ended = ends(results)
    return "\n".join([
        "# hinge beside its peers", "", "Written by `make bench` (bench/matrix.py), never by hand; `make bench-report` writes "
        "it again from the results.", "", *quick, *method(about), "## What must be shown", "",
        *table(("", "measured", ""), [(line, figure, verdict(met)) for line, figure, met in must_show(results)]),
        *stage_table(results), *file_table(results), *solve_table(results, "a"), *solve_table(results, "b"),
        "## Time to gap", "", *sum(([figure, ""] for figure in figures), []),
        "## The sets", "", *table(("set", "rows", "features", "nonzeros", "classes", ""), sets),
        *(["## Where solvers ended before the tightest gap", "", *ended, ""] if ended else [])]).rstrip() + "\n"


def curve_panels(results, name):
    panels = []
    for cost in results.costs(name):
        lines = {}
        for solver, run in results.all["solve"][name][cost].items():
            points = sorted((min(p["seconds"]), results.gap(name, cost, p["primal"])) for p in run["points"].values())
            front = []  # what took longer and was no better says nothing
            for spent, gap in points:
                if spent > 0 and (not front or gap < front[-1][1]):
                    front.append((spent, max(gap, 1e-9)))
            lines[solver] = front
        panels.append((f"C = {cost}", lines))
    return panels


def write(results, docs):
    """-> the path of benchmarks.md; its figures lie in benchmarks/ beside it."""
    folder = f"{docs}/benchmarks"
    os.makedirs(folder, exist_ok=True)
    for old in glob.glob(f"{folder}/*.svg"):  # perhaps of sets that are no longer there
        os.remove(old)
    for name in results.all["solve"]:
        about = results.all["sets"][name]
        figure = matrix_svg.curves(f"{name}: {about['rows']:,} rows, {about['features']:,} features",
                                   "(primal - best bound)/primal against seconds of solving; down and left is better",
                                   curve_panels(results, name))
        put(f"{folder}/{name}.svg", figure)
    order = ("hinge, binary", "hinge", *FILE_PEERS)
    groups = [(name, {solver: min(found[solver]["seconds"]) for solver in order if "seconds" in found.get(solver, {})})
              for name, found in results.all["files"].items()]
    if groups:
        put(f"{folder}/files.svg", matrix_svg.bars("File to saved model, C = 1, gap 0.001", "wall seconds", groups))
    page = f"{docs}/benchmarks.md"
    losses = ""
    if os.path.exists(page):
        with open(page, encoding="utf-8") as file:
            losses = between_marks(file.read())
    put(page, with_losses(markdown(results), losses))
    return page


# What bench/losses.py wrote stands at the end of the page, between two marks.
MARKS = "<!-- losses -->\n", "<!-- /losses -->\n"


def between_marks(page):
    return page.partition(MARKS[0])[2].partition(MARKS[1])[0]


def with_losses(page, losses):
    """The page with these in the place of those that are there, if any."""
    before, mark, after = page.partition(MARKS[0])
    rest = after.partition(MARKS[1])[2] if mark else ""
    return page if not losses else f"{before.rstrip()}\n\n{MARKS[0]}{losses}{MARKS[1]}{rest}".lstrip()


def put(path, content):
    with open(path, "w", encoding="utf-8") as file:
        file.write(content)


def self_test(results, docs):
    """The report of a real run, and of one with made-up peers: one that is beaten, one that beats hinge, one that fails."""
    import copy
    import xml.dom.minidom
    for figure in os.listdir(f"{docs}/benchmarks"):
        xml.dom.minidom.parse(f"{docs}/benchmarks/{figure}")
    with open(f"{docs}/benchmarks.md") as page:
        assert "not measured" in page.read()
    name, cost = next(iter(results.all["sets"])), "1"
    runs = results.all["solve"][name][cost]
    ours = results.fastest(name, cost, "hinge", 0.001)[0]
    best = results.all["references"][name][cost]["primal"]

    def peer(spent, primal):
        return {"points": {"1": {"seconds": [9 * spent, spent], "primal": primal}}, "ended": ""}

    runs["LIBLINEAR"], runs["dlib"] = peer(4 * ours, best), peer(ours / 100, [2 * p for p in best])
    beaten = Cell(results, name, cost, 0.001, "a")
    assert beaten.won() and abs(beaten.ratio() - 4) < 1e-9 and beaten.peers["dlib"] is None, beaten.__dict__
    other = copy.deepcopy(results)
    other.all["solve"][name][cost]["dlib"] = peer(ours / 2, best)
    lost = Cell(other, name, cost, 0.001, "a")
    assert not lost.won() and abs(lost.ratio() - 0.5) < 1e-9 and lost.best[1] == "dlib", lost.__dict__
    assert "**0.5x**" in markdown(other) and "lost: tiny C=1" in markdown(other)
    for point in other.all["solve"][name][cost]["hinge"]["points"].values():
        point["status"] = "time-limit"
    capped = Cell(other, name, cost, 0.001, "a")
    assert capped.ours is None and not capped.won() and capped.ratio() < 1, capped.__dict__
    del runs["LIBLINEAR"], runs["dlib"]
