#!/usr/bin/env python3
"""hinge train --solver pegasos beside its peers, and how its steps grow with rows and columns.

    python3 bench/pegasos.py epochs FILE...   time per epoch and primal, beside scikit-learn's SGDClassifier
    python3 bench/pegasos.py peers FILE       time to the same primal: scikit-learn, dlib, Vowpal Wabbit
    python3 bench/pegasos.py scale            steps to an accuracy and time per step at 10k, 100k, 1M rows
    python3 bench/pegasos.py columns          time and instructions per step at 1e4 ... 1e7 columns

HINGE names the program (default build/hinge). Everything runs on one thread, but for the reader of vw, and
in turn: all programs once, then all of them again, --repeat times. In epochs and peers each time has another
seed. Times are the best of these, primals the median. Primal is 1/2|w|^2 + C sum hinge at C = 1 without bias,
computed here in double from a peer's weights; hinge's is its own. Ratios are peer / hinge: above 1, hinge is
faster.

epochs: hinge's time is "solve", which includes its exact look at primal and bound at the end (two passes
  over the data); "certify", the proof that it writes into the model, comes after it and stands in a column
  of its own. scikit-learn's is fit() on rows that are in memory as float64, and checks its input.
  "better" says whose median primal is lower, and by how much. The line below each set has the time
  of one more epoch: the fixed costs cancel.

peers: every peer at 1, 2, 5, ... epochs; beside it the fastest number of epochs with which hinge's primal is
  at least as low. "s" is time without reading where that can be separated, "with load" from text to model.
    scikit-learn  s: fit(); with load: load_svmlight_file() as well.
    dlib          svm_pegasos, see dlib_pegasos.cc. One run; "dense" and "sparse" are the same algorithm, so
                  sparse, the slower, runs one epoch only. Its reader is ours: no time with load. dlib appends
                  a constant feature 0.1 to every row and cannot leave it out: its weights are judged without it
                  in the first table, beside the others, and with it in the second, beside hinge --bias 0.1,
                  which is the same problem.
    vw            s: from its binary cache, which it reads in every pass, in a second thread; with load: from
                  text, and writes the cache. It cannot shuffle: the rows lie in one random order. --l2 is
                  1/rows. It applies that only at rows that change w, so the same number means less than
                  elsewhere; "tuned" makes up for it, with steps tried out on ccat.
  For hinge s is "solve", and with load its total: read, solve, certify, save.

scale: one distribution, lambda = 1e-4, f = lambda * primal. "steps" is the first of a grid (factor 1.1), found
  by bisection, at which the median over seeds of f - f* is at most 0.01; f* is the bound of a run of the
  dual solver to a gap of 1e-5 on the same rows. "ns/step" is the difference of two runs with different
  --steps, so that fixed costs cancel. Rows drawn at random from more memory than a cache holds take longer
  to arrive; the number of steps has nothing to do with that. Takes minutes, and up to 2 GB of temporary files.

columns: rows of 100 nonzeros spread evenly over d columns; lambda = 1 keeps every row inside the margin,
  so that every step is a full one (a product and an addition). "ns/step" as above. w has 8 d bytes: it leaves
  the caches as d grows, so this is the time of the memory. "instructions" counts what a step does, by
  valgrind (without AVX-512, which it does not know), as the difference of three and two epochs; it can be
  repeated, whatever else the machine does. |w|^2 for the projection is measured anew once in 4 d nonzeros,
  which does not fall into that epoch where d is large. Of d > 2^22 columns hinge leaves out those that do not
  occur if three in four do not: "occur" says how many do.
"""
import argparse
import bisect
import json
import math
import os
import re
import shutil
import statistics
import subprocess
import tempfile
import time
from dataclasses import dataclass

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[variable] = "1"  # before numpy reads it

import numpy as np

from peers import HINGE, best_of, timed

DLIB_CONSTANT = 0.1  # the feature dlib appends to every row, see dlib_pegasos.cc
HINGE_EPOCHS = (1, 2, 3, 4, 5, 7, 10, 14, 20, 28, 40, 56, 80)
DLIB_SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "dlib_pegasos.cc")


@dataclass
class Run:
    seconds: float
    primal: float
    with_load: float = math.nan
    certify: float = math.nan


def hinge(path, folder, *options, solver="pegasos"):
    """One run of hinge train on one thread -> what --json tells."""
    _, out = timed([HINGE, "train", path, f"{folder}/model", "--solver", solver, "-n", "1", "--json", "-q",
                    *map(str, options)])
    return json.loads(out)


def hinge_run(path, folder, epochs, seed, *options):
    result = hinge(path, folder, "--epochs", epochs, "--seed", seed, *options)
    seconds = result["seconds"]
    return Run(seconds["solve"], result["primal"], seconds["total"], seconds["certify"])


class Rows:
    """The rows of a file as scikit-learn reads them, float64."""

    def __init__(self, path):
        from sklearn.datasets import load_svmlight_file
        start = time.perf_counter()
        self.x, labels = load_svmlight_file(path, zero_based=False)
        self.load = time.perf_counter() - start
        self.x.indices, self.x.indptr = self.x.indices.astype(np.int32), self.x.indptr.astype(np.int32)  # SGD wants it
        self.y = np.where(labels == labels.max(), 1.0, -1.0)
        self.count, self.columns = self.x.shape

    def primal(self, w, bias=0.0):
        return float(w @ w / 2 + np.maximum(0, 1 - self.y * (self.x @ w + bias)).sum())


def sklearn_run(rows, epochs, seed):
    from sklearn.linear_model import SGDClassifier
    model = SGDClassifier(loss="hinge", fit_intercept=False, alpha=1 / rows.count, max_iter=epochs, tol=None,
                          shuffle=True, random_state=seed)
    start = time.perf_counter()
    model.fit(rows.x, rows.y)
    seconds = time.perf_counter() - start
    return Run(seconds, rows.primal(model.coef_[0]), rows.load + seconds)


def in_turn(runs, repeat):
    """{name: function of a seed} -> {name: [Run]}, all of them in turn, once for each seed."""
    results = {name: [] for name in runs}
    for seed in range(1, repeat + 1):
        for name, run in runs.items():
            results[name].append(run(seed))
    return results


def fastest(runs):
    return min(run.seconds for run in runs)


def median_primal(runs):
    return statistics.median(run.primal for run in runs)


def set_name(path):
    return os.path.basename(path).split("-")[0]


# epochs


def epochs(arguments):
    print(f"{'set':8} {'epochs':>6} {'hinge ms/epoch':>14} {'(certify ms)':>12} {'sklearn ms/epoch':>16} {'ratio':>6}  "
          f"{'hinge P median (min)':>23}  {'sklearn P median (min)':>23}  better")
    for path in arguments.file:
        rows = Rows(path)
        with tempfile.TemporaryDirectory() as folder:
            runs = {}
            for count in arguments.epochs:
                runs["hinge", count] = lambda seed, count=count: hinge_run(path, folder, count, seed)
                runs["sklearn", count] = lambda seed, count=count: sklearn_run(rows, count, seed)
            results = in_turn(runs, arguments.repeat)
        for count in arguments.epochs:
            print_epochs(set_name(path), count, results["hinge", count], results["sklearn", count])
        print_one_more(results, min(arguments.epochs), max(arguments.epochs))


def print_epochs(name, count, ours, theirs):
    ms = [1e3 * fastest(runs) / count for runs in (ours, theirs)]
    primals = [f"{median_primal(runs):.2f} ({min(run.primal for run in runs):.2f})" for runs in (ours, theirs)]
    mine, other = median_primal(ours), median_primal(theirs)
    better = f"{'hinge' if mine < other else 'sklearn'} by {100 * abs(other - mine) / min(mine, other):.2f}%"
    print(f"{name:8} {count:6} {ms[0]:14.2f} {1e3 * min(run.certify for run in ours):12.2f} {ms[1]:16.2f} "
          f"{ms[1] / ms[0]:6.2f}  {primals[0]:>23}  {primals[1]:>23}  {better}", flush=True)


def print_one_more(results, few, many):
    if few == many:
        return
    ms = {name: 1e3 * (fastest(results[name, many]) - fastest(results[name, few])) / (many - few)
          for name in ("hinge", "sklearn")}
    print(f"{'':8} one more epoch: hinge {ms['hinge']:.2f} ms, sklearn {ms['sklearn']:.2f} ms, "
          f"ratio {ms['sklearn'] / ms['hinge']:.2f}", flush=True)


# peers


def dlib_program(folder):
    """The program made from dlib_pegasos.cc, or None where there is no dlib."""
    program = f"{folder}/dlib_pegasos"
    made = subprocess.run(["g++", "-std=c++20", "-Ofast", "-march=native", "-DNDEBUG", DLIB_SOURCE, "-o", program,
                           "-ldlib", "-lblas"], capture_output=True, text=True)
    if made.returncode == 0:
        return program
    print(f"dlib_pegasos.cc cannot be compiled ({made.stderr.splitlines()[0]}); skipped")
    return None


def dlib_runs(program, form, path, rows, folder, counts):
    """One training, looked at after each of `counts` epochs -> {epochs: Run}, judged without and with its bias."""
    _, out = timed([program, form, path, "1", folder, *map(str, counts)])
    without, with_bias = {}, {}
    for line in out.splitlines():
        count, seconds = int(line.split()[0]), float(line.split()[1])
        w, bias = dlib_weights(f"{folder}/{count}", rows.columns)
        without[count] = Run(seconds, rows.primal(w))
        with_bias[count] = Run(seconds, rows.primal(w, bias) + (bias / DLIB_CONSTANT) ** 2 / 2)
    return without, with_bias


def dlib_weights(path, columns):
    with open(path) as file:
        bias = float(file.readline())
        numbers = np.loadtxt(file, ndmin=2)
    w = np.zeros(columns)
    w[numbers[:, 0].astype(int) - 1] = numbers[:, 1]
    return w, bias


class Vowpal:
    """Vowpal Wabbit on the rows of a file, in one random order, as its text and as its cache."""

    # name: (options, --l2 times rows). Tuned: a step of about 1/(lambda t), slower at first; about one row in six
    # changes w.
    FORMS = {"vw": ("", 1), "vw --sgd": ("--sgd", 1),
             "vw --sgd tuned": ("--sgd --power_t 1 --initial_t {tenth} -l 3", 6)}

    def __init__(self, path, rows, folder):
        import vowpalwabbit
        self.workspace = vowpalwabbit.Workspace
        self.rows, self.text, self.cache = rows, f"{folder}/rows.vw", f"{folder}/rows.cache"
        with open(path) as file:
            lines = [line.replace(" ", " | ", 1) for line in file]
        with open(self.text, "w") as file:
            file.writelines(lines[i] for i in np.random.default_rng(1).permutation(len(lines)))

    def train(self, form, count, from_text):
        options, l2 = self.FORMS[form]
        options = options.format(tenth=self.rows.count // 10)
        # --predict_only_model: only so is the shrinking of w by --l2, kept apart, brought into the weights.
        command = (f"--loss_function hinge --noconstant --predict_only_model --holdout_off --l2 {l2 / self.rows.count} "
                   f"-b {self.rows.columns.bit_length()} --passes {count} -d {self.text} --cache_file {self.cache} "
                   f"{'-k' if from_text else ''} {options}")
        start = time.perf_counter()
        trained = self.workspace(command, quiet=True)
        return time.perf_counter() - start, trained

    def weights(self, trained):
        """Features that are numbers are hashed to themselves, and -b leaves room for all."""
        w = np.array([trained.get_weight(i) for i in range(trained.num_weights())])
        columns = self.rows.columns
        assert w[0] == 0 and not w[columns + 1:].any(), "features of vw are not where they are expected"
        return w[1:columns + 1]

    def run(self, form, count):
        with_load, trained = self.train(form, count, from_text=True)
        trained.finish()
        seconds, trained = self.train(form, count, from_text=False)
        w = self.weights(trained)
        trained.finish()
        return Run(seconds, self.rows.primal(w), with_load)


def vowpal(path, rows, folder):
    try:
        return Vowpal(path, rows, folder)
    except ImportError:
        print("vowpalwabbit is not installed; skipped")
        return None


def peers(arguments):
    path = arguments.file
    rows = Rows(path)
    bias = ("--bias", DLIB_CONSTANT)
    with tempfile.TemporaryDirectory() as folder:
        vw = vowpal(path, rows, folder)
        runs = {}
        for count in HINGE_EPOCHS:
            runs["hinge", count] = lambda seed, count=count: hinge_run(path, folder, count, seed)
            runs["hinge, bias", count] = lambda seed, count=count: hinge_run(path, folder, count, seed, *bias)
        for count in arguments.epochs:
            runs["scikit-learn", count] = lambda seed, count=count: sklearn_run(rows, count, seed)
            for form in Vowpal.FORMS if vw else ():
                runs[form, count] = lambda seed, count=count, form=form: vw.run(form, count)
        results = sweeps(in_turn(runs, arguments.repeat))
        results.update(dlib_sweeps(path, rows, folder, arguments.epochs))
        optimum, optimum_bias = (hinge(path, folder, "--gap", "1e-6", *options, solver="dual")["dual"]
                                 for options in ((), bias))
    print_peers(results, "hinge", optimum)
    if "dlib dense, bias" in results:
        print(f"\nwith the constant feature {DLIB_CONSTANT}, as dlib has it:")
        print_peers(results, "hinge, bias", optimum_bias)


def sweeps(results):
    """{(name, epochs): [Run]} -> {name: {epochs: [Run]}}"""
    by_name = {}
    for (name, count), runs in results.items():
        by_name.setdefault(name, {})[count] = runs
    return by_name


def dlib_sweeps(path, rows, folder, counts):
    program = dlib_program(folder)
    found = {}
    for form, some in (("dense", counts), ("sparse", counts[:1])) if program else ():
        for name, runs in zip((f"dlib {form}", f"dlib {form}, bias"),
                              dlib_runs(program, form, path, rows, folder, some)):
            found[name] = {count: [run] for count, run in runs.items()}
    return found


def print_peers(results, ours, optimum):
    """One line for each peer of the same problem and number of epochs, beside the fastest hinge that is as good."""
    print(f"optimum: {optimum:.2f} or above, by hinge's dual solver; 'above' is the primal's excess over it\n"
          f"{'peer':18} {'epochs':>6} {'primal':>10} {'above':>8} {'s':>8} | {'hinge: epochs':>13} {'primal':>10} "
          f"{'s':>7} {'ratio':>6} | {'with load: peer s':>17} {'hinge s':>8} {'ratio':>6}")
    same_problem = {name: sweep for name, sweep in results.items() if name.endswith("bias") == ours.endswith("bias")}
    for name, sweep in same_problem.items():
        for count, runs in sweep.items() if name != ours else ():
            print_peer(name, count, runs, results[ours], optimum)
    for name, sweep in same_problem.items():
        lowest = min(median_primal(runs) for runs in sweep.values())
        print(f"{name}: lowest primal in up to {max(sweep)} epochs: {lowest:.2f}, "
              f"{100 * (lowest / optimum - 1):.2f}% above the optimum", flush=True)


def print_peer(name, count, runs, curve, optimum):
    primal, seconds = median_primal(runs), fastest(runs)
    line = f"{name:18} {count:6} {primal:10.2f} {100 * (primal / optimum - 1):7.2f}% {seconds:8.3f} |"
    as_good = [(fastest(ours), ours, epochs) for epochs, ours in curve.items() if median_primal(ours) <= primal]
    if not as_good:
        print(f"{line} hinge is not as low in up to {max(curve)} epochs", flush=True)
        return
    mine, ours, epochs_needed = min(as_good, key=lambda entry: entry[0])
    line += f" {epochs_needed:13} {median_primal(ours):10.2f} {mine:7.3f} {seconds / mine:6.1f} |"
    load, my_load = (min(run.with_load for run in each) for each in (runs, ours))
    if not math.isnan(load):
        line += f" {load:17.3f} {my_load:8.3f} {load / my_load:6.1f}"
    print(line, flush=True)


# scale and columns


def ns_per_step(path, folder, options, steps, repeat):
    """Difference of two runs, the best of `repeat` each."""
    best = best_of({count: lambda count=count: hinge(path, folder, "--steps", count, *options)["seconds"]["solve"]
                    for count in steps}, repeat)
    few, many = steps
    return 1e9 * (best[many] - best[few]) / (many - few)


LAMBDA, ACCURACY = 1e-4, 0.01
DRAWN = ("--sampling", "replace")  # what the theorems speak of; permute learns small sets in fewer steps
SCALE_FORMS = {"replace, last, no rescale": (*DRAWN, "--iterate", "last", "--rescale", "off"),
               "replace, suffix": DRAWN,
               "permute, suffix": ()}


def generated(rows, folder):
    """Path of `rows` rows like ccat, binary."""
    text, binary = f"{folder}/rows.svm", f"{folder}/rows.hinge"
    timed([HINGE, "generate", text, "--like", "ccat", "--rows", str(rows), "--seed", "1", "-n", "1", "-q"])
    timed([HINGE, "convert", text, binary, "-n", "1", "-q"])
    os.remove(text)
    return binary


def steps_needed(path, folder, options, best, seeds):
    """The first of a grid of steps with which the median of f is at most ACCURACY above `best`."""
    grid = [round(100 * 1.1 ** k) for k in range(120)]  # 100 to 8 million

    def is_enough(steps):
        values = [LAMBDA * hinge(path, folder, "--lambda", LAMBDA, "--steps", steps, "--seed", seed, *options)["primal"]
                  for seed in range(1, seeds + 1)]
        return statistics.median(values) - best <= ACCURACY

    at = bisect.bisect_left(grid, True, key=is_enough)
    return grid[at] if at < len(grid) else math.nan


def scale(arguments):
    print(f"{'rows':>9} {'f*':>9}  {'options':28} {'steps':>8} {'ns/step':>8}")
    found = {form: [] for form in SCALE_FORMS}
    for rows in arguments.rows:
        with tempfile.TemporaryDirectory() as folder:
            path = generated(rows, folder)
            best = LAMBDA * hinge(path, folder, "--lambda", LAMBDA, "--gap", "1e-5", solver="dual")["dual"]
            for form, options in SCALE_FORMS.items():
                steps = steps_needed(path, folder, options, best, arguments.seeds)
                ns = ns_per_step(path, folder, ("--lambda", LAMBDA, *options), arguments.steps, arguments.repeat)
                found[form].append((steps, ns))
                print(f"{rows:9} {best:9.6f}  {form:28} {steps:8} {ns:8.1f}", flush=True)
    for form, pairs in found.items():
        steps, ns = zip(*pairs)
        print(f"{form}: largest / smallest: steps {max(steps) / min(steps):.2f}, ns/step {max(ns) / min(ns):.2f}")


COLUMN_FORMS = {"last": ("--iterate", "last"), "average": ("--iterate", "average"), "suffix": ("--iterate", "suffix"),
                "projection": ("--iterate", "last", "--projection", "on")}
NONZEROS = 100


def write_rows(path, rows, columns):
    """Rows of NONZEROS columns, one from each of as many equal parts -> how many columns occur."""
    random = np.random.default_rng(1)
    part = columns // NONZEROS
    first = 1 + part * np.arange(NONZEROS)
    seen = np.zeros(columns + 1, dtype=bool)
    with open(path, "w") as file:
        for _ in range(rows):
            row = first + random.integers(part, size=NONZEROS)
            seen[row] = True
            file.write(("1" if random.random() < 0.5 else "-1") + "".join(f" {j}:0.1" for j in row.tolist()) + "\n")
    return int(seen.sum())


def instructions(path, folder, options, steps):
    command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/callgrind", HINGE, "train", path,
               f"{folder}/model", "--solver", "pegasos", "-n", "1", "-q", "--steps", str(steps), *map(str, options)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(re.search(r"Collected\s*:\s*(\d+)", done.stderr).group(1))


def instructions_per_step(path, folder, options, rows):
    """Of the third epoch: after the first, w has all its nonzeros, and the fixed costs no longer change."""
    return (instructions(path, folder, options, 3 * rows) - instructions(path, folder, options, 2 * rows)) / rows


def columns(arguments):
    counted = shutil.which("valgrind") is not None and not arguments.no_valgrind
    if not counted:
        print("without valgrind: no instructions")
    print(f"{'d':>9} {'occur':>9}  {'options':10} {'ns/step':>8} {'instructions/step':>17}")
    found = {form: [] for form in COLUMN_FORMS}
    for d in arguments.columns:
        with tempfile.TemporaryDirectory() as folder:
            text, path = f"{folder}/rows.svm", f"{folder}/rows.hinge"
            occur = write_rows(text, arguments.rows, d)
            timed([HINGE, "convert", text, path, "-n", "1", "-q"])
            for form, options in COLUMN_FORMS.items():
                options = ("--lambda", 1, *options)
                ns = ns_per_step(path, folder, options, arguments.steps, arguments.repeat)
                count = instructions_per_step(path, folder, options, arguments.rows) if counted else math.nan
                found[form].append((ns, count))
                print(f"{d:9} {occur:9}  {form:10} {ns:8.1f} {count:17.1f}", flush=True)
    for form, pairs in found.items():
        ns, counts = zip(*pairs)
        print(f"{form}: largest / smallest: ns/step {max(ns) / min(ns):.2f}"
              + (f", instructions/step {max(counts) / min(counts):.3f}" if counted else ""))


def whole(text):
    """100000, or 1e5."""
    number = float(text)
    if number != int(number) or number < 1:
        raise argparse.ArgumentTypeError(f"{text} is no whole number above 0")
    return int(number)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    subparsers = parser.add_subparsers(dest="what", required=True)

    def command(function, repeat):
        sub = subparsers.add_parser(function.__name__)
        sub.set_defaults(function=function)
        sub.add_argument("--repeat", type=whole, default=repeat, help=f"runs of each program (default {repeat})")
        return sub

    def numbers(sub, name, default, about, count="+"):
        sub.add_argument(name, type=whole, nargs=count, default=default,
                         help=f"{about} (default {' '.join(map(str, default))})")

    sub = command(epochs, 5)
    sub.add_argument("file", nargs="+")
    numbers(sub, "--epochs", [1, 5, 20], "numbers of epochs")
    sub = command(peers, 3)
    sub.add_argument("file")
    numbers(sub, "--epochs", [1, 2, 5, 10, 20, 50], "numbers of epochs of the peers, ascending")
    sub = command(scale, 3)
    numbers(sub, "--rows", [10_000, 100_000, 1_000_000], "numbers of rows")
    numbers(sub, "--steps", [200_000, 1_200_000], "steps of the two runs that are timed", 2)
    sub.add_argument("--seeds", type=whole, default=5, help="of which the median is taken (default 5)")
    sub = command(columns, 3)
    sub.add_argument("--rows", type=whole, default=40_000, help="(default 40000)")
    numbers(sub, "--columns", [10_000, 100_000, 1_000_000, 10_000_000], "numbers of columns, d")
    numbers(sub, "--steps", [200_000, 1_200_000], "steps of the two runs that are timed", 2)
    sub.add_argument("--no-valgrind", action="store_true", help="do not count instructions")
    arguments = parser.parse_args()
    arguments.function(arguments)


if __name__ == "__main__":
    main()
