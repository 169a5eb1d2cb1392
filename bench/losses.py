#!/usr/bin/env python3
"""hinge beside its peers with the other losses: the squared hinge, logistic, and those of regression.

    python3 bench/losses.py run [--quick] [--losses LS] [--only SETS] [--costs CS] [--again]
    python3 bench/losses.py report            the tables again, from the results
    python3 bench/losses.py self-test         a tiny run of hinge alone, and its report

Solving alone, on one thread and on two; and from a text file to a model file. What is measured is added to --results (a JSON file a loss) solver by solver; a run that was cut
goes on where it was, and --again measures what is there already anew. The tables are a part of docs/benchmarks.md, between
two marks, which `make bench` leaves as it is. HINGE names the program (default build/hinge).

How a cell comes about: hinge works out a reference, far tighter than any gap asked for. Then every peer goes through its
tolerances from the loosest to the tightest, each judged by its primal as computed here and the best bound known, until the
tightest gap is reached or a run takes longer than --cap seconds. Each peer counts at the loosest tolerance that
reaches the gap, hinge with whatever solver `auto` takes at the gap asked for; what takes less than 2 seconds is run --repeat
times, and the best counts. Beside hinge on two threads stand the same peers, which have one, and snapml, which has two. From text hinge
stands beside LIBLINEAR's `train`, by its -e of the solving. Sets of regression have the rows of others, and for a target the score of a hyperplane drawn at
random, scaled to a deviation of 1, and noise of deviation 0.1.
"""
import argparse
import datetime
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    print("the Python module numpy is missing")
    sys.exit(77)  # skipped, to ctest

import matrix_report
from matrix_peers import EPSILONS, Hinge, Liblinear, Missed, Point, Sklearn, Workshop
from matrix_results import Results
from matrix_sets import REGRESSION, Set, liblinear_weights, prepare
from peers import HINGE

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
EPSILON = "0.1"
TOLERANCES = ("1", "0.3", "0.1", "0.03", "0.01", "3e-3", "1e-3", "3e-4", "1e-4", "1e-5", "1e-6", "1e-7", "1e-8", "1e-10")
# LIBLINEAR's -s, and scikit-learn's solvers by the words of sklearn_solve.py.
PEERS = {
    "squared_hinge": (("1", "2"), {"LinearSVC": "squared_hinge"}),
    "logistic": (("0", "7"), {"lbfgs": "lbfgs", "newton-cholesky": "newton-cholesky", "saga": "saga", "snapml": "snapml"}),
    "epsilon_insensitive": (("13",), {"LinearSVR": f"svr={EPSILON}"}),
    "squared_epsilon": (("11", "12"), {"LinearSVR": f"svr2={EPSILON}"}),
}
CLASSES = ("a9a", "w8a", "covtype", "ccat", "imdb", "news20", "like-real-sim", "dense-200", "dense-768")
QUICK_CLASSES = ("a9a", "ccat", "cov1-small", "dense-small")
TARGETS = ("a9a-targets", "ccat-targets", "like-real-sim-targets", "dense-200-targets")
QUICK_TARGETS = ("a9a-targets", "dense-small-targets")
ONE, TWO = "hinge", "hinge, two threads"
TEXT, TEXT_TWO = "hinge from text", "hinge from text, two threads"
ON_TWO = {"snapml, two threads": "snapml2"}  # peers that are measured on two threads as well
MOST_COLUMNS = 10_000  # of newton-cholesky, whose matrix has columns x columns


class LiblinearLoss(Liblinear):
    """Of another loss: -s S, and -p EPSILON of regression."""

    def __init__(self, shop, sources, number):
        super().__init__(shop, sources)
        self.name, self.number = f"LIBLINEAR -s {number}", number

    def command(self, data):
        return [self.program(), data and data.text, self.number, EPSILON]


class LiblinearText(LiblinearLoss):
    """Its `train`, from text to model, at those -e that were the first to reach a gap when solving alone."""

    def __init__(self, shop, sources, number, results):
        super().__init__(shop, sources, number)
        self.alone, self.name, self.results = self.name, f"LIBLINEAR's train -s {number}", results

    def why_not(self):
        return None if shutil.which("liblinear-train") else "liblinear-train (package liblinear-tools) is not installed"

    def solve(self, data, cost, knob, limit):
        first = {next((other for other in EPSILONS if other in run["points"] and
                       self.results.reached(data.name, cost, self.alone, other, gap)), None)
                 for gap in self.results.gaps() if (run := self.results.solver(data.name, cost, self.alone))}
        if knob not in first:
            return []
        path = self.shop.path("liblinear.model")
        seconds, _, _ = self.shop.measure(["liblinear-train", "-s", self.number, "-p", EPSILON, "-c", cost, "-e", knob, "-q",
                                           data.text, path], limit)
        return [Point(knob, seconds, data.data.primal(liblinear_weights(path), float(cost)))]


class SklearnLoss(Sklearn):
    def __init__(self, shop, name, word):
        super().__init__(shop, name, "tol", TOLERANCES)
        self.kind = word

    def why_not(self):
        module = "snapml" if self.kind.startswith("snapml") else "sklearn"
        missing = subprocess.run([sys.executable, "-c", f"import {module}"], capture_output=True).returncode
        return f"the Python module {module} is not installed" if missing else None

    def request(self, knob):
        return f"{self.kind}:{knob}" if "=" in self.kind else f"{self.kind}={knob}"

    def solve(self, data, cost, knob, limit):
        if self.kind == "newton-cholesky" and data.about["features"] > MOST_COLUMNS:
            raise Missed(f"more than {MOST_COLUMNS} columns")
        return super().solve(data, cost, knob, limit)


class HingeLoss(Hinge):
    def __init__(self, shop, gaps, loss, name=ONE):
        super().__init__(shop, gaps)
        self.loss, self.name, self.from_text = loss, name, name in (TEXT, TEXT_TWO)
        self.threads = "2" if name in (TWO, TEXT_TWO) else "1"

    def command(self, path, cost, knob):
        words = ["--loss", self.loss, "--no-witness"]
        if self.loss in REGRESSION:
            words += ["--epsilon", EPSILON]
        return [HINGE, "train", path, self.shop.path("hinge.model"), "-c", cost, "--gap", knob, "-n", self.threads, "--json", "-q",
                *words]

    def solve(self, data, cost, knob, limit):
        if not self.from_text:
            return super().solve(data, cost, knob, limit)
        real = ["--real-labels"] if self.loss in REGRESSION else []
        seconds, _, out = self.shop.measure([*self.command(data.text, cost, knob), *real, "--time-limit", str(limit)],
                                            3 * limit + 60)
        return [Point(knob, seconds, *self.values(json.loads(out)))]

    def takes_it(self, data):
        """None, or why hinge does not take the loss."""
        done = subprocess.run([*self.command(data.binary, "1e-6", "0.5"), "--max-passes", "2"], capture_output=True, text=True)
        return None if done.returncode == 0 else done.stderr.strip().split("\n")[0]


def targets_of(name, arguments):
    """The set with targets in the place of labels, made if it is not there yet; None where the rows are not there."""
    rows = prepare(name.removesuffix("-targets"), arguments.shared, arguments.work)
    if rows is None:
        return None
    text, binary = f"{arguments.work}/{name}.svm", f"{arguments.work}/{name}.hinge"
    if not os.path.exists(text):
        draw = np.random.default_rng(1)
        scores = rows.data.scores(draw.standard_normal(rows.data.features))
        targets = (scores - scores.mean()) / scores.std() + 0.1 * draw.standard_normal(len(scores))
        with open(rows.text) as lines, open(f"{text}.part", "w") as out:
            for line, target in zip(lines, targets):
                out.write(f"{target:.4g} {line.partition(' ')[2]}" if " " in line else f"{target:.4g}\n")
        os.rename(f"{text}.part", text)
    if not os.path.exists(binary):
        done = subprocess.run([HINGE, "convert", text, binary, "-q", "--real-labels"], capture_output=True, text=True)
        if done.returncode:
            print(f"{name}: {done.stderr.strip()}; left out", flush=True)
            return None
    return Set(name, text, binary, {**rows.about, "classes": 0})


class Losses:
    def __init__(self, arguments, shop, loss):
        self.arguments, self.shop, self.loss = arguments, shop, loss
        self.results = Results(f"{arguments.results}/losses-{loss}.json")
        self.gaps = sorted(arguments.gaps, reverse=True)
        self.hinge = HingeLoss(shop, self.gaps, loss)
        numbers, others = PEERS[loss]
        doubles = {name: word for name, word in ON_TWO.items() if word.removesuffix("2") in others.values()}
        solvers = [*(LiblinearLoss(shop, arguments.sources, number) for number in numbers),
                   *(SklearnLoss(shop, name, word) for name, word in {**others, **doubles}.items()),
                   *(LiblinearText(shop, arguments.sources, number, self.results) for number in numbers)]
        self.others = [HingeLoss(shop, self.gaps, loss, name) for name in (TWO, TEXT, TEXT_TWO)]
        self.peers = []
        for solver in solvers if arguments.peers else ():
            missing = solver.why_not()
            if missing:
                print(f"{solver.name} is left out: {missing}", flush=True)
            else:
                self.peers.append(solver)
        about = self.results.all["about"]
        with open("/proc/cpuinfo") as info:
            cpu = next((line.split(":")[1].strip() for line in info if line.startswith("model name")), "")
        about.update({"date": datetime.date.today().isoformat(), "cpu": cpu, "gaps": self.gaps, "cap": arguments.cap,
                      "hinge": self.hinge.about()})

    def run(self):
        regression = self.loss in REGRESSION
        quick = self.arguments.quick
        names = (QUICK_TARGETS if quick else TARGETS) if regression else (QUICK_CLASSES if quick else CLASSES)
        for name in self.arguments.only or names:
            if name.endswith("-targets") != regression:
                continue
            data = (targets_of(name, self.arguments) if regression
                    else prepare(name, self.arguments.shared, self.arguments.work))
            if data is None or (not regression and len(data.data.signs) > 1):
                continue
            data.data.loss, data.data.epsilon = self.loss, float(EPSILON)
            refused = self.hinge.takes_it(data)
            if refused:
                print(f"{self.loss} on {name} is left out: {refused}", flush=True)
                continue
            self.results.all["sets"][name] = data.about
            for cost in self.arguments.costs:
                self.cell(data, cost)
            for solver in self.peers:
                solver.close()

    def cell(self, data, cost):
        results = self.results
        open_ones = [solver for solver in (self.hinge, *self.others, *self.peers)
                     if self.arguments.again or not (results.solver(data.name, cost, solver.name) or {}).get("ended")]
        if not open_ones:
            return
        point = self.hinge.solve(data, cost, f"{min(self.gaps) / 20:g}", 2 * self.arguments.cap)[0]
        results.learn(data.name, cost, point.primal, point.more["dual"])
        judged = data.data.primal(self.hinge.weights(), float(cost))
        wrong = max(abs(a - b) / a for a, b in zip(judged, point.primal))
        if wrong > 1e-9:
            sys.exit(f"{data.name}, C = {cost}: hinge certifies {point.primal}, the evaluator here says {judged}")
        for solver in open_ones:
            results.forget(data.name, cost, solver.name)
            self.sweep(data, cost, solver)
            results.save()
        print("\n".join(cell_lines(results, self.loss, data.name, cost)), flush=True)

    def sweep(self, data, cost, solver):
        results, ended = self.results, "tightest tolerance"
        open_gaps = list(self.gaps)
        for knob in solver.knobs:
            try:
                points = solver.solve(data, cost, knob, self.arguments.cap)
                if not points:
                    continue  # not asked of it
                point = points[0]
                results.add(data.name, cost, solver.name, point)
                within = [gap for gap in open_gaps if results.reached(data.name, cost, solver.name, knob, gap)]
                for _ in range(self.arguments.repeat - 1 if within and point.seconds < 2 else 0):
                    results.add(data.name, cost, solver.name, solver.solve(data, cost, knob, self.arguments.cap)[0])
            except Missed as why:
                ended = str(why)
                break
            open_gaps = [gap for gap in open_gaps if gap not in within]
            if solver not in (self.hinge, *self.others) and not open_gaps:
                ended = "tightest gap reached"
                break
        results.solver(data.name, cost, solver.name)["ended"] = ended


# ---- The report.

def peers_of(results, name, cost, ours):
    """Those beside whom hinge stands under that name."""
    def fit(solver):
        text = solver.startswith("LIBLINEAR's train")
        return not solver.startswith("hinge") and text == (ours in (TEXT, TEXT_TWO)) and (ours == TWO or solver not in ON_TWO)
    return [solver for solver in results.all["solve"][name][cost] if fit(solver)]


def cells(results, name_of_ours=ONE):
    """(set, cost, gap, hinge's seconds or None, the best peer's or None, who that is)"""
    for name in results.all["solve"]:
        for cost in results.costs(name):
            if not results.solver(name, cost, name_of_ours):
                continue
            for gap in results.gaps():
                ours = results.fastest(name, cost, name_of_ours, gap)
                theirs = [(found[0], solver) for solver in peers_of(results, name, cost, name_of_ours)
                          if (found := results.fastest(name, cost, solver, gap))]
                best = min(theirs, default=(None, None))
                yield name, cost, gap, ours and ours[0], *best


def number(seconds):
    return "-" if seconds is None else f"{seconds:.2g}" if seconds < 10 else f"{seconds:.0f}"


def cell_text(ours, best, who):
    if ours is None:
        return "missed" if best is None else f"**missed** ({number(best)} {who})"
    if best is None:
        return f"{number(ours)}, no peer"
    ratio = f"{best / ours:.1f}"
    return f"{'**' if best < ours else ''}{ratio}{'**' if best < ours else ''} ({number(ours)}; {who} {number(best)})"


def cell_lines(results, loss, name, cost):
    return [f"{loss:14} {name:22} C = {cost:5} gap {gap:<7g} {cell_text(ours, best, who)}"
            for set_name, at, gap, ours, best, who in cells(results) if (set_name, at) == (name, cost)]


def mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else float("nan")


def means(found):
    ratios = [(float(cost), best / ours) for _, cost, _, ours, best, _ in found if ours and best]
    small = [ratio for cost, ratio in ratios if cost <= 1]
    return (f"Geometric mean of {len(ratios)} cells {mean([r for _, r in ratios]):.2f}, of the {len(small)} with C <= 1 "
            f"{mean(small):.2f}, of which {sum(ratio < 1 for ratio in small)} are below 1.")


def table(results, found):
    rows = {}
    for name, cost, gap, *cell in found:
        rows.setdefault((name, f"{float(cost):g}"), {})[gap] = cell_text(*cell)
    return matrix_report.table(("set", "C", *(f"{gap:g}" for gap in results.gaps())),
                               [(*key, *(row.get(gap, "") for gap in results.gaps())) for key, row in rows.items()])


def section(all_results):
    lines = ["## Other losses", "",
             "Written by bench/losses.py. How many times as long as hinge, with the solver that `auto` takes, the best peer takes to "
             "solve to a gap, on one thread unless a table says something else; in brackets seconds of hinge and of that peer. A ratio below 1 is bold."]
    for loss, results in all_results.items():
        found = list(cells(results))
        if not found:
            continue
        about = results.all["about"]
        solvers = sorted({solver for name in results.all["solve"] for cost in results.costs(name)
                          for solver in peers_of(results, name, cost, ONE)})
        lines += ["", f"### {loss}", "",
                  f"Beside {', '.join(solvers) or 'nobody'}; {about['date']}, {about['cpu']}, {about['hinge']}; {about['cap']:g} s at most for "
                  f"one run. {means(found)}", "", *table(results, found)]
        for ours, words in ((TWO, "hinge has two threads; peers have one, and snapml, where it is there, one or two."),
                            (TEXT, "From a text file to a model file, beside LIBLINEAR's `train`; one thread."),
                            (TEXT_TWO, "The same, hinge with two threads.")):
            found = list(cells(results, ours))
            if found:
                lines += ["", f"{words} {means(found)}", "", *table(results, found)]
    return "\n".join(lines).rstrip() + "\n"


def results_in(folder):
    return {loss: Results(path) for loss in PEERS if os.path.exists(path := f"{folder}/losses-{loss}.json")}


def write(arguments):
    path = f"{arguments.docs}/benchmarks.md"
    page = ""
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            page = file.read()
    matrix_report.put(path, matrix_report.with_losses(page, section(results_in(arguments.results))))
    print("written:", path)


def run(arguments):
    shop = Workshop(arguments.work)
    for loss in arguments.losses:
        Losses(arguments, shop, loss).run()
    if arguments.docs:
        write(arguments)
    else:
        print(section(results_in(arguments.results)))


def report(arguments):
    arguments.docs = arguments.docs or f"{ROOT}/docs"
    write(arguments)


def self_test(_):
    """hinge alone on a tiny set: it keeps its gaps, the evaluator agrees, a second run has nothing to do."""
    with tempfile.TemporaryDirectory() as folder:
        alone = ["--costs", "1", "--gaps", "0.01,0.001", "--no-peers", "--work", folder, "--results", folder, "--docs", folder]
        words = ["run", "--only", "tiny", "--losses", "squared_hinge,logistic", *alone]
        main(words)
        main(["run", "--only", "tiny-targets", "--losses", "epsilon_insensitive,squared_epsilon", *alone])
        results = results_in(folder)
        for loss in PEERS:
            for name in (ONE, TWO, TEXT, TEXT_TWO):
                found = list(cells(results[loss], name))
                assert len(found) == 2 and all(ours is not None for _, _, _, ours, _, _ in found), (name, found)
        before = json.dumps(results["squared_hinge"].all["solve"])
        main(words)
        assert json.dumps(results_in(folder)["squared_hinge"].all["solve"]) == before
        with open(f"{folder}/benchmarks.md") as page:
            text = page.read()
        assert text.count("## Other losses") == 1 and "no peer" in text, text
        lost = results["squared_hinge"]
        lost.all["solve"]["tiny"]["1"]["someone"] = {"ended": "", "points": {
            "1": {"seconds": [1e-9], "primal": lost.all["references"]["tiny"]["1"]["primal"]}}}
        assert "**0.0**" in section({"squared_hinge": lost})
    print("self-test passed")


def parser():
    def words(text):
        return tuple(text.replace(",", " ").split())

    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("command", choices=("run", "report", "self-test"))
    made.add_argument("--quick", action="store_true", help="a few sets, C = 0.01 and 1, gaps to 1e-4")
    made.add_argument("--losses", type=words, default=tuple(PEERS))
    made.add_argument("--only", type=words, default=(), help="sets; those of regression end in -targets")
    made.add_argument("--costs", type=words)
    made.add_argument("--gaps", type=lambda text: tuple(map(float, words(text))))
    made.add_argument("--cap", type=float, help="seconds that one run may take")
    made.add_argument("--repeat", type=int, default=3)
    made.add_argument("--again", action="store_true")
    made.add_argument("--no-peers", dest="peers", action="store_false")
    made.add_argument("--shared", default=f"{ROOT}/../shared/data", help="folder of the real sets")
    made.add_argument("--work", default=f"{ROOT}/build/bench/data", help="folder of unpacked and generated sets, and programs")
    made.add_argument("--sources", default=f"{ROOT}/build/bench/sources", help="folder of LIBLINEAR's sources")
    made.add_argument("--results", default=f"{ROOT}/build/bench", help="folder of the results")
    made.add_argument("--docs", help="folder of benchmarks.md; `run` prints the tables where it is not given")
    return made


def main(words=None):
    arguments = parser().parse_args(words)
    quick = arguments.quick
    arguments.costs = arguments.costs or (("0.01", "1") if quick else ("0.01", "1", "100"))
    arguments.gaps = arguments.gaps or ((1e-2, 1e-3, 1e-4) if quick else (1e-2, 1e-3, 1e-4, 1e-5, 1e-6))
    arguments.cap = arguments.cap or (5 if quick else 20)
    {"run": run, "report": report, "self-test": self_test}[arguments.command](arguments)


if __name__ == "__main__":
    main()
