#!/usr/bin/env python3
"""Whether two builds of hinge take the same time.

    tools/same_speed.py counts BEFORE AFTER            instructions of whole runs, by valgrind
    tools/same_speed.py times  BEFORE AFTER [DATA]     seconds of solving and of whole runs, both builds in turn

counts: one run of every solver on small rows, sparse and full, on one thread; callgrind's counts hardly vary.
times: the sets, costs and gaps of `make bench QUICK=1`, on one thread and on all cores; the best of --repeat runs each.
DATA is the folder of the real sets (NAME-train.svm.xz); those that are not there are left out, with a line that says so.

Prints what is compared with its ratio, after over before, and exits 1 where a count differs by more than 1 %, or the
geometric mean of the times by more than 5 %.
"""
import argparse
import json
import lzma
import math
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import same_bits

COUNT_LIMIT, TIME_LIMIT = 1.01, 1.05
COUNTED = {"larger": "-s {} --gap 0.01", "tall": "-s {} --gap 0.01", "wide": "-s {} --gap 0.05 -B 1"}
OTHER_COUNTS = {"free bias": ("tall", "-B free --gap 1e-4"), "three classes": ("three", "-s pegasos"), "folds": ("sparse", "-v 3"),
                "rbf": ("full", "--kernel rbf --gamma 0.3 --epochs 5"), "path": ("larger", "-c 0.01,0.1,1")}
REAL = ("a9a", "ccat", "digits")
GENERATED = {"cov1-small": "--like cov1 --rows 100000", "like-real-sim": "--like real-sim",
             "dense-small": "--like dense --rows 20000 --features 200"}
COSTS, GAPS = ("1", "0.01"), ("1e-2", "1e-3", "1e-4")


def counted(program, folder, words):
    done = subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={os.devnull}", program, "train", *words,
                           "--cpu", "avx2", "-n", "1", "-q"], cwd=folder, capture_output=True, text=True)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if not found:
        sys.exit(f"callgrind told nothing of {' '.join(words)}:\n{done.stderr}")
    return int(found[1])


def counts(before, after, only):
    cases = {f"{solver}/{data}": (data, options.format(solver)) for data, options in COUNTED.items()
             for solver in same_bits.SOLVERS}
    cases |= OTHER_COUNTS
    worst = 1.0
    with tempfile.TemporaryDirectory() as folder:
        same_bits.make_data(Path(folder))
        for name, (data, options) in cases.items():
            if only not in name:
                continue
            words = [f"{data}.svm", "m", *options.split()]
            was, now = (counted(program, folder, words) for program in (before, after))
            ratio = now / was
            worst = max(worst, ratio, 1 / ratio)
            print(f"{name:24} {was / 1e6:10.2f} M {now / 1e6:10.2f} M  {ratio:.4f}", flush=True)
    print(f"instructions differ by at most {100 * (worst - 1):.2f} %")
    return worst <= COUNT_LIMIT


def prepare(program, folder, data):
    """Binary sets in the folder -> their names."""
    names = []
    for name in REAL:
        packed = Path(data, f"{name}-train.svm.xz") if data else None
        if packed is None or not packed.exists():
            print(f"{name}: not there, left out")
            continue
        (folder / name).write_bytes(lzma.decompress(packed.read_bytes()))
        names.append(name)
    for name, options in GENERATED.items():
        subprocess.run([program, "generate", folder / name, *options.split(), "-q"], check=True)
        names.append(name)
    for name in names:
        subprocess.run([program, "convert", folder / name, folder / f"{name}.set", "-q"], check=True)
    return names


def seconds(program, folder, words):
    done = subprocess.run([program, "train", *words, "--json"], cwd=folder, capture_output=True, check=True)
    told = json.loads(done.stdout.splitlines()[0])["seconds"]
    return told["solve"], told["total"]


def times(before, after, data, repeat, only):
    ratios = []
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        for name in prepare(before, folder, data):
            if only not in name:
                continue
            for cost in COSTS:
                for gap in GAPS:
                    for threads in ("1", "0"):
                        words = [f"{name}.set", "m", "-c", cost, "--gap", gap, "-n", threads]
                        best = {before: (math.inf, math.inf), after: (math.inf, math.inf)}
                        for _ in range(repeat):
                            for program in (before, after):
                                best[program] = tuple(map(min, best[program], seconds(program, folder, words)))
                        (was, _), (now, _) = best[before], best[after]
                        ratios.append(now / was)
                        print(f"{name:14} C = {cost:5} gap {gap} threads {threads}: {was:8.4f} s {now:8.4f} s  {now / was:.3f}",
                              flush=True)
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    ratios.sort()
    print(f"{len(ratios)} cells: geometric mean {mean:.3f}, median {ratios[len(ratios) // 2]:.3f}, {ratios[0]:.2f} to {ratios[-1]:.2f}")
    return mean <= TIME_LIMIT


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["counts", "times"])
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("data", nargs="?", help="folder of the real sets")
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--only", default="", help="what has this word in its name")
    given = parser.parse_args()
    before, after = (str(Path(program).resolve()) for program in (given.before, given.after))
    good = counts(before, after, given.only) if given.what == "counts" else times(before, after, given.data, given.repeat, given.only)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
