#!/usr/bin/env python3
"""hinge beside its peers over sets, costs and gaps: the run behind docs/benchmarks.md, which it writes.

    python3 bench/matrix.py run [--quick] [--only SETS] [--costs CS] [--measures a,b,c,d]
    python3 bench/matrix.py report            the tables and figures again, from the results
    python3 bench/matrix.py self-test         a tiny matrix of hinge alone, and its report

`make bench`, `make bench QUICK=1` and `make bench-report` call it. HINGE names the program (default build/hinge).
What is measured is added to --results cell by cell, in place of what was there for the same set, cost and solver; a run
that selects parts leaves the others as they are. On a machine of many cores --lanes N takes N pairs of a set and a cost at
a time, each on its own share of the cores and in a process of its own; "all cores" are then those of a share.

Measures: (a) solving alone on one thread, (b) on all cores, at every cost and gap; (c) text file to saved model and
(d) binary set to saved model, wall time and peak memory, at C = 1 and the gap 0.001. How a cell of (a) and (b) comes
about: hinge first works out a reference, far tighter than any gap asked for. Then every peer goes through its tolerances
from the loosest to the tightest, each judged by its true gap (matrix_results.py), until the tightest gap is reached or a
run takes longer than --cap seconds (or a quarter of it, and all together more than --budget): a solver that misses a
gap is not asked for a tighter one. Then hinge, at each gap, and of every peer the fastest and the loosest tolerance that
reached it are run in turn until each has --repeat runs, or twice as many where the fastest takes less than 0.3 s; what
takes longer than --once-above seconds, or three times as long as the best peer, is not repeated. The best run of each
counts.
"""
import argparse
import datetime
import math
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import time

try:
    import numpy  # noqa: F401: what the others need
except ImportError:
    print("the Python module numpy is missing")
    sys.exit(77)  # skipped, to ctest

import matrix_report
from matrix_peers import CORES, Hinge, Missed, Workshop, bandwidth, peers
from matrix_results import Results
from matrix_sets import ALL, REAL, prepare

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FILE_COST, FILE_GAP = "1", 1e-3
QUICK = {"only": ("a9a", "ccat", "cov1-small", "like-real-sim", "dense-small", "digits"), "costs": ("1", "0.01"),
         "gaps": (1e-2, 1e-3, 1e-4), "cap": 5, "budget": 12, "repeat": 2, "deadline": 390}
FULL = {"only": ALL, "costs": ("0.01", "1", "100"), "gaps": (1e-2, 1e-3, 1e-4, 1e-6), "cap": 20, "budget": 60,
        "repeat": 3, "deadline": None}


class Matrix:
    def __init__(self, arguments, results, shop):
        self.arguments, self.results, self.shop = arguments, results, shop
        self.gaps = sorted(arguments.gaps, reverse=True)
        one, several = peers(shop, self.gaps, arguments.sources) if arguments.peers else ([], [])
        self.one, self.several = self.present(one), self.present(several)
        self.hinge = Hinge(shop, self.gaps), Hinge(shop, self.gaps, max(CORES, 2))
        self.start = time.monotonic()

    def present(self, solvers):
        found = []
        for solver in solvers:
            missing = solver.why_not()
            if missing:
                print(f"{solver.name} is left out: {missing}", flush=True)
            else:
                found.append(solver)
        return found

    def describe(self, cores=CORES):
        with open("/proc/cpuinfo") as info:
            cpu = next((line.split(":")[1].strip() for line in info if line.startswith("model name")), platform.machine())
        rates = bandwidth(self.shop, cores)
        about = self.results.all["about"]
        about.update({"date": datetime.date.today().isoformat(), "cpu": cpu, "cores": cores,
                      "memory_bytes": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
                      "bandwidth": {"one": rates[0], "all": rates[1]}, "quick": self.arguments.quick,
                      "cap": self.arguments.cap, "repeat": self.arguments.repeat, "lanes": 1,
                      "gaps": sorted({*about.get("gaps", ()), *self.gaps}, reverse=True)})
        about.setdefault("versions", {}).update({s.name: s.about() for s in (self.hinge[0], *self.one)})

    def late(self):
        return self.arguments.deadline and time.monotonic() - self.start > self.arguments.deadline

    def run(self):
        if not self.arguments.no_about:
            self.describe()
        costs = self.arguments.costs
        # A quick run looks at every set before it looks at the next cost; a whole one reads every set once.
        for number, some in enumerate([[cost] for cost in costs] if self.arguments.quick else [costs]):
            for name in self.arguments.only:
                if self.late():
                    print(f"{name}, C = {', '.join(some)}: left out, {self.arguments.deadline:g} seconds are over", flush=True)
                    continue
                data = prepare(name, self.arguments.shared, self.arguments.data)
                if data is not None:
                    self.one_set(data, some, files=number == 0)

    def one_set(self, data, costs, files):
        self.results.all["sets"][data.name] = data.about
        print(f"== {data.name}: {data.about['rows']:,} x {data.about['features']:,}, "
              f"{data.about['text_bytes'] / 1e6:.0f} MB of text", flush=True)
        if {"a", "b"} & set(self.arguments.measures):
            for cost in costs:
                self.solve(data, cost)
        for solver in (*self.one, *self.several):
            solver.close()
        if files and {"c", "d"} & set(self.arguments.measures):
            self.files(data)

    # (a) and (b)

    def solve(self, data, cost):
        self.reference(data, cost)
        measures = self.arguments.measures
        ours = [self.hinge[0]] * ("a" in measures) + [self.hinge[1]] * ("b" in measures)
        theirs = self.one * ("a" in measures) + self.several * ("b" in measures)
        for solver in (*ours, *theirs):
            self.results.forget(data.name, cost, solver.name)
            self.sweep(data, cost, solver)
            self.results.save()
        self.repeat(data, cost, ours, theirs)
        self.results.save()
        for line in matrix_report.cell_lines(self.results, data.name, cost):
            print(line, flush=True)

    def reference(self, data, cost):
        """Far tighter than any gap asked for, where that can be had in time; and the evaluator against the certificate."""
        hinge = self.hinge[1]
        point = hinge.solve(data, cost, f"{min(self.gaps) / 20:g}", 2 * self.arguments.cap)[0]
        self.results.learn(data.name, cost, point.primal, point.more["dual"])
        judged = data.data.primal(hinge.weights(), float(cost))
        wrong = max(abs(a - b) / a for a, b in zip(judged, point.primal))
        if wrong > 1e-9:
            sys.exit(f"{data.name}, C = {cost}: hinge certifies {point.primal}, the evaluator here says {judged}")

    def sweep(self, data, cost, solver):
        """Runs the solver from its loosest to its tightest knob, as far as it gets."""
        results, spent, ended = self.results, 0.0, "tightest tolerance"
        for knob in solver.knobs:
            try:
                points = solver.solve(data, cost, knob, self.arguments.cap)
            except Missed as why:
                ended = str(why)
                break
            for point in self.thinned(data.name, cost, points):
                results.add(data.name, cost, solver.name, point)
            last = points[-1]
            spent += last.seconds
            gap = results.gap(data.name, cost, last.primal, min(self.gaps))
            if solver in self.hinge:
                if last.more["status"] != "converged":
                    ended = f"ended as {last.more['status']}"
                    break
            elif gap <= min(self.gaps):
                ended = "tightest gap reached"
                break
            elif spent > self.arguments.budget and last.seconds > self.arguments.cap / 4:
                ended = f"{spent:.0f} seconds over all tolerances"
                break
            elif solver.slows_like_one_over_gap and self.hopeless(data.name, cost, last):
                ended = "at this rate the next gap takes too long"
                break
        results.solver(data.name, cost, solver.name)["ended"] = ended

    def hopeless(self, name, cost, last):
        """Whether twice the cap would not do for the next gap, if time goes like 1/gap, as it does for SGD at best."""
        open_gaps = [gap for gap in self.gaps if self.results.gap(name, cost, last.primal, gap) > gap]
        now = self.results.gap(name, cost, last.primal, max(open_gaps))
        return last.seconds * now / max(open_gaps) > 2 * self.arguments.cap and last.seconds > 0.1 * self.arguments.cap

    def thinned(self, name, cost, points):
        """Of a long trace the first point below each of some gaps; those that are asked for are among these."""
        if len(points) == 1:
            return points
        kept = {}
        for mark in sorted({*self.gaps, *(10 ** (-k / 3) for k in range(1, 22))}, reverse=True):
            first = next((p for p in points if self.results.gap(name, cost, p.primal, mark) <= mark), None)
            if first:
                kept[first.knob] = first
        return list({**kept, points[-1].knob: points[-1]}.values())

    def repeat(self, data, cost, ours, theirs):
        """In turn, until all have as many runs as the fastest of the cell calls for."""
        for turn in range(1, self.turns(0)):
            for gap in self.gaps:
                self.once_more(data, cost, gap, [*ours, *theirs], turn)

    def turns(self, seconds):
        """How often something that takes so long is run: what is over soon is disturbed soon."""
        return 1 if seconds > self.arguments.once_above else self.arguments.repeat * (2 if seconds < 0.3 else 1)

    def once_more(self, data, cost, gap, solvers, turn):
        results = self.results
        best = {solver: found for solver in solvers if (found := results.fastest(data.name, cost, solver.name, gap))}
        theirs = min((found[0] for solver, found in best.items() if solver not in self.hinge), default=math.inf)
        if not best or turn >= self.turns(min(found[0] for found in best.values())):
            return
        for solver, (seconds, fastest) in best.items():
            if seconds > self.arguments.once_above or solver not in self.hinge and seconds > 3 * theirs:
                continue
            points = results.solver(data.name, cost, solver.name)["points"]
            # The loosest is the fastest, unless something disturbed it.
            loosest = next(knob for knob in points if results.reached(data.name, cost, solver.name, knob, gap))
            for knob in {fastest} if solver in self.hinge or solver.traced else {fastest, loosest}:
                if len(points[knob]["seconds"]) <= turn:
                    self.again(data, cost, solver, knob, points)

    def again(self, data, cost, solver, knob, points):
        limit = self.arguments.cap
        if solver.traced:  # as far as this point, even if it takes twice as long this time
            knob, limit = solver.knobs[0], min(limit, 2 * min(points[knob]["seconds"]) + 0.01)
        try:
            for point in solver.solve(data, cost, knob, limit):
                if point.knob in points:
                    self.results.add(data.name, cost, solver.name, point)
        except Missed:
            pass  # it has a time already

    # (c) and (d)

    def files(self, data):
        """Text to model, in turn; each peer at the tolerance that reached the gap in (a), or the next one that does."""
        if FILE_COST not in self.results.all["references"].get(data.name, {}):
            self.reference(data, FILE_COST)
        hinge = self.hinge[1]
        runs = {}
        if "c" in self.arguments.measures:
            runs["hinge"] = (lambda knob, limit: hinge.file(data, FILE_COST, knob, limit), [f"{FILE_GAP:g}"])
            for solver in self.one:
                if hasattr(solver, "file"):
                    runs[solver.name] = (lambda knob, limit, solver=solver: solver.file(data, FILE_COST, knob, limit),
                                         self.file_knobs(data, solver))
        if "d" in self.arguments.measures:
            runs["hinge, binary"] = (lambda knob, limit: hinge.file(data, FILE_COST, knob, limit, binary=True),
                                     [f"{FILE_GAP:g}"])
        found = self.results.all["files"].setdefault(data.name, {})
        for name in runs:
            found.pop(name, None)
        for turn in range(self.turns(0)):
            ended = {name: min(f["seconds"]) for name, f in found.items() if "seconds" in f}
            if turn and turn >= self.turns(min(self.arguments.once_above, *ended.values())):
                break
            least = min((seconds for name, seconds in ended.items() if "hinge" not in name), default=0)
            for name, (run, knobs) in runs.items():
                if not turn:
                    found[name] = self.file_run(data, run, knobs, None)
                elif name in ended and ("hinge" in name or ended[name] <= 3 * least):
                    found[name] = self.file_run(data, run, [found[name]["knob"]], found[name])
            self.results.save()
        for line in matrix_report.file_lines(self.results, data.name):
            print(line, flush=True)

    def file_knobs(self, data, solver):
        """The one that reached the gap in (a) and the tighter ones; where none did, a few that (a) did not get to."""
        if solver.traced:
            return [f"{FILE_GAP:g}", f"{FILE_GAP / 3:g}"]  # it stops by its own gap
        found = self.results.fastest(data.name, FILE_COST, solver.name, FILE_GAP)
        before = self.results.solver(data.name, FILE_COST, solver.name)
        if found:
            return solver.knobs[solver.knobs.index(found[1]):]
        if before and before["points"]:
            first = solver.knobs.index(list(before["points"])[-1]) + 1
            return [] if solver.slows_like_one_over_gap else solver.knobs[first:first + 3]
        return solver.knobs[solver.knobs.index(solver.usual):]

    def file_run(self, data, run, knobs, before):
        """-> the record of the first knob that reaches the gap, added to the one before."""
        missed = {"missed": "too slow in (a)"}
        for knob in knobs:
            try:
                whole = run(knob, self.arguments.file_cap)
            except Missed as why:
                missed["missed"] = str(why)
                break
            gap = self.results.gap(data.name, FILE_COST, whole.primal, FILE_GAP)
            if gap > FILE_GAP:
                missed = {"missed": f"gap {gap:.1e}", "peak": whole.peak}
                continue
            record = {"knob": knob, "seconds": [whole.seconds], "peak": whole.peak, "primal": whole.primal, **whole.more}
            if before:
                if whole.seconds > min(before["seconds"]):  # what it says of itself is that of the fastest run
                    record = {**before}
                record["seconds"] = [*before["seconds"], whole.seconds]
                record["peak"] = max(before["peak"], whole.peak)
            return record
        return before or missed


def run(arguments):
    defaults = QUICK if arguments.quick else FULL
    for name, value in defaults.items():
        if getattr(arguments, name) is None:
            setattr(arguments, name, value)
    arguments.results = arguments.results or f"{arguments.work}/{'quick/' if arguments.quick else ''}results.json"
    arguments.docs = arguments.docs or (os.path.dirname(arguments.results) if arguments.quick else f"{ROOT}/docs")
    if not os.path.isdir(arguments.shared):
        print(f"no shared data at {arguments.shared}: generated sets only", flush=True)
    arguments.data = arguments.data or f"{arguments.work}/data"
    if arguments.lanes > 1:
        Lanes(arguments).run()
    else:
        Matrix(arguments, Results(arguments.results), Workshop(f"{arguments.work}/bin")).run()
    if not arguments.no_report:
        report(arguments)


class Lanes:
    """A process for each set and cost, so many at a time, each on cores of its own; what they find is joined as they end.

    A set is prepared first, then its costs are taken side by side, then its files."""

    def __init__(self, arguments):
        self.arguments = arguments
        cores = sorted(os.sched_getaffinity(0))
        share = max(1, len(cores) // arguments.lanes)
        self.free = [cores[k:k + share] for k in range(0, len(cores) - share + 1, share)][:arguments.lanes]
        self.share = share
        # Generated sets first: the largest are among them.
        self.waiting = [(name, "prepare") for name in sorted(arguments.only, key=lambda name: name in REAL)]
        self.running = {}

    def run(self):
        signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
        results = Results(self.arguments.results)
        # Programs are compiled once, and the machine is measured while it has nothing else to do.
        Matrix(self.arguments, results, Workshop(f"{self.arguments.work}/bin")).describe(self.share)
        results.all["about"]["lanes"] = self.arguments.lanes
        results.save()
        try:
            while self.waiting or self.running:
                while self.waiting and self.free:
                    self.begin(*self.waiting.pop(0), self.free.pop())
                time.sleep(0.2)
                for job in [job for job, (process, *_) in self.running.items() if process.poll() is not None]:
                    self.waiting[:0] = self.follow(*job, self.end(*job))
        finally:
            for process, *_ in self.running.values():
                os.killpg(process.pid, signal.SIGTERM)
                process.wait()
            for job in list(self.running):
                self.end(*job)

    def follow(self, name, part, ended_well):
        """What can begin now that this part of a set is done."""
        measures = set(self.arguments.measures)
        if part == "prepare":
            if not ended_well:
                return []
            jobs = [(name, cost) for cost in self.arguments.costs if {"a", "b"} & measures]
            return jobs or [(name, "files")]
        others = any(other == name for other, _ in [*self.waiting, *self.running])
        return [(name, "files")] if {"c", "d"} & measures and part != "files" and not others else []

    def folder(self, name, part):
        return f"{self.arguments.work}/lanes/{name}-{part}"

    def begin(self, name, part, cores):
        a, folder = self.arguments, self.folder(name, part)
        shutil.copytree(f"{a.work}/bin", f"{folder}/bin", ignore=shutil.ignore_patterns("tmp"), dirs_exist_ok=True)
        results = Results(a.results)  # what was found before: a run of files goes by it
        results.path = f"{folder}/results.json"
        results.save()
        measures = {"prepare": set(), "files": {"c", "d"}}.get(part, {"a", "b"}) & set(a.measures)
        options = {"only": name, "costs": part if measures & {"a", "b"} else FILE_COST,
                   "gaps": ",".join(map(str, a.gaps)), "measures": ",".join(sorted(measures)), "repeat": a.repeat,
                   "cap": a.cap, "budget": a.budget, "once-above": a.once_above, "file-cap": a.file_cap,
                   "shared": a.shared, "sources": a.sources, "data": a.data, "work": folder, "results": results.path}
        command = [sys.executable, "-B", os.path.abspath(__file__), "run", "--no-report", "--no-about",
                   *(f"--{option}={value}" for option, value in options.items()), *([] if a.peers else ["--no-peers"])]
        with open(f"{folder}/log", "w") as log:
            process = subprocess.Popen(["taskset", "-c", ",".join(map(str, cores)), *command], stdout=log,
                                       stderr=subprocess.STDOUT, start_new_session=True)
        self.running[name, part] = process, cores, time.monotonic()
        print(f"{name}, {part}: begun on cores {cores}", flush=True)

    def end(self, name, part):
        process, cores, begun = self.running.pop((name, part))
        self.free.append(cores)
        results = Results(self.arguments.results)
        results.take(name, part, Results(f"{self.folder(name, part)}/results.json"))
        results.save()
        how = "done" if process.returncode == 0 else f"ended with {process.returncode}, see {self.folder(name, part)}/log"
        print(f"{name}, {part}: {how}, {time.monotonic() - begun:.0f} s", flush=True)
        return process.returncode == 0


def report(arguments):
    arguments.results = arguments.results or f"{arguments.work}/results.json"
    if not os.path.exists(arguments.results):
        sys.exit(f"no results at {arguments.results}: make bench makes them")
    results = Results(arguments.results)
    print(matrix_report.summary_text(results))
    print("written:", matrix_report.write(results, arguments.docs or f"{ROOT}/docs"))


def self_test(_):
    """hinge alone on a tiny set: results are there, the evaluator agrees, hinge keeps its gaps, the report names all."""
    with tempfile.TemporaryDirectory() as folder:
        words = ["run", "--only", "tiny", "--costs", "1", "--gaps", "0.01,0.001", "--repeat", "2", "--no-peers", "--work",
                 folder, "--docs", f"{folder}/docs", "--cap", "5"]
        lanes = parser().parse_args([*words, "--measures", "a", "--lanes", "2"])
        run(lanes)
        assert Results(lanes.results).solver("tiny", "1", "hinge")["points"] and not Results(lanes.results).all["files"]
        arguments = parser().parse_args(words)
        run(arguments)
        results = Results(arguments.results)
        for solver in ("hinge", "hinge, all cores"):
            points = results.solver("tiny", "1", solver)["points"]
            assert set(points) == {"0.01", "0.001"}, points
            for knob, point in points.items():
                assert len(point["seconds"]) >= 2, point
                assert results.reached("tiny", "1", solver, knob, float(knob)), point
                assert results.gap("tiny", "1", point["primal"]) <= float(knob), point
        assert results.gap("tiny", "1", [2 * p for p in points["0.01"]["primal"]], 0.01) > 0.4
        assert {"hinge", "hinge, binary"} == set(results.all["files"]["tiny"])
        assert all(len(f["seconds"]) >= 2 and f["peak"] > 1 << 20 for f in results.all["files"]["tiny"].values())
        matrix_report.self_test(results, f"{folder}/docs")
    print("self-test passed")


def parser():
    def words(text):
        return tuple(text.replace(",", " ").split())

    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("what", choices=["run", "report", "self-test"])
    made.add_argument("--quick", action="store_true", help="a small part of it, in minutes, reported beside its results")
    made.add_argument("--only", type=words, help=f"sets, of {', '.join(ALL)}")
    made.add_argument("--costs", type=words)
    made.add_argument("--gaps", type=lambda text: tuple(map(float, words(text))))
    made.add_argument("--measures", type=words, default=("a", "b", "c", "d"))
    made.add_argument("--repeat", type=int, help="runs of each, of which the best counts")
    made.add_argument("--cap", type=float, help="seconds a run of (a) and (b) may take")
    made.add_argument("--budget", type=float, help="seconds for all tolerances of a peer at one cost, once they take long")
    made.add_argument("--deadline", type=float, help="seconds after which no other cost is begun")
    made.add_argument("--once-above", type=float, default=3)
    made.add_argument("--file-cap", type=float, default=180, help="seconds a run of (c) and (d) may take")
    made.add_argument("--no-peers", dest="peers", action="store_false", help="hinge alone")
    made.add_argument("--lanes", type=int, default=1, help="pairs of a set and a cost at a time, each on its share of the cores")
    made.add_argument("--no-report", action="store_true", help="only measure")
    made.add_argument("--no-about", action="store_true", help="do not measure the machine")
    made.add_argument("--data", help="folder of the sets as text and binary (default data in --work)")
    made.add_argument("--shared", default=f"{ROOT}/../shared/data", help="folder of the real sets")
    made.add_argument("--work", default=f"{ROOT}/build/bench", help="folder for data, programs, results")
    made.add_argument("--sources", default=f"{ROOT}/build/bench/sources", help="folder of LIBLINEAR's source archive")
    made.add_argument("--results", help="JSON file (default results.json in --work)")
    made.add_argument("--docs", help="folder of benchmarks.md and its figures (default docs, of --quick beside the JSON)")
    return made


if __name__ == "__main__":
    chosen = parser().parse_args()
    {"run": run, "report": report, "self-test": self_test}[chosen.what](chosen)
