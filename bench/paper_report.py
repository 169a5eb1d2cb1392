"""docs/papers.md and its figures, from the results of paper.py alone. What they hold is said there."""
import math
import os
import textwrap

from matrix_report import put, table
from matrix_svg import FAINT, GRID, INK, curves, page, text
from paper_published import GAPS, PLANES, SETS, STANDS_FOR, TABLE, bounds, ratio
from planes import PEER, seconds

STYLES = {"cpa": ("#767676", "2 3"), "ocas": ("#2f87c0", ""), "ocas3": ("#a8447f", "9 3 2 3"), "active": ("#d04e00", ""),
          "focus": ("#0a5a9c", "6 3"), "libocas": ("#00805c", "7 3")}
BARS = (("iterations", "#767676"), ("rows in the objective", "#d04e00"), ("rows in the line search", "#2f87c0"))
ACTIVE = f"active {PLANES}"
OCAS = f"ocas {PLANES}"
OCAS3 = f"ocas3 {PLANES}"


class Page:
    """The results, and the questions that the tables ask of them."""

    def __init__(self, results):
        self.all = results
        self.about = results["about"]
        self.names = [name for name in STANDS_FOR if name in results["sets"]]
        self.who = [PEER, OCAS, "ocas own", "active own", ACTIVE]
        self.who = [who for who in self.who if any(self.run(name, who, gap) for name in self.names for gap in GAPS)]

    def run(self, name, who, gap):
        return self.all["runs"].get(name, {}).get(f"{who} {gap:g}")

    def ended(self, name, who, gap):
        """The run if it reached the gap, by our own judgement."""
        found = self.run(name, who, gap)
        if not found or not found["reached"]:
            return None
        if who == PEER and self.excess(name, found) > gap * (1 + 1e-6):
            return None
        return found

    def excess(self, name, run):
        """How far a primal lies above the best bound that hinge has proved, as a share of itself."""
        bound = max((other["dual"] for key, other in self.all["runs"][name].items()
                     if not key.startswith(PEER) and not key.startswith("figure2")), default=0)
        return (run["primal"] - bound) / run["primal"]

    def rows(self, name):
        return self.all["sets"][name]["rows"]

    def title(self, name):
        about = self.all["sets"][name]
        return f"{name}, {about['rows']:,} x {about['features']:,}"

    def smallest(self, name, *who):
        """The smallest gap that all of them reached, or None."""
        return next((gap for gap in reversed(GAPS) if all(self.ended(name, one, gap) for one in who)), None)

    def pairs(self, *who):
        """(name, gap, runs) wherever all of them reached the gap"""
        for name in self.names:
            for gap in GAPS:
                runs = [self.ended(name, one, gap) for one in who]
                if all(runs):
                    yield name, gap, runs


def objective(run, narrow=False):
    """T1. Of svmocas: what objective_seconds of hinge holds, scores, planes and weights; narrow: without the weights."""
    return run["objective"] if "objective" in run else run["output"] + run["add"] + (0 if narrow else run["w"])


def stages(run, narrow=False):
    return objective(run, narrow) + run["search"]


def shown(who):
    return "libocas" if who == PEER else f"`{who.split()[0]}` {who.split()[1]}"


def paragraph(words):
    return textwrap.fill(" ".join(words.split()), 118, break_long_words=False, break_on_hyphens=False)


def bullet(words):
    return textwrap.indent(paragraph(words), "  ").replace("  ", "- ", 1)


def span(values, form="{:.2f}"):
    """from - to, of at least one value"""
    low, high = form.format(min(values)), form.format(max(values))
    return low if low == high else f"{low} to {high}"


def percent(share):
    return f"{100 * share:.0f} %"


# The ratios


def ratio_table(page_):
    rows = []
    for name in page_.names:
        printed = STANDS_FOR[name]
        for gap in GAPS:
            least = ratio(printed, gap)
            runs = [page_.ended(name, who, gap) for who in (PEER, OCAS, ACTIVE)]
            if not runs[2]:
                continue

            def cell(before, of):
                if not before:
                    return "-"
                value = of(before) / of(runs[2])
                return f"{value:.2f}" if value >= least else f"**{value:.2f}**"

            low, high = bounds(printed, gap)
            rows.append((name, f"{gap:g}", printed, f"{least:.1f} ({low:.1f} - {high:.1f})", cell(runs[0], stages),
                         cell(runs[0], lambda run: stages(run, True)), cell(runs[0], lambda run: run["solve"]),
                         cell(runs[1], stages)))
    return table(("set", "gap", "stands for", "published", "libocas / active", "libocas without w / active",
                  "libocas / active, all of solving", "`ocas` 20 / active"), rows)


def asked(page_):
    """The sentence that says how many of the cells at 1e-4 and 1e-5 are as large as published."""
    cells = [(name, gap, stages(runs[0]) / stages(runs[1])) for name, gap, runs in page_.pairs(PEER, ACTIVE) if gap <= 1e-4]
    if not cells:
        return "libocas and `active` are not both measured at 1e-4 or 1e-5."
    below = [f"{name} at {gap:g} ({value:.2f})" for name, gap, value in cells if value < ratio(STANDS_FOR[name], gap)]
    return (f"Of {len(cells)} measured cells at 1e-4 and 1e-5 {len(cells) - len(below)} are as large as published"
            + (f"; smaller are {', '.join(below)}." if below else "."))


# Tables 1 to 3


def figure(number):
    return "0" if number < 0.5 else f"{number:,.0f}" if number < 1e5 else f"{number / 1e6:,.2f} M"


def counts(page_, name, who, gap):
    run, about = page_.ended(name, who, gap), page_.all["sets"][name]
    steps, mean = max(1, run["iterations"]), about["nonzeros"] / about["rows"]
    return {"l": about["rows"], "m": about["features"], "mean": mean, "N": run["planes"],
            "p": run["objective_rows"] / steps, "q": run["search_rows"] / steps,
            "changed": (run["rows_touched"] - run["objective_rows"]) / steps}


def cost_table(page_, name, gap):
    before, now = counts(page_, name, OCAS, gap), counts(page_, name, ACTIVE, gap)
    rows, mean, p, q = before["l"], before["mean"], now["p"], now["q"]
    vectors = f"{figure(PLANES * now['m'])}"

    def sorting(count):
        return figure(count * math.log2(max(count, 2)))

    lines = [
        ("line search", "comparisons", f"l log l = {sorting(rows)}", f"q log q = {sorting(q)}", figure(before["q"]),
         figure(q)),
        ("line search", "multiplications", f"l = {figure(rows)}", f"q = {figure(q)}", figure(before["p"]), figure(p)),
        ("objective", "multiplications, and as many additions", f"l m\u0304 = {figure(rows * mean)}",
         f"p m\u0304 = {figure(p * mean)}", figure(before["p"] * mean), figure(p * mean)),
        ("adding a plane", "additions, rows", f"l m\u0304 = {figure(rows * mean)}", f"p m\u0304 = {figure(p * mean)}",
         figure(before["changed"] * mean), figure(now["changed"] * mean)),
        ("adding a plane", "planes x columns", f"N m = {vectors}", f"N m = {vectors}", figure(before["N"] * before["m"]),
         figure(now["N"] * now["m"])),
        ("weights", "planes x columns", f"N m = {vectors}", f"N m = {vectors}", figure(before["N"] * before["m"]),
         figure(now["N"] * now["m"])),
    ]
    return [f"{page_.title(name)}, to {gap:g}: l = {rows:,}, m\u0304 = {mean:.1f}, m = {now['m']:,}, N = {PLANES}; of an "
            f"iteration of `active` p = {p:,.0f} ({percent(p / rows)}), q = {q:,.0f} ({percent(q / rows)}).", "",
            *table(("stage", "operation", "[12], published", "active set, published", "hinge's `ocas`, counted",
                    "hinge's `active`, counted"), lines)]


def table_1(page_):
    out = ["## Table 1: operations of an iteration", "", paragraph("""
        l rows, m features, m\u0304 nonzeros a row, N planes, p rows in the objective and q in the line search, as published; beside
        the formulas their value, with hinge's p and q for the paper's method, and what hinge's own runs with 20 planes counted
        (`objective_rows`, `search_rows`, `rows_touched`, `iterations` of `train --json`, `planes` of the trace)."""), ""]
    for name in page_.names:
        gap = page_.smallest(name, OCAS, ACTIVE)
        if gap:
            out += cost_table(page_, name, gap)
    return [*out, paragraph("""
        hinge does not sort: each row of the objective gets one quotient, its bend, the q bends within the range go into 255
        buckets, and one bucket is looked at bend by bend; so its comparisons are about q, which its `search_rows` counts. The
        newest plane is that of the iteration before, changed by the rows that changed sides, and now and then summed up from
        scratch; so its additions are those of the rows that were touched besides being scored. Planes x columns is N m
        multiplications and additions, with the mean number of planes in place of N; where hinge keeps planes by rows
        ([cutting-planes.md](cutting-planes.md#by-columns-or-by-rows)) it is planes x rows instead, and less. Products are the
        rows times m\u0304: rows that are scored need not be of mean length."""), ""]


def table_2(page_):
    rows = [(f"{name}, published", *(f"{x:,}" for x in numbers[:4]), f"{numbers[4]:g}", "-")
            for name, numbers in SETS.items()]
    for name in page_.names:
        about = page_.all["sets"][name]
        rows.append((name, f"{about['rows']:,}", f"{about['test_rows']:,}", f"{about['features']:,}",
                     f"{about['nonzeros']:,}", f"{about['nonzeros'] / about['rows']:.2f}", STANDS_FOR[name]))
    return ["## Table 2: the sets", "",
            *table(("set", "rows to train", "rows to test", "features", "nonzeros", "nonzeros a row", "stands for"), rows),
            paragraph("""Names with `like-` are rows of `hinge generate --like NAME`: of the shape of the published set, with
            other contents; their errors say nothing about it. The others are real: covtype is COV1's data (class 2 against
            the rest), columns scaled to [0, 1]; ccat has documents of the same collection and topic as CCAT, a 35th of them;
            news20 are 20 newsgroups by words and pairs of words."""), ""]


def table_3(page_):
    def cells(name, show):
        return [" / ".join(show(page_.run(name, who, gap), who, gap) for who in page_.who) for gap in GAPS]

    def timed(of):
        def show(run, who, gap):
            return "-" if not run else ("" if page_.ended(name, who, gap) else "> ") + seconds(of(run))
        return show

    rows = []
    for printed in SETS:
        names = [name for name in page_.names if STANDS_FOR[name] == printed]
        if not names:
            continue
        for stage, what in (("T1", "T1, s"), ("T2", "T2, s"), ("error", "test error, %")):
            rows.append((f"{printed}, published" if stage == "T1" else "", what,
                         *(" / ".join(pair) for pair in TABLE[printed][stage])))
        for name in names:
            rows.append((page_.title(name), "T1, s", *cells(name, timed(objective))))
            rows.append(("", "T2, s", *cells(name, timed(lambda run: run["search"]))))
            rows.append(("", "all of solving, s", *cells(name, timed(lambda run: run["solve"]))))
            rows.append(("", "iterations", *cells(name, lambda run, *_: str(run["iterations"]) if run else "-")))
            rows.append(("", "test error, %", *cells(name, lambda run, *_: f"{100 * run['error']:.2f}" if run else "-")))
    return ["## Table 3: seconds and test error, C = 1", "",
            paragraph(f"""Published: [12] / active set, 20 planes both. Here: {' / '.join(map(shown, page_.who))}, the number being
            that of the planes kept, "own" each method's default (`ocas` 100, `active` from 20 to 100 by the shape of the data);
            libocas keeps all. One thread. T1 holds the objective, T2 the line
            search, see [below](#what-t1-and-t2-hold). "> " did not reach the gap; smaller ones were not tried then ("-")."""), "",
            *table(("set", "", *(f"{gap:g}" for gap in GAPS)), rows), *buffer_words(page_)]


def buffer_words(page_):
    ended = [(name, run) for name in page_.names if (run := page_.all["runs"][name].get(f"{PEER} -s {PLANES}"))]
    if not ended:
        return []
    said = "; ".join(f"{name} after {run['iterations']} with a gap of {run['relative_gap']:.1e} of its own counting, and a "
                     f"primal {page_.excess(name, run):.1e} above the best bound" for name, run in ended)
    return ["### Can libocas keep 20 planes?", "", paragraph(f"""
        No. Its option `-s N` ("cache size for cutting planes", 2,000 where nobody says) is the size of a buffer into which each
        iteration puts one plane and out of which none goes: when it is full the run ends, "Has not converged!". With `-s {PLANES}`
        and a gap of {min(GAPS):g} asked for it ended on {said}. So libocas is measured as it comes, with all its planes, and what
        the paper calls [12] with N = 20, which merges planes, is hinge's `ocas` with `--planes {PLANES}`."""), ""]


# Figures 1 and 2


def lines_of(page_, name):
    runs = page_.all["runs"][name]
    found = {}
    for line, who in (("cpa", None), ("ocas", OCAS), ("ocas3", OCAS3), ("active", ACTIVE), ("focus", None), ("libocas", PEER)):
        tried = [runs.get(f"figure1 {line}")] if who is None else [page_.run(name, who, gap) for gap in reversed(GAPS)]
        run = next((run for run in tried if run), None)
        if run:
            found[line] = [point for point in run["points"] if point[1] < 1]
    return found


def figure_1(page_, folder):
    out = []
    for name in page_.names:
        lines = lines_of(page_, name)
        if lines:
            put(f"{folder}/{name}.svg", curves(
                page_.title(name), "relative gap, as each counts it, against seconds of solving on one thread, C = 1",
                [("", lines)], STYLES, lambda solver: solver in ("active", "focus"), 420))
            out += [f"![{name}: gap over time](papers/{name}.svg)", ""]
    return ["## Figure 1: gap over time", "", paragraph(f"""
        `cpa`, `ocas`, `ocas3` and `active` with {PLANES} planes, `focus` with its own number, libocas with all. Each by its own
        bound, so that [13], here `ocas3`, and the others are drawn as the paper draws them; `cpa` is stopped early."""), "", *out]


def figure_2_rows(page_):
    """(set, C, iterations of ocas, iterations, objective rows and search rows of active relative to it)"""
    for name in page_.names:
        runs = page_.all["runs"][name]
        for cost in page_.about["costs"]:
            ocas, active = (runs.get(f"figure2 {solver} {cost}") for solver in ("ocas", "active"))
            if not ocas or not active or not active["reached"]:
                if ocas:
                    yield name, cost, f"{'' if ocas['reached'] else '> '}{ocas['iterations']:,}", None
                continue
            steps = [max(1, run["iterations"]) for run in (ocas, active)]
            shares = [active[key] / steps[1] / max(1, ocas[key] / steps[0]) for key in ("objective_rows", "search_rows")]
            yield name, cost, f"{ocas['iterations']:,}", (steps[1] / steps[0], *shares)


def figure_2(page_, folder):
    rows = list(figure_2_rows(page_))
    whole = [row for row in rows if row[3]]
    if not rows:
        return []
    words = ""
    if whole:
        put(f"{folder}/costs.svg", bars(whole))
        objective_, search_ = ([1 - row[3][k] for row in whole] for k in (1, 2))
        words = (f"Published: up to 88 % fewer rows in the objective, 46 to 97 % fewer in the line search, about as many "
                 f"iterations. Measured: {span([100 * x for x in objective_], '{:.0f}')} % fewer in the objective, "
                 f"{span([100 * x for x in search_], '{:.0f}')} % fewer in the line search, "
                 f"{span([row[3][0] for row in whole])} times the iterations.")
    lines = [(name, cost, steps, *(f"{x:.2f}" for x in shares)) if shares else
             (name, cost, steps, "not reached", "-", "-") for name, cost, steps, shares in rows]
    return ["## Figure 2: rows looked at, by C", "", paragraph(f"""
        `active` relative to [12], which is hinge's `ocas`, {PLANES} planes both, stopped at (P - D)/(C m) <= 1e-5
        (`--gap-per-row 1e-5`), m being the rows. Rows are those of a mean iteration. None of these counts depends on the machine, but
        for what ended by its time and is "not reached". {words}"""), "", *(["![Rows by C](papers/costs.svg)", ""] if whole else []),
            *table(("set", "C", "iterations of `ocas`", "iterations", "rows in the objective", "rows in the line search"), lines)]


def bars(rows):
    """rows: (set, C, _, three shares of ocas) -> SVG, three bars each; the line is where ocas is."""
    top, height, left, bar, gap = 78, 190, 58, 11, 14
    most = max(1.1, max(max(row[3]) for row in rows) * 1.05)
    floor = top + height
    step = 3 * bar + gap
    width = max(left + len(rows) * step + 30, 640)
    parts = []
    for tenth in range(0, int(10 * most) + 1, 2):
        y = floor - height * tenth / 10 / most
        colour = INK if tenth in (0, 10) else GRID
        parts.append(f'<path d="M{left} {y:.1f}H{width - 20}" stroke="{colour}"/>')
        parts.append(text(left - 7, y + 4, f"{tenth / 10:.1f}", INK, 'text-anchor="end"'))
    for k, (name, cost, _, shares) in enumerate(rows):
        begin = left + 8 + k * step
        for number, (share, (_, colour)) in enumerate(zip(shares, BARS)):
            tall = height * share / most
            parts.append(f'<rect x="{begin + number * bar}" y="{floor - tall:.1f}" width="{bar - 1}" height="{tall:.1f}" '
                         f'fill="{colour}"/>')
        parts.append(text(begin + 1.5 * bar, floor + 16, cost, INK, 'text-anchor="middle" font-size="11"'))
        if k == 0 or rows[k - 1][0] != name:
            parts.append(text(begin, floor + 34, name, INK, 'font-weight="bold" font-size="12"'))
    x = left
    for label, colour in BARS:
        parts.append(f'<rect x="{x}" y="56" width="10" height="10" fill="{colour}"/>')
        parts.append(text(x + 15, 65, label, colour))
        x += 35 + 7 * len(label)
    return page(width, floor + 46, "active relative to ocas, by C", "of a mean iteration; 20 planes, gap / (C rows) at most 1e-5",
                [*parts, text(width - 20, 65, "the line at 1.0 is ocas", FAINT, 'text-anchor="end"')])


# Three points


def three_points(page_):
    pairs = list(page_.pairs(OCAS, OCAS3))
    out = ["## The three-point search", "", paragraph("""
        Of [13] (N. A. Arnosti, J. K. Kalita: Cutting Plane Training for Linear Support Vector Machines, IEEE Transactions on
        Knowledge and Data Engineering, 2011) this is known here. Its abstract: it changes the algorithm of [12], and the changes
        save up to 40 percent of the training time. The active-set paper: it improves the exact line search of [12], and is a cutting
        plane method with an approximate line search by three points; its Figure 1 has a curve of it. The paper itself is not
        at hand."""), "", paragraph("""
        The rest is our reading, `ocas3`: F is evaluated at three steps k1 < k2 < k3, at first 0, the step of the last search and
        twice that; they are halved or doubled until F(k2) is no larger than F(k1) and F(k3), with four evaluations at most besides
        F(k1), which is known; then the step is the minimum of the parabola through the three, within [k1, k3]. If four are not
        enough, that of the last three points is taken all the same. All else, the plane at (1 - mu) w_b + mu w_t too, is `ocas`.
        Nothing is sorted, and nothing selected: an evaluation is one look at the margins, which are known at both ends."""), ""]
    if not pairs:
        return out
    rows = [(name, f"{gap:g}", str(exact["iterations"]), str(three["iterations"]),
             f"{three['iterations'] / max(1, exact['iterations']):.2f}", seconds(exact["search"]), seconds(three["search"]),
             f"{three['search'] / exact['search']:.2f}" if exact["search"] > 0 else "-", percent(exact["search"] / exact["solve"]),
             f"{three['solve'] / exact['solve']:.2f}") for name, gap, (exact, three) in pairs]
    fewer = [three["iterations"] / max(1, exact["iterations"]) for _, _, (exact, three) in pairs]
    search = [three["search"] / exact["search"] for _, _, (exact, three) in pairs if exact["search"] > 0]
    share = [exact["search"] / exact["solve"] for _, _, (exact, _) in pairs]
    cheaper = sum(value < 1 for value in search)
    return [*out, *table(("set", "gap", "iterations, `ocas`", "`ocas3`", "ratio", "line search s, `ocas`", "`ocas3`", "ratio",
                          "line search of `ocas`, of its solving", "solving, `ocas3` / `ocas`"), rows),
            paragraph(f"""Both with {PLANES} planes. `ocas3` makes {span(fewer)} times the iterations of `ocas`; the seconds of its line
            search are {span(search)} times those of the exact one, fewer in {cheaper} of {len(search)} cells. What it could save at
            most is the line search, {span([100 * x for x in share], '{:.0f}')} % of solving, since the exact search is no sort here; a
            search that sorts has more to save."""), ""]


# Why figures differ


def parts_table(page_):
    rows = []
    for name, gap, (active,) in page_.pairs(ACTIVE):
        if gap > 1e-4:
            continue
        others = [page_.ended(name, who, gap) for who in (PEER, OCAS)]
        runs = [*others, active]

        def each(of):
            return " / ".join(of(run) if run else "-" for run in runs)

        steps = max(1, active["iterations"])
        rows.append((name, f"{gap:g}", each(lambda run: str(run["iterations"])),
                     each(lambda run: f"{1e3 * stages(run) / max(1, run['iterations']):.2f}"),
                     percent(active["objective_rows"] / steps / page_.rows(name)),
                     percent(active["search_rows"] / steps / page_.rows(name))))
    return table(("set", "gap", "iterations", "ms of both stages an iteration", "rows in the objective", "in the line search"),
                 rows) if rows else []


def short_of(page_):
    """A sentence for each ratio at 1e-4 and 1e-5 that is less than published: what it is made of."""
    for name, gap, (peer, ocas, active) in page_.pairs(PEER, OCAS, ACTIVE):
        printed, value = ratio(STANDS_FOR[name], gap), stages(peer) / stages(active)
        if gap > 1e-4 or value >= printed:
            continue
        about = page_.all["sets"][name]
        steps = [max(1, run["iterations"]) for run in (peer, ocas, active)]
        each = [1e3 * stages(run) / count for run, count in zip((peer, ocas, active), steps)]
        words = (f"*{name} at {gap:g}*: {value:.2f}, published {printed:.1f}. libocas makes {steps[0]} iterations with all its "
                 f"planes, `active` {steps[2]} with {PLANES}; one takes {each[0]:.2f} ms of both stages against {each[2]:.2f}. "
                 f"`active` scores {percent(active['objective_rows'] / steps[2] / about['rows'])} of the rows.")
        own = page_.ended(name, "active own", gap)
        if own and stages(own) < 0.9 * stages(active):
            words += (f" With its own number of planes `active` takes {own['iterations']} iterations, and the ratio is "
                      f"{stages(peer) / stages(own):.2f}.")
        if each[2] > 1.2 * each[1] and active["planes"] * about["features"] > about["nonzeros"]:
            words += (f" Yet `ocas` with {PLANES} planes takes {each[1]:.2f} ms: the time of `active` goes into planes, vectors of "
                      f"{about['features']:,} numbers each, which `ocas` does not keep where rows are fewer than columns.")
        yield words


def why(page_):
    about = page_.about
    printed = [float(TABLE[name]["T2"][k][0]) / sum(float(TABLE[name][t][k][0]) for t in ("T1", "T2"))
               for name in SETS for k in range(len(GAPS))]
    ours = [run["search"] / stages(run) for _, _, (run,) in page_.pairs(OCAS)]
    peers = [run["search"] / stages(run) for _, _, (run,) in page_.pairs(PEER)]
    shares = f"T2 is {span([100 * x for x in printed], '{:.0f}')} % of T1 + T2 of [12] as published"
    if ours:
        shares += f", {span([100 * x for x in ours], '{:.0f}')} % of hinge's `ocas`"
    if peers:
        shares += f", {span([100 * x for x in peers], '{:.0f}')} % of libocas"
    noise = ("Each time is that of one run." if about["repeat"] == 1 else
             f"Times are those of the fastest of {about['repeat']} runs, or of the only one where it took longer than "
             f"{about['once_above']:g} s.")
    points = [
        f"""*The machine.* Published: an Intel Xeon 5620 of 2010, 32 GB. Here: {about['cpu']}. Seconds are not to be compared between
        the two; ratios are, with care: a cache of another size changes how dear a row is that is looked at among others that
        are not.""",
        f"""*Noise.* {noise} Others may have used the machine. Two runs of the same thing can differ by a tenth, and by more where
        they take some milliseconds; counts of rows and iterations have no noise.""",
        """*Planes.* Published, both methods keep 20 planes and make about as many iterations, so that a ratio of seconds is one of
        the seconds of an iteration. libocas keeps all of its planes: where 20 are few it needs fewer iterations than `active`, each
        with more planes to multiply, and the ratio is a product of both (below).""",
        f"""*Our `ocas` does not sort.* It puts bends into buckets: O(m) instead of m log m. So there is less to save in the line search:
        {shares}.""",
        """*Our `ocas` adds planes by changes.* The newest plane is made from the one before by the rows that changed sides, so what
        [12] spends on summing it up, and the paper's method saves a part of, is small in both of ours.""",
        """*The sets.* CCAT and NEWS20 are not at hand as published, REAL-SIM not at all. The paper assumes rows of length 1 and does
        not say how COV1 was scaled before; covtype has columns between 0 and 1. It is another problem, with another test error: 23.8 %
        so, 23.9 % with rows of length 1 besides, 40.7 % with rows of length 1 and columns as they come (tried once, by hand), 32 % in
        print.""",
        """*The stop.* hinge stops where it has proved the gap by sums from scratch, which is part of its time; libocas where its running
        sums say so. The primal of each of its models was computed again, and a gap counts as reached only if that is within it of
        the best bound that hinge has proved."""]
    short = [bullet(words) for words in short_of(page_)]
    if short:
        short = ["Where libocas over `active` is less than published:", "", *short, ""]
    return ["## Why figures differ", "", *map(bullet, points), "",
            "Where the ratios come from: libocas / `ocas` 20 / `active` 20, and the shares of all rows that a mean iteration of "
            "`active` looks at.", "", *parts_table(page_), *short, "### What T1 and T2 hold", "", paragraph("""
        Published: T1 is the time of computing the objective, T2 that of the line search; the paper names no more. hinge:
        `objective_seconds` is making w of the planes, scoring rows at it, the value of F at the step, and making the next plane with its
        inner products; `search_seconds` is the whole line search. libocas: T1 is its `output_time` (scores), `add_time` (the plane and
        its inner products) and `w_time` (w of the planes), which is what hinge's T1 holds; "without w" leaves the last out. T2 is its
        `sort_time`, sorting alone: making the bends and walking along them is in none of its stages, nor is its small problem,
        nor the sum of losses; hinge's two stages hold all of that but the small problem, which is in libocas' favour. "All of solving" is `ocas_time` of libocas and `solve` of hinge: everything but reading,
        certificate and writing."""), ""]


# The page


def markdown(results, folder):
    page_ = Page(results)
    about = page_.about
    mode = {"quick": "This is the quick run: four sets, one of them smaller than published.",
            "usual": "Generated sets stand for CCAT and COV1 with a part of the published rows.",
            "full": "Generated sets have their published size."}[about["mode"]]
    note = f" {about['note']}" if about.get("note") else ""
    return "\n".join([
        "# The active-set paper, measured again", "", paragraph("""
        Xiao F., Zhou J.: Active Set Based Cutting Plane Algorithm for SVM. Acta Electronica Sinica 41(4), 2013, is what `--solver active`
        does. Here are its tables and figures with hinge, beside those that it printed. [12] is OCAS (Franc, Sonnenburg 2009),
        in hinge `ocas`, and as its authors' program libocas (svmocas 0.97); [13] is in hinge `ocas3`.
        [cutting-planes.md](cutting-planes.md) explains the methods."""), "", paragraph(f"""
        `make paper` (bench/paper.py) wrote this page, never a hand; `make paper-report` writes it again from its results. {mode}
        Measured {about['date']} with {about['hinge']} on {about['cores']} cores of {about['cpu']},
        {about['memory_bytes'] / 2**30:.0f} GiB; {about['time_limit']:g} s at most for one run, {about['costs_limit']:g} s in
        Figure 2, {about['cpa_limit']:g} s for `cpa`.{note}"""), "",
        "## T1 + T2, ratios", "", paragraph(f"""
        [12] over the active set: published, from Table 3, in brackets what the unrounded figures may have been; libocas over `active`
        with {PLANES} planes, at the same proved gap; and [12] as the paper has it, with {PLANES} planes. Bold: less than published.
        {asked(page_)}"""), "", *ratio_table(page_), *table_3(page_), *why(page_), *table_1(page_), *table_2(page_),
        *figure_1(page_, folder), *figure_2(page_, folder), *three_points(page_)]).rstrip() + "\n"


def write(results, docs):
    """-> the path of papers.md; its figures lie in papers/ beside it."""
    folder = f"{docs}/papers"
    os.makedirs(folder, exist_ok=True)
    for old in os.listdir(folder):  # perhaps of sets that are no longer there
        if old.endswith(".svg"):
            os.remove(f"{folder}/{old}")
    put(f"{docs}/papers.md", markdown(results, folder))
    return f"{docs}/papers.md"


def self_test(results, docs):
    """The page of a real run, and of one with a made-up libocas: one that is beaten, one that lies about its gap."""
    import copy
    import xml.dom.minidom
    assert len(os.listdir(f"{docs}/papers")) == 2, os.listdir(f"{docs}/papers")
    for drawn in os.listdir(f"{docs}/papers"):
        xml.dom.minidom.parse(f"{docs}/papers/{drawn}")
    with open(f"{docs}/papers.md") as file:
        written = file.read()
    for words in ("## Table 1", "## Table 2", "## Table 3", "## Figure 1", "## Figure 2", "## The three-point search",
                  "ms of both stages", "are not both measured"):
        assert words in written, words
    assert "Can libocas keep" not in written
    name = "like-ccat"
    made = copy.deepcopy(results)
    for gap in GAPS:
        active = made["runs"][name][f"{ACTIVE} {gap:g}"]
        active["objective"], active["search"] = 1.0, 0.5
        made["runs"][name][f"{PEER} {gap:g}"] = {**active, "output": 1.0, "add": 1.0, "w": 1.0, "search": 6.0 if gap > 1e-4 else 0.5}
        del made["runs"][name][f"{PEER} {gap:g}"]["objective"]
    made["runs"][name][f"{PEER} -s {PLANES}"] = made["runs"][name][f"{PEER} 0.01"]
    made["runs"][name][f"{PEER} 0.001"]["primal"] *= 1.01  # it says that it is within 0.001
    tested = Page(made)
    assert tested.ended(name, PEER, 1e-2) and not tested.ended(name, PEER, 1e-3)
    lines = {line.split(" | ")[1]: line for line in ratio_table(tested) if line.startswith(f"| {name}")}
    assert "| 6.00 | 5.33 |" in lines["0.01"], lines
    assert "**2.33** | **1.67**" in lines["0.0001"], lines  # published: 2.40
    assert lines["0.001"].split(" | ")[4] == "-", lines
    assert "Can libocas keep" in "\n".join(table_3(tested))
    assert [words.split(":")[0] for words in short_of(tested)] == [f"*{name} at {gap:g}*" for gap in (1e-4, 1e-5)]
    assert "of 2 " in asked(tested).replace("Of 2 ", "of 2 "), asked(tested)
    assert abs(ratio("CCAT", 1e-5) - 4.98) < 0.01 and bounds("COV1", 1e-4)[0] < ratio("COV1", 1e-4) < bounds("COV1", 1e-4)[1]
