#!/usr/bin/env python3
"""The cutting planes of hinge beside libocas, in the tables of the active-set paper (Xiao, Zhou 2013), as Markdown.

    python3 bench/planes.py table     Table 3: seconds, iterations and test error at each gap, C = 1
    python3 bench/planes.py costs     Figure 2: rows looked at by active and focus relative to ocas, by C
    python3 bench/planes.py threads   two threads over one, on the largest set
    python3 bench/planes.py dual      seconds and passes beside dual descent
    python3 bench/planes.py options   iterations by --planes, --mu and --start
    python3 bench/planes.py all       all of them

HINGE names the program (default build/hinge). Sets (--sets) are NAME-train.svm and NAME-test.svm, plain or .xz, in
--data, or like-ccat, like-cov1, like-real-sim, like-news20: what `hinge generate` makes at the published size, split
9:1 by `hinge split`. --work keeps what was unpacked and generated (up to 1.2 GB) for the next time.

table: svmocas (package libocas-tools; left out where it is missing) and --solver ocas, active, focus, on one thread
  each, with their own numbers of planes, run in turn --repeat times; the fastest run of each is shown, and what takes
  longer than --once-above seconds is run once. Cells are svmocas / ocas / active / focus. "All" is solving without
  reading: ocas_time of svmocas, seconds.solve of hinge. The stages, which do not add up to it: of svmocas output_time +
  add_time (scores and planes) and sort_time; of hinge objective_seconds and search_seconds.
  A gap is (primal - bound)/primal. hinge stops where it has proved it, svmocas where it believes it, so its primal is
  computed here: its weights are written as a LIBLINEAR model, `hinge predict --scores` scores the rows in double, and
  1/2|w|^2 + C sum hinge is added up. "Primal above bound" is, of all solvers alike, how far the primal lies above the
  best bound that any run of hinge has proved for the set, --solver dual to 1e-6 included, as a share of the primal: it
  must not exceed the gap. Test errors are `hinge evaluate`'s. Runs end at --time-limit: "> 300" did not reach
  the gap, and smaller ones are not tried then ("-"). --trace runs svmocas once a set, to the smallest gap, and takes
  times, iterations and primals from the lines it prints; its stages and test error are then known of the end only
  ("?"). (It solves its small problem more exactly for a smaller gap, so iterations differ a little from those without.)

costs: the paper stops at gap/C <= 1e-5, where its C multiplies the mean of the losses: C m, if C is ours and m the
  rows. (P - D)/(C m) <= 1e-5 is a relative gap of 1e-5 C m/P, with P from a first run of --solver dual to 0.001; the
  column "gap" has it. (P is then within a thousandth of the optimum, and the gap asked for within that of what the
  paper asks, or within itself where it is larger.) As published active has 20 planes, and so has the ocas it is
  measured by; focus and the ocas beside it have 100. Figures are ratios to that ocas: iterations, rows an iteration,
  as the paper draws them, and rows in all. Rows of the objective are those scored at a trial point; of the
  line search, those with a bend in its range. None of them depends on the machine.

threads: ocas and focus with one and two threads, in turn, at the gap --threads-gap.

dual: --solver dual and --solvers to the gap 0.001, all cores, in turn; seconds of solving and passes over the data.

options: on ccat, or the first of --sets if that is not among them, to the gap 0.001 unless said otherwise; the same
  on every machine.
"""
import argparse
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass

from peers import HINGE, timed, unpack

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
REAL = ("covtype", "ccat", "imdb", "news20")
LIKE = ("like-ccat", "like-cov1", "like-real-sim", "like-news20")
OURS = ("ocas", "active", "focus")
PEER = "svmocas"
COSTS = ("0.01", "0.1", "1", "10")
OPTION_VALUES = {"--planes": (2, 5, 10, 20, 50, 100, 200), "--mu": (0.01, 0.05, 0.1, 0.2, 0.3, 1)}
PAPER_GAP = 1e-5  # of costs, divided by C and rows


# Data


class Set:
    """Training and test rows of one name as plain text, which svmocas can read."""

    def __init__(self, name, train, test):
        self.name, self.train, self.test = name, train, test
        info = json.loads(timed([HINGE, "info", "--json", train])[1])
        self.rows, self.features = info["rows"], info["features"]
        self.labels = None
        self.bound = 0.0  # the best that was proved

    def title(self):
        return f"{self.name}, {self.rows:,} x {self.features:,}"

    def primal(self, scores_path, weights):
        """P(w) at C = 1 from the scores of the training rows."""
        if self.labels is None:
            with open(self.train) as rows:
                self.labels = [1 if float(row.split(None, 1)[0]) > 0 else -1 for row in rows]
        with open(scores_path) as scores:
            loss = sum(max(0.0, 1 - y * float(line.split()[1])) for y, line in zip(self.labels, scores))
        return sum(w * w for w in weights) / 2 + loss


def find_set(name, arguments):
    """-> Set, or None and a line that says what is missing."""
    paths = [f"{arguments.work}/{name}-{part}.svm" for part in ("train", "test")]
    if not all(map(os.path.exists, paths)):
        if name in LIKE:
            generate(name, *paths)
        elif not all(unpack(name, part, path, arguments.data) for part, path in zip(("train", "test"), paths)):
            print(f"{name}: no {name}-train.svm[.xz] and {name}-test.svm[.xz] in {arguments.data}; skipped",
                  file=sys.stderr)
            return None
    return Set(name, *paths)


def generate(name, train, test):
    whole = f"{train}.whole"
    subprocess.run([HINGE, "generate", whole, "--like", name.removeprefix("like-"), "-q"], check=True)
    subprocess.run([HINGE, "split", whole, train, test, "--test", "0.1", "-q"], check=True)
    os.remove(whole)


def sets(names, arguments):
    for name in names:
        found = find_set(name, arguments)
        if found:
            yield found


# Runs


@dataclass
class Run:
    seconds: float
    iterations: int
    reached: bool
    objective: float = None  # seconds; None: not known
    search: float = None
    primal: float = None
    error: float = None  # on the test rows


def hinge_train(data, model, solver, gap, limit, threads=1, cost="1", planes=None, more=()):
    """What `hinge train --json` says; gap and planes may be None: what it does where nobody says."""
    command = [HINGE, "train", data.train, model, "--solver", solver, "--cost", cost, "-n", str(threads), "--time-limit",
               str(limit), "--json", "-q", *(["--gap", f"{gap:.6g}"] if gap else []),
               *(["--planes", str(planes)] if planes else []), *more]
    return json.loads(timed(command)[1])


def hinge_run(data, folder, solver, gap, arguments):
    model = f"{folder}/{solver}.model"
    result = hinge_train(data, model, solver, gap, arguments.time_limit)
    data.bound = max(data.bound, result["dual"])
    return Run(result["seconds"]["solve"], result["iterations"], result["status"] == "converged",
               result["objective_seconds"], result["search_seconds"], result["primal"], test_error(data, model))


def test_error(data, model):
    return json.loads(timed([HINGE, "evaluate", data.test, model, "--json", "-q"])[1])["error"]


LINE = re.compile(r"^\s*(\d+): tim=([0-9.]+), Q_P=([0-9.]+), Q_D=(-?[0-9.]+)", re.M)
STAGE = re.compile(r"(\w+_time)\s*:\s*([0-9.]+)")


def svmocas_runs(data, folder, gaps, arguments):
    """One run to the smallest of the gaps -> {gap: Run}; the larger ones by the lines it printed."""
    last = min(gaps)
    _, out = timed([PEER, "-c", "1", "-b", "0", "-p", "1", "-r", f"{last:.6g}", "-t", str(arguments.time_limit),
                    data.train, f"{folder}/svmocas"])
    lines = [tuple(map(float, line)) for line in LINE.findall(out)]
    runs = {}
    for gap in gaps:
        line = next((line for line in lines if line[2] - line[3] <= gap * line[2]), lines[-1])
        runs[gap] = Run(line[1], int(line[0]), line[2] - line[3] <= gap * line[2], primal=line[2])
    stage = {name: float(seconds) for name, seconds in STAGE.findall(out)}
    end = runs[last]
    end.seconds, end.objective = stage["ocas_time"], stage["output_time"] + stage["add_time"]
    end.search = stage["sort_time"]
    said = end.primal
    end.primal, end.error = judge(data, folder)
    if abs(end.primal - said) > 1e-5 * said:
        print(f"{data.name}: svmocas says its primal is {said}; it is {end.primal:.6f}", file=sys.stderr)
    return runs


def judge(data, folder):
    """-> primal and test error of the weights that svmocas wrote"""
    with open(f"{folder}/svmocas") as file:
        weights = [float(line) for line in file][:-1]  # the last is its bias, 0
    model, scores = f"{folder}/peer.liblinear", f"{folder}/scores"
    with open(model, "w") as file:
        file.write(f"solver_type L2R_L1LOSS_SVC_DUAL\nnr_class 2\nlabel 1 -1\nnr_feature {len(weights)}\nbias -1\nw\n")
        file.writelines(f"{w!r}\n" for w in weights)
    subprocess.run([HINGE, "predict", data.train, model, scores, "--scores", "-q"], check=True)
    return data.primal(scores, weights), test_error(data, model)


def fastest(run, before):
    """The better of two runs of the same, the second of which may be None."""
    if before is None or (run.reached, -run.seconds) > (before.reached, -before.seconds):
        return run
    return before


# table


def table(arguments):
    solvers = [*([PEER] if shutil.which(PEER) else []), *arguments.solvers]
    if PEER not in solvers:
        print(f"{PEER} (package libocas-tools) is not installed; left out", file=sys.stderr)
    print(f"C = 1, one thread, {' / '.join(solvers)}\n")
    print("| set | gap | " + " | ".join(f"{gap:g}" for gap in arguments.gaps) + " |")
    print("|---|---|" + "---|" * len(arguments.gaps), flush=True)
    for data in sets(arguments.sets, arguments):
        with tempfile.TemporaryDirectory() as folder:
            results = measure(data, folder, solvers, arguments)
            dual = hinge_train(data, f"{folder}/dual.model", "dual", 1e-6, arguments.time_limit)
            data.bound = max(data.bound, dual["dual"])
        print_table(data, solvers, arguments.gaps, results)


def measure(data, folder, solvers, arguments):
    """-> {(solver, gap): the fastest Run}; nothing for gaps below one that was not reached."""
    best, alive = {}, solvers
    for gap in arguments.gaps:  # the largest first
        for turn in range(arguments.repeat):
            for solver in alive:
                before = best.get((solver, gap))
                if turn and before.seconds > arguments.once_above:
                    continue
                if solver != PEER:
                    best[solver, gap] = fastest(hinge_run(data, folder, solver, gap, arguments), before)
                elif not arguments.trace:
                    best[solver, gap] = fastest(svmocas_runs(data, folder, [gap], arguments)[gap], before)
                elif gap == arguments.gaps[0]:
                    for g, run in svmocas_runs(data, folder, arguments.gaps, arguments).items():
                        best[solver, g] = fastest(run, best.get((solver, g)))
        alive = [solver for solver in alive if best[solver, gap].reached]
    return best


def seconds(x):
    return "?" if x is None else f"{x:.3f}" if x < 1 else f"{x:.2f}" if x < 10 else f"{x:.1f}"


def print_table(data, solvers, gaps, results):
    def cells(show):
        found = [[results.get((solver, gap)) for solver in solvers] for gap in gaps]
        return " | ".join(" / ".join("-" if run is None else show(run, row[0]) for run in row) for row in found)

    def ratio(run, peer):
        if peer is None or not run.reached:
            return "-"
        return f"{'' if peer.reached else '> '}{peer.seconds / run.seconds:.2f}"

    lines = {
        "objective s": lambda run, _: seconds(run.objective),
        "line search s": lambda run, _: seconds(run.search),
        "all s": lambda run, _: seconds(run.seconds) if run.reached else f"> {seconds(run.seconds)}",
        f"{PEER} / this": ratio if PEER in solvers else None,
        "iterations": lambda run, _: str(run.iterations),
        "primal above bound": lambda run, _: f"{(run.primal - data.bound) / run.primal:.1e}",
        "test error %": lambda run, _: "?" if run.error is None else f"{100 * run.error:.2f}",
    }
    first = data.title()
    for name, show in lines.items():
        if show:
            print(f"| {first} | {name} | {cells(show)} |", flush=True)
            first = ""


# costs


def costs(arguments):
    print(f"Stopped at (primal - bound)/(C rows) <= {PAPER_GAP:g}, relative to ocas with as many planes\n")
    print("| set | C | gap | solver | planes | iterations of ocas | iterations | objective rows an iteration | "
          "search rows an iteration | objective rows | search rows |")
    print("|" + "---|" * 11, flush=True)
    for data in sets(arguments.sets, arguments):
        for cost in arguments.costs:
            print_costs(data, cost, arguments)


def print_costs(data, cost, arguments):
    with tempfile.TemporaryDirectory() as folder:
        def run(solver, gap, planes=None):
            return hinge_train(data, f"{folder}/model", solver, gap, arguments.time_limit, 0, cost, planes)

        scale = float(cost) * data.rows
        gap = PAPER_GAP * scale / run("dual", 1e-3)["primal"]
        for solver, planes in (("active", 20), ("focus", 100)):
            if solver not in arguments.solvers:
                continue
            ocas, ours = (run(name, gap, planes) for name in ("ocas", solver))
            print(f"| {data.name} | {cost} | {gap:.2g} | {solver} | {planes} | {ocas['iterations']} | "
                  f"{relative(ours, ocas)} |", flush=True)


def relative(run, other):
    for one in (run, other):
        if one["status"] != "converged":
            return " | ".join([f"{one['solver']} ended at {one['relative_gap']:.1e}", *["-"] * 4])
    iterations = run["iterations"] / other["iterations"]
    objective, search = (run[key] / max(1, other[key]) for key in ("objective_rows", "search_rows"))
    return " | ".join(f"{x:.3f}" for x in (iterations, objective / iterations, search / iterations, objective, search))


# threads


def threads(arguments):
    print(f"Gap {arguments.threads_gap:g}, C = 1, seconds of solving\n")
    print("| set | solver | 1 thread | 2 threads | ratio |\n|---|---|---|---|---|", flush=True)
    for data in sets([arguments.largest], arguments):
        best, gap, limit = {}, arguments.threads_gap, arguments.time_limit
        with tempfile.TemporaryDirectory() as folder:
            for _ in range(arguments.repeat):
                for solver, count in itertools.product(("ocas", "focus"), (1, 2)):
                    result = hinge_train(data, f"{folder}/model", solver, gap, limit, count)
                    run = Run(result["seconds"]["solve"], result["iterations"], result["status"] == "converged")
                    best[solver, count] = fastest(run, best.get((solver, count)))
        for solver in ("ocas", "focus"):
            one, two = best[solver, 1], best[solver, 2]
            note = "" if one.reached and two.reached else ", gap not reached"
            print(f"| {data.name} | {solver} | {seconds(one.seconds)} | {seconds(two.seconds)} | "
                  f"{one.seconds / two.seconds:.2f}{note} |", flush=True)


# dual


def dual(arguments):
    names = ["dual", *arguments.solvers]
    print("Gap 0.001, C = 1, all cores\n")
    print("| | " + " | ".join(names) + " |\n|---|" + "---|" * len(names), flush=True)
    for data in sets(arguments.sets, arguments):
        best = {}
        with tempfile.TemporaryDirectory() as folder:
            for turn in range(arguments.repeat):
                for name in names:
                    if turn and best[name]["seconds"]["solve"] > arguments.once_above:
                        continue
                    result = hinge_train(data, f"{folder}/model", name, 1e-3, arguments.time_limit, 0)
                    best[name] = min(best.get(name, result), result, key=lambda r: r["seconds"]["solve"])
        runs = [best[name] for name in names]
        over = ["" if run["status"] == "converged" else "> " for run in runs]
        print(f"| {data.title()}: seconds | "
              + " | ".join(mark + seconds(run["seconds"]["solve"]) for mark, run in zip(over, runs)) + " |")
        print("| passes | " + " | ".join(f"{mark}{run['data_passes']:.0f}" for mark, run in zip(over, runs)) + " |",
              flush=True)


# options


def options(arguments):
    for data in sets(["ccat" if "ccat" in arguments.sets else arguments.sets[0]], arguments):
        with tempfile.TemporaryDirectory() as folder:
            def iterations(solver, *more, gap=1e-3, cost="1", model="model"):
                result = hinge_train(data, f"{folder}/{model}", solver, gap, arguments.time_limit, 0, cost, None, more)
                return ("" if result["status"] == "converged" else "> ") + f"{result['iterations']:,}"

            print(f"Iterations on {data.title()}, C = 1\n")
            for option, values in OPTION_VALUES.items():
                print(f"| {option} | " + " | ".join(map(str, values)) + " |\n|---|" + "---|" * len(values))
                for solver in arguments.solvers:
                    print(f"| {solver} | " + " | ".join(iterations(solver, option, str(x)) for x in values) + " |",
                          flush=True)
                print()
            print("| focus | from 0 | --start |\n|---|---|---|")
            iterations("focus", cost="0.5", model="half")
            print(f"| C = 1, from C = 0.5 | {iterations('focus', model='one')} | "
                  f"{iterations('focus', '--start', f'{folder}/half')} |")
            print(f"| gap 1e-4, from 1e-3 | {iterations('focus', gap=1e-4)} | "
                  f"{iterations('focus', '--start', f'{folder}/one', gap=1e-4)} |")
            iterations("dual", model="dual")
            print(f"| gap 1e-4, from 1e-3 of dual | | {iterations('focus', '--start', f'{folder}/dual', gap=1e-4)} |",
                  flush=True)


def words(text):
    return text.split(",")


def numbers(text):
    return sorted(map(float, text.split(",")), reverse=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["table", "costs", "threads", "dual", "options", "all"])
    parser.add_argument("--sets", type=words, default=[*REAL, *LIKE], help=f"default {','.join((*REAL, *LIKE))}")
    parser.add_argument("--gaps", type=numbers, default=[1e-2, 1e-3, 1e-4, 1e-5], help="default 1e-2,1e-3,1e-4,1e-5")
    parser.add_argument("--solvers", type=words, default=list(OURS), help="of hinge, default ocas,active,focus")
    parser.add_argument("--costs", type=words, default=list(COSTS), help="of costs, default 0.01,0.1,1,10")
    parser.add_argument("--largest", default="like-ccat", help="set of threads, default like-ccat")
    parser.add_argument("--threads-gap", type=float, default=1e-4, help="default 1e-4")
    parser.add_argument("--data", default=f"{ROOT}/../shared/data", help="where NAME-train.svm[.xz] are")
    parser.add_argument("--work", help="folder for unpacked and generated sets; by default a temporary one")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--once-above", type=float, default=30, help="slower runs are not repeated, default 30 seconds")
    parser.add_argument("--time-limit", type=float, default=300, help="seconds of a run, default 300")
    parser.add_argument("--trace", action="store_true", help="one run of svmocas a set, see above")
    arguments = parser.parse_args()
    parts = {"table": table, "costs": costs, "threads": threads, "dual": dual, "options": options}
    with tempfile.TemporaryDirectory() as folder:
        arguments.work = arguments.work or folder
        os.makedirs(arguments.work, exist_ok=True)
        for name in parts if arguments.what == "all" else [arguments.what]:
            parts[name](arguments)
            print()


if __name__ == "__main__":
    main()
