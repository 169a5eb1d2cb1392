#!/usr/bin/env python3
"""hinge train --kernel rbf beside LIBSVM, and what --budget costs.

    python3 bench/kernels.py digits TRAIN TEST               ten classes: training, prediction, accuracy
    python3 bench/kernels.py binary TRAIN TEST [--rows N..]  two classes, slices of TRAIN
    python3 bench/kernels.py budget TRAIN TEST [--rows N..]  time and accuracy against --budget

HINGE names the program (default build/hinge); the peer is svm-train and svm-predict (package libsvm-tools), which have
one thread. Both get the same C and gamma. Everything runs in turn, all programs once, then all of them again, --repeat
times; times are the best of these, of whole processes: text to model, text and model to labels. "s" is what a clock
shows, "CPU s" what all threads together used of the processor, which other work on the machine disturbs less. Ratios are
LIBSVM / hinge, of CPU time for one thread and of the clock for two: above 1, hinge is faster.

The two do not solve the same problem. LIBSVM has a bias that is not regularised, hinge none, or with --bias a
regularised one; of several classes LIBSVM trains every pair against each other, hinge each against the rest. LIBSVM
stops at its tolerance (-e 0.001), hinge after so many epochs ("gap" says how far from the optimum it proves to be, in
per cent) and spends part of its time on that proof ("proof": seconds of certifying). LIBSVM keeps 1 GiB of kernel
values here (-m 1024; its default is 100 MB), hinge up to 4 GiB, but no more than a quarter of the machine's memory.

A slice of N rows takes every (rows/N)-th row of the file, since rows may lie in some order; the test part is sliced
likewise, to at most 10,000 rows.
"""
import argparse
import json
import re
import resource
import shutil
import tempfile
from dataclasses import dataclass

from peers import HINGE, timed


@dataclass
class Run:
    train: float
    train_cpu: float
    predict: float
    predict_cpu: float
    accuracy: float  # per cent
    support: int
    gap: float = 0.0  # per cent
    proof: float = 0.0


def measured(command):
    """Seconds by the clock, seconds of CPU, what it printed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds, out = timed(command)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, out


def slice_of(path, count, folder, name):
    """Path of `count` evenly spaced rows of a file."""
    with open(path, encoding="ascii") as file:
        lines = file.readlines()
    count = min(count, len(lines))
    out = f"{folder}/{name}"
    with open(out, "w", encoding="ascii") as file:
        file.writelines(lines[k * len(lines) // count] for k in range(count))
    return out


def support_rows(model):
    """How many rows a model keeps."""
    with open(model, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    return header["support.offsets"]["shape"][0] - 1


def hinge_run(train, test, folder, options, threads):
    model = f"{folder}/model"
    *times, out = measured([HINGE, "train", train, model, "--kernel", "rbf", "-n", str(threads), "-q", "--json",
                            *map(str, options)])
    found = json.loads(out)
    *predict, _ = measured([HINGE, "predict", test, model, f"{folder}/labels", "-n", str(threads), "-q"])
    _, judged = timed([HINGE, "evaluate", test, model, "--json"])
    return Run(*times, *predict, 100 * json.loads(judged)["accuracy"], support_rows(model),
               100 * found["relative_gap"], found["seconds"]["certify"])


def libsvm_run(train, test, folder, cost, gamma):
    model = f"{folder}/libsvm"
    *times, _ = measured(["svm-train", "-q", "-t", "2", "-c", str(cost), "-g", str(gamma), "-m", "1024", train, model])
    *predict, out = measured(["svm-predict", test, model, f"{folder}/labels"])
    with open(model, encoding="ascii") as file:
        support = int(re.search(r"^total_sv (\d+)$", file.read(2000), re.M)[1])
    return Run(*times, *predict, float(re.search(r"Accuracy = ([0-9.]+)%", out)[1]), support)


def in_turn(runs, repeat):
    """{name: function} -> {name: Run with the best times}"""
    best = {}
    for _ in range(repeat):
        for name, run in runs.items():
            found = run()
            if name in best:
                for key in ("train", "train_cpu", "predict", "predict_cpu", "proof"):
                    setattr(found, key, min(getattr(found, key), getattr(best[name], key)))
            best[name] = found
    return best


HEAD = (f"{'':34} {'train s':>8} {'CPU s':>8} {'proof':>7} {'predict s':>9} {'CPU s':>7} {'accuracy':>8} "
        f"{'support':>7} {'gap %':>6} | {'train':>6} {'predict':>7}")


def show(name, run, threads=1, peer=None):
    line = (f"{name:34} {run.train:8.3f} {run.train_cpu:8.3f} {run.proof:7.3f} {run.predict:9.3f} "
            f"{run.predict_cpu:7.3f} {run.accuracy:8.2f} {run.support:7} {run.gap:6.2f} |")
    if peer is not None and threads == 1:
        line += f" {peer.train_cpu / run.train_cpu:6.2f} {peer.predict_cpu / run.predict_cpu:7.2f}"
    elif peer is not None:
        line += f" {peer.train / run.train:6.2f} {peer.predict / run.predict:7.2f}"
    print(line, flush=True)


def compare(train, test, folder, arguments, forms):
    """forms: {name: options of hinge}"""
    kernel = ("-c", arguments.cost, "--gamma", arguments.gamma)
    runs = {(f"hinge, {name}, {threads} thread{'s' * (threads > 1)}", threads):
            lambda options=options, threads=threads: hinge_run(train, test, folder, (*kernel, *options), threads)
            for name, options in forms.items() for threads in (1, 2)}
    peer = ("LIBSVM", 1)
    if shutil.which("svm-train"):
        runs[peer] = lambda: libsvm_run(train, test, folder, arguments.cost, arguments.gamma)
    else:
        print("svm-train is not installed (package libsvm-tools); hinge alone")
    best = in_turn(runs, arguments.repeat)
    print(HEAD)
    for (name, threads), run in best.items():
        show(name, run, threads, best.get(peer) if name != peer[0] else None)


def epochs(*counts):
    return {f"{count} epochs": ("--epochs", count) for count in counts}


def digits(arguments):
    with tempfile.TemporaryDirectory() as folder:
        print(f"C = {arguments.cost:g}, gamma = {arguments.gamma:g}")
        compare(arguments.train, arguments.test, folder, arguments, epochs(5, 20))


def binary(arguments):
    with tempfile.TemporaryDirectory() as folder:
        test = slice_of(arguments.test, 10_000, folder, "test")
        for rows in arguments.rows:
            train = slice_of(arguments.train, rows, folder, "train")
            print(f"{rows} rows, C = {arguments.cost:g}, gamma = {arguments.gamma:g}")
            compare(train, test, folder, arguments, epochs(5, 20))


def budget(arguments):
    with tempfile.TemporaryDirectory() as folder:
        test = slice_of(arguments.test, 10_000, folder, "test")
        for rows in arguments.rows:
            train = slice_of(arguments.train, rows, folder, "train")
            kernel = ("-c", arguments.cost, "--gamma", arguments.gamma, "--epochs", arguments.epochs)
            limits = {f"budget {count}, {iterate}": ("--budget", count, "--iterate", iterate)
                      for count in arguments.budget for iterate in arguments.iterate}
            if rows <= arguments.unlimited:
                limits["no budget"] = ()
            print(f"{rows} rows, C = {arguments.cost:g}, gamma = {arguments.gamma:g}, {arguments.epochs} epochs, "
                  f"2 threads\n{HEAD}")
            linear = in_turn({"linear": lambda: linear_run(train, test, folder)}, arguments.repeat)["linear"]
            show("linear, dual", linear)
            runs = {name: lambda options=options: hinge_run(train, test, folder, (*kernel, *options), 2)
                    for name, options in limits.items()}
            for name, run in in_turn(runs, arguments.repeat).items():
                show(name, run)


def linear_run(train, test, folder):
    """What there is without a kernel."""
    model = f"{folder}/model"
    *times, out = measured([HINGE, "train", train, model, "--bias", "1", "-n", "2", "-q", "--json"])
    *predict, _ = measured([HINGE, "predict", test, model, f"{folder}/labels", "-n", "2", "-q"])
    _, judged = timed([HINGE, "evaluate", test, model, "--json"])
    found = json.loads(out)
    return Run(*times, *predict, 100 * json.loads(judged)["accuracy"], 0, 100 * found["relative_gap"],
               found["seconds"]["certify"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    subparsers = parser.add_subparsers(dest="what", required=True)

    def command(function, cost, gamma, repeat, rows=()):
        sub = subparsers.add_parser(function.__name__)
        sub.set_defaults(function=function)
        sub.add_argument("train")
        sub.add_argument("test")
        sub.add_argument("--cost", type=float, default=cost, help=f"(default {cost:g})")
        sub.add_argument("--gamma", type=float, default=gamma, help=f"(default {gamma:g})")
        sub.add_argument("--repeat", type=int, default=repeat, help=f"runs of each program (default {repeat})")
        if rows:
            sub.add_argument("--rows", type=int, nargs="+", default=rows,
                             help=f"rows of the slices (default {' '.join(map(str, rows))})")
        return sub

    command(digits, 10, 0.01, 5)
    command(binary, 10, 5, 3, [5_000, 20_000])
    sub = command(budget, 10, 5, 1, [20_000, 100_000])
    sub.add_argument("--budget", type=int, nargs="+", default=[200, 1_000, 5_000], help="(default 200 1000 5000)")
    sub.add_argument("--iterate", nargs="+", default=["last", "suffix"], help="(default last suffix)")
    sub.add_argument("--epochs", type=int, default=5, help="(default 5)")
    sub.add_argument("--unlimited", type=int, default=20_000,
                     help="slices of up to so many rows are trained without a budget too (default 20000)")
    arguments = parser.parse_args()
    arguments.function(arguments)


if __name__ == "__main__":
    main()
