#!/usr/bin/env python3
"""What a bias that is not regularised (--bias free) costs, as Markdown.

    python3 bench/free_bias.py table    seconds of solving without a bias and with a free one, by set, solver and gap
    python3 bench/free_bias.py peer     beside svm-train -t 0 (package libsvm-tools), which always has a free bias
    python3 bench/free_bias.py all      both

HINGE names the program (default build/hinge). Sets (--sets) are NAME-train.svm, plain or .xz, in --data. --work keeps
what was unpacked for the next time.

table: C = 1, all cores unless --threads says otherwise. Runs without and with the bias take turns, --repeat times;
  the fastest of each is shown, and what takes longer than --once-above seconds is run once. "> 60" did not reach
  the gap within --time-limit; the last line has the geometric mean of the ratios where both did.

peer: on the first --rows rows of a9a, C = 1, from file to model. hinge at the gaps --gaps, svm-train at -e 0.1, 0.001
  (its default) and 1e-5. How good a model is, is judged by the primal value computed here, alike for both, from its
  weights and bias, as a share above the best bound that hinge has proved.
"""
import argparse
import itertools
import json
import math
import os
import shutil
import sys
import tempfile

from peers import HINGE, timed
from planes import ROOT, Set, hinge_train, numbers, seconds, unpack, words

SETS = ("a9a", "w8a", "ccat", "imdb", "news20", "covtype")
PEER = "svm-train"
TOLERANCES = ("0.1", "0.001", "1e-5")


def find_text(name, arguments):
    """-> the rows of a set as plain text, or None and a line that says what is missing."""
    path = f"{arguments.work}/{name}-train.svm"
    if not os.path.exists(path) and not unpack(name, "train", path, arguments.data):
        print(f"{name}: no {name}-train.svm[.xz] in {arguments.data}; skipped", file=sys.stderr)
        return None
    return path


# table


def table(arguments):
    print(f"C = 1, {f'{arguments.threads} threads' if arguments.threads else 'all cores'}, seconds of solving\n")
    print("| set | solver | gap | no bias | free bias | free / none |\n|---|---|---|---|---|---|", flush=True)
    ratios = []
    for name in arguments.sets:
        text = find_text(name, arguments)
        if text is None:
            continue
        binary = f"{arguments.work}/{name}.hinge"  # maps at once, and this many runs
        timed([HINGE, "convert", text, binary, "-q"])
        data = Set(name, binary, None)
        first = data.title()
        for solver, gap in itertools.product(arguments.solvers, arguments.gaps):
            none, free = measure(data, solver, gap, arguments)
            both = none["status"] == free["status"] == "converged"
            ratio = free["seconds"]["solve"] / none["seconds"]["solve"]
            if both:
                ratios.append(ratio)
            print(f"| {first} | {solver} | {gap:g} | {shown(none)} | {shown(free)} | {f'{ratio:.2f}' if both else '-'} |",
                  flush=True)
            first = ""
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(f"| geometric mean of {len(ratios)} | | | | | {mean:.2f} |")


def measure(data, solver, gap, arguments):
    """-> the fastest run without a bias and with a free one"""
    best = {}
    with tempfile.TemporaryDirectory() as folder:
        for turn, bias in itertools.product(range(arguments.repeat), ("none", "free")):
            if turn and best[bias]["seconds"]["solve"] > arguments.once_above:
                continue
            result = hinge_train(data, f"{folder}/model", solver, gap, arguments.time_limit, arguments.threads,
                                 more=("--bias", bias))
            best[bias] = min(best.get(bias, result), result, key=lambda r: r["seconds"]["solve"])
    return best["none"], best["free"]


def shown(run):
    return ("" if run["status"] == "converged" else "> ") + seconds(run["seconds"]["solve"])


# peer


class Part:
    """The first rows of a set as text, and what a model is worth on them."""

    def __init__(self, text, count, folder):
        self.train, self.rows, self.bound = f"{folder}/part.svm", [], 0.0
        with open(text) as whole, open(self.train, "w") as part:
            for line in itertools.islice(whole, count):
                part.write(line)
                label, *features = line.split()
                pairs = (feature.split(":") for feature in features)
                self.rows.append((1 if float(label) > 0 else -1, [(int(j), float(v)) for j, v in pairs]))

    def primal(self, weights, bias):
        loss = sum(max(0.0, 1 - y * (sum(weights.get(j, 0.0) * v for j, v in x) + bias)) for y, x in self.rows)
        return sum(w * w for w in weights.values()) / 2 + loss


def peer(arguments):
    text = find_text("a9a", arguments)
    if text is None:
        return
    with tempfile.TemporaryDirectory() as folder:
        part = Part(text, arguments.rows, folder)
        runs = {("hinge", solver, f"{gap:g}"): lambda s=solver, g=gap: hinge_run(part, folder, s, g, arguments)
                for solver, gap in itertools.product(arguments.solvers, arguments.gaps)}
        if shutil.which(PEER):
            runs.update({(PEER, "-t 0", e): lambda e=e: libsvm_run(part, folder, e) for e in TOLERANCES})
        else:
            print(f"{PEER} is not installed (package libsvm-tools); hinge alone", file=sys.stderr)
        hinge_run(part, folder, "dual", 1e-7, arguments)  # for the bound
        best = {}
        for _, (name, run) in itertools.product(range(arguments.repeat), runs.items()):
            best[name] = min(best.get(name, (math.inf, 0)), run())
    print(f"The first {len(part.rows):,} rows of a9a, C = 1, free bias, one thread, file to model\n")
    print("| program | | gap or -e | seconds | primal | above the bound |\n|---|---|---|---|---|---|")
    for name, (took, primal) in best.items():
        print(f"| {' | '.join(name)} | {seconds(took)} | {primal:.4f} | {(primal - part.bound) / primal:.1e} |")


def hinge_run(part, folder, solver, gap, arguments):
    model = f"{folder}/m.liblinear"
    took, out = timed([HINGE, "train", part.train, model, "--bias", "free", "--solver", solver, "--gap", f"{gap:g}", "-n",
                       "1", "--time-limit", str(arguments.time_limit), "--json", "-q"])
    part.bound = max(part.bound, json.loads(out)["dual"])
    with open(model) as file:
        head = dict(line.split(None, 1) for line in itertools.takewhile(lambda line: line != "w\n", file))
        *weights, bias = map(float, file)
    sign = 1 if head["label"].split()[0] == "1" else -1
    return took, part.primal({j + 1: sign * w for j, w in enumerate(weights)}, sign * bias)


def libsvm_run(part, folder, tolerance):
    took, _ = timed([PEER, "-q", "-t", "0", "-c", "1", "-m", "1024", "-e", tolerance, part.train, f"{folder}/libsvm"])
    weights = {}
    with open(f"{folder}/libsvm") as file:
        head = dict(line.split(None, 1) for line in itertools.takewhile(lambda line: line != "SV\n", file))
        sign = 1 if head["label"].split()[0] == "1" else -1
        for line in file:
            coefficient, *features = line.split()
            for j, value in (feature.split(":") for feature in features):
                weights[int(j)] = weights.get(int(j), 0.0) + sign * float(coefficient) * float(value)
    return took, part.primal(weights, -sign * float(head["rho"]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["table", "peer", "all"])
    parser.add_argument("--sets", type=words, default=list(SETS), help=f"default {','.join(SETS)}")
    parser.add_argument("--gaps", type=numbers, default=[1e-3, 1e-4], help="default 1e-3,1e-4")
    parser.add_argument("--solvers", type=words, default=["auto", "focus"], help="default auto,focus")
    parser.add_argument("--rows", type=int, default=8000, help="of peer, default 8000")
    parser.add_argument("--threads", type=int, default=0, help="of table, default 0: all cores")
    parser.add_argument("--data", default=f"{ROOT}/../shared/data", help="where NAME-train.svm[.xz] are")
    parser.add_argument("--work", help="folder for unpacked sets; by default a temporary one")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--once-above", type=float, default=10, help="slower runs are not repeated, default 10 seconds")
    parser.add_argument("--time-limit", type=float, default=60, help="seconds of a run, default 60")
    arguments = parser.parse_args()
    parts = {"table": table, "peer": peer}
    with tempfile.TemporaryDirectory() as folder:
        arguments.work = arguments.work or folder
        os.makedirs(arguments.work, exist_ok=True)
        for name in parts if arguments.what == "all" else [arguments.what]:
            parts[name](arguments)
            print()


if __name__ == "__main__":
    main()
