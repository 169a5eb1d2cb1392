#!/usr/bin/env python3
"""A path of costs in one run beside one run a cost, and beside LIBLINEAR, as Markdown.

    python3 bench/path.py FILE [--path 1e-3:1e3:20] [--gaps 1e-3,1e-4] [--solver auto] [--repeat 1]

FILE is text, or a binary data set of `hinge convert` (LIBLINEAR then needs --text, the same rows). HINGE names the
program (default build/hinge). One run with --path and one run for each of its costs, all to the same gap, taken in turn
--repeat times; the fastest of each is counted. "Wall" is from file to model, "solve" is seconds.solve, passes are those
over the data and the same on every machine. Models must agree: the largest distance of two primal values, as a share, is shown and must not
exceed the gap. LIBLINEAR's -s 3 (package liblinear-tools) is run once a cost with its own tolerance -e 0.1; its
primal, computed here from its weights, is shown as the share it lies above the bound that hinge has proved. --costs-below C leaves larger
costs out of LIBLINEAR's runs, which may take long.
"""
import argparse
import json
import shutil
import subprocess
import tempfile

from peers import HINGE, liblinear_primal, timed


def train(data, model, *options):
    seconds, out = timed([HINGE, "train", data, model, "--json", "-q", *options])
    return seconds, json.loads(out)


def together(arguments, gap, folder):
    return train(arguments.file, f"{folder}/path", "--path", arguments.path, "--gap", gap, "-s", arguments.solver)


def alone(arguments, gap, cost, folder):
    return train(arguments.file, f"{folder}/one", "--cost", repr(cost), "--gap", gap, "-s", arguments.solver)


def fastest(best, new):
    return new if best is None or new[0] < best[0] else best


def race(arguments, gap, folder):
    """The path, and what its costs take one by one: (wall, report) and a list of them."""
    path, ones = None, {}
    for _ in range(arguments.repeat):
        path = fastest(path, together(arguments, gap, folder))
        for model in path[1]["path"]:
            cost = model["cost"]
            ones[cost] = fastest(ones.get(cost), alone(arguments, gap, cost, folder))
    return path, ones


def show(gap, path, ones):
    report = path[1]["path"]
    print(f"\nGap {gap}, {path[1]['solver']}, {path[1]['rows']} rows\n")
    print("| cost | primal | passes alone | passes in the path | seconds alone | in the path |\n|---|---|---|---|---|---|")
    apart = 0
    for model in report:
        one = ones[model["cost"]][1]
        apart = max(apart, abs(one["primal"] - model["primal"]) / one["primal"])
        print(f"| {model['cost']:g} | {model['primal']:.6g} | {one['data_passes']:.1f} | {model['data_passes']:.1f} "
              f"| {one['seconds']['solve']:.3f} | {model['seconds']['solve']:.3f} |")
    assert apart <= float(gap), f"primal values are {apart:.2g} apart"
    wall = sum(seconds for seconds, _ in ones.values())
    solve = sum(one["seconds"]["solve"] for _, one in ones.values())
    passes = sum(one["data_passes"] for _, one in ones.values())
    print(f"\n| {len(report)} costs | one run | one by one | faster |\n|---|---|---|---|")
    for name, a, b in (("wall, s", path[0], wall), ("solve, s", path[1]["seconds"]["solve"], solve),
                       ("passes", path[1]["data_passes"], passes)):
        print(f"| {name} | {a:.2f} | {b:.2f} | {b / a:.2f} |")
    print(f"\nPrimal values are at most {apart:.2g} apart.", flush=True)


def liblinear(arguments, text, path, folder):
    print("\n| cost | LIBLINEAR, s | primal above the bound |\n|---|---|---|")
    total = 0
    for model in path[1]["path"]:
        if model["cost"] > arguments.costs_below:
            continue
        seconds, _ = timed(["liblinear-train", "-s", "3", "-c", repr(model["cost"]), "-q", text, f"{folder}/l"])
        total += seconds
        primal = liblinear_primal(text, f"{folder}/l", model["cost"])
        print(f"| {model['cost']:g} | {seconds:.2f} | {primal / model['dual'] - 1:.2g} |", flush=True)
    print(f"\nLIBLINEAR in all: {total:.2f} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--text")
    parser.add_argument("--path", default="1e-3:1e3:20")
    parser.add_argument("--gaps", default="1e-3,1e-4")
    parser.add_argument("--solver", default="auto")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--costs-below", type=float, default=float("inf"))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for gap in arguments.gaps.split(","):
            path, ones = race(arguments, gap, folder)
            show(gap, path, ones)
        if shutil.which("liblinear-train") and (arguments.text or not arguments.file.endswith(".hinge")):
            liblinear(arguments, arguments.text or arguments.file, path, folder)


if __name__ == "__main__":
    main()
