#!/usr/bin/env python3
"""The tables and figures of the active-set paper (Xiao, Zhou 2013) with hinge and libocas: docs/papers.md, which it writes.

    python3 bench/paper.py run [--quick | --full] [--only PARTS] [--sets SETS]
    python3 bench/paper.py report [--quick | --full]   the page and its figures again, from the results
    python3 bench/paper.py self-test                   a tiny set, hinge alone, and its report

`make paper`, `make paper QUICK=1` and `make paper-report` call it. HINGE names the program (default build/hinge). Every
run is written into a JSON file (--results) when it ends, so that a command that was cut goes on where it stopped; runs of
another hinge than the one that HINGE names are measured again, with --again all. --quick begins no run after --deadline
seconds (480): what it has not measured by then the page leaves out, and the same command goes on with it.

Sets are NAME-train.svm and NAME-test.svm, plain or .xz, in --data, or what `hinge generate --like NAME` makes: a part of
the published rows, or with --full all of them, split as the paper split them (9:1, but for CCAT 781,265 to 23,149).

Parts (--only): table3, figure1, figure2, three. Tables 1 and 2 come out of the runs of the others.

table3   svmocas of Debian's libocas-tools, and hinge's ocas and active with 20 planes and with each one's own number, run
         in turn --repeat times, on one thread, at each gap; the fastest run of each counts, and what takes longer than
         --once-above seconds is run once. svmocas keeps all its planes: its -s N ends it at the Nth, which is run once,
         too, at the smallest gap. It is judged by the primal of its model, computed here (planes.py), against the best
         bound that any run of hinge has proved for the set.
figure1  cpa and focus with a trace; those of ocas, ocas3, active and svmocas are the runs of table3 and three.
figure2  active beside ocas, 20 planes both, at each of --costs to --gap-per-row 1e-5, on all cores: counts, no times.
three    ocas3 with 20 planes beside the ocas of table3.
"""
import argparse
import datetime
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time

import paper_report
from paper_published import GAP_PER_ROW, GAPS, PLANES, STANDS_FOR
from peers import HINGE, timed, unpack
from planes import LINE, PEER, STAGE, Set, hinge_train, judge, test_error

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PARTS = ("table3", "figure1", "figure2", "three")
COSTS = ("0.01", "0.1", "1", "10")
QUICK_ROWS = {"like-real-sim": 24_000}
USUAL_ROWS = {"like-ccat": 100_000, "like-cov1": 100_000}
TEST_SHARE = {"like-ccat": 23_149 / 804_414}  # of all its rows; 0.1 of others
MODES = {
    "quick": {"sets": ("ccat", "covtype", "like-real-sim", "news20"), "rows": QUICK_ROWS, "repeat": 2, "once_above": 1,
              "time_limit": 100, "cpa_limit": 3, "costs_limit": 20, "deadline": 480},
    "usual": {"sets": tuple(STANDS_FOR), "rows": USUAL_ROWS, "repeat": 3, "once_above": 10,
              "time_limit": 120, "cpa_limit": 20, "costs_limit": 120, "deadline": None},
    "full": {"sets": tuple(STANDS_FOR), "rows": {}, "repeat": 3, "once_above": 10, "time_limit": 600,
             "cpa_limit": 60, "costs_limit": 600, "deadline": None},
}
MOST_POINTS = 60  # of a curve


class Late(Exception):
    """The time of a quick run is over."""


class Results:
    """about; sets: name -> what it is; runs: name -> key -> record. A record is the best of its turns."""

    def __init__(self, path):
        self.path = path
        self.all = {"about": {}, "sets": {}, "runs": {}}
        if os.path.exists(path):
            with open(path) as file:
                self.all.update(json.load(file))

    def save(self):
        os.makedirs(os.path.dirname(os.path.abspath(self.path)), exist_ok=True)
        with open(f"{self.path}.part", "w") as file:
            json.dump(self.all, file, indent=1)
            file.write("\n")
        os.replace(f"{self.path}.part", self.path)

    def run(self, name, key):
        return self.all["runs"].get(name, {}).get(key)

    def put(self, name, key, record):
        before = self.run(name, key)
        turns = before["turns"] + 1 if before else 1
        if before and before["reached"] and (not record["reached"] or before["solve"] < record["solve"]):
            record = before
        self.all["runs"].setdefault(name, {})[key] = {**record, "turns": turns}
        self.save()

    def begin(self, name, about):
        """A set of other rows under the same name begins anew."""
        if self.all["sets"].get(name) != about:
            self.all["sets"][name] = about
            self.all["runs"][name] = {}

    def program(self, digest):
        """Runs of another hinge go; those of svmocas stay."""
        if self.all["about"].get("program") not in (None, digest):
            print("these results are of another hinge: its runs are measured again", flush=True)
            for runs in self.all["runs"].values():
                for key in [key for key in runs if not key.startswith(PEER)]:
                    del runs[key]
        self.all["about"]["program"] = digest


# Sets


def prepare(name, arguments):
    """-> Set and what the results say of it; None and a line where it cannot be had."""
    paths = [f"{arguments.work}/{name}-{part}.svm" for part in ("train", "test")]
    if not all(map(os.path.exists, paths)):
        made = [f"{path}.part" for path in paths]
        for path in made:
            if os.path.lexists(path):  # of a command that was cut
                os.remove(path)
        if name.startswith("like-"):
            print(f"{name}: generating", flush=True)
            generate(name, *made, arguments.rows.get(name))
        elif not all(unpack(name, part, path, arguments.data) for part, path in zip(("train", "test"), made)):
            print(f"{name}: no {name}-train.svm[.xz] and {name}-test.svm[.xz] in {arguments.data}; left out", flush=True)
            return None, None
        for before, after in zip(made, paths):
            os.rename(before, after)
    data = Set(name, *paths)
    info = [json.loads(timed([HINGE, "info", "--json", path])[1]) for path in paths]
    return data, {"rows": info[0]["rows"], "test_rows": info[1]["rows"], "features": info[0]["features"],
                  "nonzeros": info[0]["nonzeros"]}


def generate(name, train, test, rows):
    whole = f"{train}.whole"
    more = ["--rows", str(rows)] if rows else []
    subprocess.run([HINGE, "generate", whole, "--like", name.removeprefix("like-"), "--force", "-q", *more], check=True)
    share = 0.1 if rows else TEST_SHARE.get(name, 0.1)
    subprocess.run([HINGE, "split", whole, train, test, "--test", f"{share:.8f}", "-q"], check=True)
    os.remove(whole)


# Runs


def thinned(points):
    """About so many of [(seconds, gap)] that a curve looks the same: evenly by the logarithm of seconds, and the last."""
    points = [(s, min(gap, 1.0)) for s, gap in points if s > 0]
    if len(points) <= MOST_POINTS:
        return points
    step = (points[-1][0] / points[0][0]) ** (1 / MOST_POINTS)
    kept = [points[0]]
    for point in points[1:-1]:
        if point[0] >= kept[-1][0] * step:
            kept.append(point)
    return [*kept, points[-1]]


def hinge_record(data, folder, solver, planes, gap, limit, more=(), threads=1, cost="1", error=True):
    model, trace = f"{folder}/hinge.model", f"{folder}/trace"
    said = hinge_train(data, model, solver, gap, limit, threads, cost, planes, ("--trace", trace, *more))
    with open(trace) as file:
        steps = [json.loads(line) for line in file]
    record = {"solve": said["seconds"]["solve"], "objective": said["objective_seconds"], "search": said["search_seconds"],
              **{key: said[key] for key in ("iterations", "objective_rows", "search_rows", "rows_touched", "primal",
                                            "dual", "relative_gap", "status")},
              "reached": said["status"] == "converged",
              "planes": sum(step["planes"] for step in steps) / max(1, len(steps))}
    if threads == 1:
        record["points"] = thinned([(step["seconds"], step["relative_gap"]) for step in steps])
    if error:
        record["error"] = test_error(data, model)
    return record


def svmocas_record(data, folder, gap, limit, more=()):
    _, out = timed([PEER, "-c", "1", "-b", "0", "-p", "1", "-r", f"{gap:.6g}", "-t", str(limit), *more, data.train,
                    f"{folder}/svmocas"])
    lines = [tuple(map(float, line)) for line in LINE.findall(out)]
    stage = {name: float(seconds) for name, seconds in STAGE.findall(out)}
    ended = re.search(r"Stopping condition: *(.*)", out)
    count, _, said, bound = lines[-1]
    primal, error = judge(data, folder)
    if abs(primal - said) > 1e-5 * said:
        print(f"{data.name}: svmocas says its primal is {said}; it is {primal:.6f}", flush=True)
    return {"solve": stage["ocas_time"], "output": stage["output_time"], "add": stage["add_time"], "w": stage["w_time"],
            "search": stage["sort_time"], "iterations": int(count), "primal": primal, "dual": bound,
            "relative_gap": (said - bound) / said, "reached": said - bound <= gap * said,
            "status": ended.group(1).strip() if ended else "", "error": error,
            "points": thinned([(line[1], (line[2] - line[3]) / line[2]) for line in lines])}


class Paper:
    def __init__(self, arguments, results):
        self.arguments, self.results = arguments, results
        self.start = time.monotonic()
        self.peer = arguments.peers and bool(shutil.which(PEER))
        if arguments.peers and not self.peer:
            print(f"{PEER} (package libocas-tools) is not installed; left out", flush=True)

    def describe(self):
        with open("/proc/cpuinfo") as info:
            cpu = next((line.split(":")[1].strip() for line in info if line.startswith("model name")), platform.machine())
        version = subprocess.run([HINGE, "--version"], capture_output=True, text=True).stdout.strip()
        with open(shutil.which(HINGE), "rb") as file:
            self.results.program(hashlib.sha256(file.read()).hexdigest())
        a = self.arguments
        self.results.all["about"].update({
            "date": datetime.date.today().isoformat(), "cpu": cpu, "cores": len(os.sched_getaffinity(0)),
            "memory_bytes": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"), "hinge": version, "mode": a.mode,
            "repeat": a.repeat, "time_limit": a.time_limit, "cpa_limit": a.cpa_limit, "costs_limit": a.costs_limit,
            "once_above": a.once_above, "note": a.note,
            "costs": sorted({*self.results.all["about"].get("costs", ()), *a.costs}, key=float)})

    def run(self):
        """-> whether everything is measured. A part is gone through for all sets before the next is begun."""
        self.describe()
        try:
            found = dict(self.prepared())
            with tempfile.TemporaryDirectory() as folder:
                for part in self.arguments.only:
                    for data in found.values():
                        getattr(self, part)(data, folder)
        except Late:
            print(f"{self.arguments.deadline:g} seconds are over; the same command goes on from here", flush=True)
            return False
        return True

    def prepared(self):
        for name in self.arguments.sets:
            data, about = prepare(name, self.arguments)
            if data is None:
                continue
            self.results.begin(name, about)
            self.results.save()
            print(f"{name}: {about['rows']:,} x {about['features']:,}", flush=True)
            yield name, data

    def measure(self, data, key, limit, run, turn=0):
        """The record of a key, which is made if it has not had that many turns; what a shorter limit ended is tried again."""
        before = self.results.run(data.name, key)
        if before and (before["turns"] > turn or before["solve"] > self.arguments.once_above or not before["reached"]):
            if before["reached"] or before["limit"] >= limit:
                return before
        if self.arguments.deadline and time.monotonic() - self.start > self.arguments.deadline:
            raise Late
        self.results.put(data.name, key, {**run(), "limit": limit})
        found = self.results.run(data.name, key)
        print(f"{data.name} {key}: {found['solve']:.3f} s, {found['iterations']} iterations, "
              f"gap {found['relative_gap']:.1e}{'' if found['reached'] else ', not reached'}", flush=True)
        return found

    def contestants(self):
        """name -> (solver, planes)"""
        ours = {f"{solver} {PLANES}": (solver, PLANES) for solver in ("ocas", "active")}
        ours |= {f"{solver} own": (solver, None) for solver in ("ocas", "active")}
        return {**({PEER: (PEER, None)} if self.peer else {}), **ours}

    def race(self, data, folder, who):
        limit = self.arguments.time_limit
        missed = set()
        for gap in GAPS:
            for turn in range(self.arguments.repeat):
                for name, (solver, planes) in who.items():
                    if name in missed:
                        continue

                    def run(solver=solver, planes=planes):
                        if solver == PEER:
                            return svmocas_record(data, folder, gap, limit)
                        return hinge_record(data, folder, solver, planes, gap, limit)

                    if not self.measure(data, f"{name} {gap:g}", limit, run, turn)["reached"]:
                        missed.add(name)  # nor will it reach a smaller one

    def table3(self, data, folder):
        limit = self.arguments.time_limit
        self.race(data, folder, self.contestants())
        if self.peer:
            self.measure(data, f"{PEER} -s {PLANES}", limit,
                         lambda: svmocas_record(data, folder, min(GAPS), limit, ("-s", str(PLANES))))
        # The bound that svmocas is judged by.
        self.measure(data, "reference", limit,
                     lambda: hinge_record(data, folder, "auto", None, 1e-7, limit, error=False))

    def three(self, data, folder):
        self.race(data, folder, {f"ocas3 {PLANES}": ("ocas3", PLANES)})

    def figure1(self, data, folder):
        for solver, planes, limit in (("cpa", PLANES, self.arguments.cpa_limit), ("focus", None, self.arguments.time_limit)):
            self.measure(data, f"figure1 {solver}", limit,
                         lambda: hinge_record(data, folder, solver, planes, min(GAPS), limit, error=False))

    def figure2(self, data, folder):
        limit = self.arguments.costs_limit
        for cost in self.arguments.costs:
            for solver in ("ocas", "active"):
                if not self.measure(data, f"figure2 {solver} {cost}", limit, lambda: hinge_record(
                        data, folder, solver, PLANES, None, limit, ("--gap-per-row", f"{GAP_PER_ROW:g}"), 0, cost,
                        error=False))["reached"]:
                    break  # there is nothing to compare


# Commands


def run(arguments):
    for name, value in MODES[arguments.mode].items():
        if getattr(arguments, name, None) is None:
            setattr(arguments, name, value)
    os.makedirs(arguments.work, exist_ok=True)
    if arguments.again and os.path.exists(arguments.results):
        os.remove(arguments.results)
    results = Results(arguments.results)
    whole = Paper(arguments, results).run()
    results.save()
    report(arguments)
    return whole


def report(arguments):
    if not os.path.exists(arguments.results):
        sys.exit(f"no results at {arguments.results}: make paper makes them")
    print("written:", paper_report.write(Results(arguments.results).all, arguments.docs))


def self_test(_):
    """hinge alone on a tiny set: results are there, a cut run goes on, the page has every table."""
    with tempfile.TemporaryDirectory() as folder:
        words = ["run", "--quick", "--sets", "like-ccat,absent", "--work", f"{folder}/work", "--results",
                 f"{folder}/paper.json", "--docs", f"{folder}/docs", "--no-peers", "--costs", "0.1,1", "--repeat", "1", "--data",
                 folder]
        arguments = parser().parse_args(words)
        finish(arguments)
        arguments.rows, arguments.deadline = {"like-ccat": 400}, -1.0  # at once
        assert not run(arguments), "it went on beyond its time"
        assert not Results(arguments.results).all["runs"]["like-ccat"]
        arguments.deadline = 0
        assert run(arguments), "it was cut"
        first = Results(arguments.results).all
        runs = first["runs"]["like-ccat"]
        assert set(first["sets"]) == {"like-ccat"}, first["sets"]
        for key in ("ocas 20 0.01", "active 20 1e-05", "ocas3 20 0.0001", "figure1 cpa", "figure2 active 0.1", "reference"):
            assert runs[key]["turns"] == 1, key
        assert runs["active 20 1e-05"]["reached"] and runs["active 20 1e-05"]["relative_gap"] <= 1e-5
        assert runs["figure2 ocas 1"]["reached"]
        run(arguments)
        assert Results(arguments.results).all["runs"] == first["runs"], "what was there was measured again"
        results = Results(arguments.results)
        results.all["runs"]["like-ccat"]["ocas 20 1e-05"].update(reached=False, limit=1)
        results.save()
        run(arguments)
        assert Results(arguments.results).run("like-ccat", "ocas 20 1e-05")["reached"], "a longer limit made no difference"
        arguments.again, arguments.only, arguments.docs = True, ("three",), f"{folder}/other"
        run(arguments)
        assert {key.split()[0] for key in Results(arguments.results).all["runs"]["like-ccat"]} == {"ocas3"}
        results = Results(arguments.results)
        results.program("another")
        assert not results.all["runs"]["like-ccat"]
        paper_report.self_test(first, f"{folder}/docs")
    print("self-test passed")


def parser():
    def words(text):
        return tuple(text.replace(",", " ").split())

    def parts(text):
        wrong = [part for part in words(text) if part not in PARTS]
        if wrong:
            raise argparse.ArgumentTypeError(f"no such part: {', '.join(wrong)} (one of {', '.join(PARTS)})")
        return words(text)

    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("what", choices=["run", "report", "self-test"])
    mode = made.add_mutually_exclusive_group()
    mode.add_argument("--quick", dest="mode", action="store_const", const="quick", help="four sets, in ten minutes at most")
    mode.add_argument("--full", dest="mode", action="store_const", const="full", help="generated sets at their full size")
    made.set_defaults(mode="usual")
    made.add_argument("--only", type=parts, default=PARTS, help=f"of {','.join(PARTS)}")
    made.add_argument("--sets", type=words, help=f"of {','.join(STANDS_FOR)}")
    made.add_argument("--costs", type=words, default=COSTS, help=f"of Figure 2, default {','.join(COSTS)}")
    made.add_argument("--repeat", type=int, help="turns of Table 3, of which the fastest counts")
    made.add_argument("--once-above", type=float, help="seconds; slower runs are not repeated")
    made.add_argument("--time-limit", type=float, help="seconds of a run")
    made.add_argument("--deadline", type=float, help="seconds after which no other run is begun; 0: none")
    made.add_argument("--again", action="store_true", help="forget what was measured before, that of svmocas, too")
    made.add_argument("--no-peers", dest="peers", action="store_false", help="hinge alone")
    made.add_argument("--data", default=f"{ROOT}/../shared/data", help="folder of the real sets")
    made.add_argument("--work", help="folder of unpacked and generated sets (default build/bench/paper, by size)")
    made.add_argument("--results", help="JSON file (default build/bench/paper-quick.json, paper.json, paper-full.json)")
    made.add_argument("--note", help="a sentence for the page: how it was measured")
    made.add_argument("--docs", default=f"{ROOT}/docs", help="folder of papers.md and papers/ with its figures")
    return made


def finish(arguments):
    suffix = {"quick": "-quick", "usual": "", "full": "-full"}[arguments.mode]
    arguments.work = arguments.work or f"{ROOT}/build/bench/paper/{arguments.mode}"
    arguments.results = arguments.results or f"{ROOT}/build/bench/paper{suffix}.json"


if __name__ == "__main__":
    chosen = parser().parse_args()
    finish(chosen)
    {"run": run, "report": report, "self-test": self_test}[chosen.what](chosen)
