#!/usr/bin/env python3
"""Ten classes, stopped early: how well the model predicts.

    bench/stopped.py [--hinge PROGRAM ...] [--rows 60000] [--seconds 2 5 12] [--interrupt]

Generates rows like images of digits (784 columns between 0 and 1, most of them 0 in most classes), trains with each time limit, and
without one, and prints accuracy on 10,000 rows kept apart. With --interrupt a signal ends the runs instead of a limit.
"""

import argparse
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time

import numpy


def write(path, rows, seed):
    """Each class has three prototypes: blurred strokes. A row is one of them, shifted, with noise, four levels of grey."""
    shapes = numpy.random.default_rng(7)
    grid = numpy.mgrid[0:28, 0:28]
    prototypes = []
    for _ in range(30):
        image = numpy.zeros((28, 28))
        at = shapes.uniform(8, 20, 2)
        for _ in range(5):
            to = shapes.uniform(5, 23, 2)
            for t in numpy.linspace(0, 1, 12):
                centre = at + t * (to - at)
                image = numpy.maximum(image, numpy.exp(-((grid[0] - centre[0]) ** 2 + (grid[1] - centre[1]) ** 2) / 3))
            at = to
        prototypes.append(image)
    draw = numpy.random.default_rng(seed)
    with open(path, "w") as file:
        for _ in range(rows):
            label = draw.integers(10)
            image = prototypes[3 * label + draw.integers(3)]
            image = numpy.roll(image, draw.integers(-2, 3, 2), (0, 1)) * draw.uniform(0.6, 1) + draw.normal(0, 0.15, (28, 28)) * (draw.random((28, 28)) < 0.3)
            values = numpy.clip(numpy.round(image.ravel() * 255), 0, 255).astype(int)
            where = numpy.flatnonzero(values)
            file.write(f"{label} " + " ".join(f"{j + 1}:{values[j] / 255:.4g}" for j in where) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hinge", nargs="+", default=[os.environ.get("HINGE", "build/hinge")])
    parser.add_argument("--rows", type=int, default=60000)
    parser.add_argument("--seconds", type=float, nargs="*", default=[2, 5, 12])
    parser.add_argument("--interrupt", action="store_true")
    parser.add_argument("--no-complete", action="store_true")
    parser.add_argument("--cost", default="1")
    parser.add_argument("--solver", default="auto")
    parser.add_argument("--folder", help="keep the data there")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(options.folder or temporary)
        train, test, model = folder / f"train-{options.rows}.svm", folder / "test.svm", folder / "model"
        if not train.exists():
            write(train, options.rows, 1)
            write(test, 10000, 2)
        for program in options.hinge:
            data, seen = folder / "train.hinge", folder / "test.hinge"
            for text, binary in (train, data), (test, seen):
                subprocess.run([program, "convert", text, binary], check=True, capture_output=True)
            for seconds in [*options.seconds] + ([] if options.no_complete else [None]):
                command = [program, "train", data, model, "--json", "--quiet", "--cost", options.cost, "--solver", options.solver]
                begun = time.monotonic()
                if seconds is not None and options.interrupt:
                    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                    time.sleep(seconds)
                    process.send_signal(signal.SIGINT)
                    out, said = process.communicate()
                else:
                    limit = [] if seconds is None else ["--time-limit", str(seconds)]
                    done = subprocess.run([*command, *limit], capture_output=True, text=True)
                    out, said = done.stdout, done.stderr
                took = time.monotonic() - begun
                result = json.loads(out)
                judged = subprocess.run([program, "evaluate", seen, model, "--json"], capture_output=True, text=True, check=True)
                gaps = sorted(p["relative_gap"] if p["relative_gap"] is not None else 9 for p in result["problems"])
                print(f"{program}: {'no limit' if seconds is None else f'{seconds:g} s'}: accuracy {json.loads(judged.stdout)['accuracy']:.4f} "
                      f"after {took:.1f} s, {result['solver']}, gaps {gaps[0]:.2g} to {gaps[-1]:.2g}; {said.strip()[-160:]}", flush=True)


if __name__ == "__main__":
    main()
