#!/usr/bin/env python3
"""Small data far from the origin: how often `--solver auto` misses a gap of 0.001 in 15 seconds.

    bench/uncentred.py [--hinge PROGRAM ...] [--solver NAME] [--seconds S] [--json FILE]

120 problems: 4 shapes, values about 1, 10, 100, 1,000 and 10,000 that differ by about 1, C = 1 and 100, no bias, a bias of 1 and a
free one. Several programs (an older build, say) run one after the other on each problem.
"""

import argparse
import itertools
import json
import os
import pathlib
import random
import subprocess
import tempfile
import time

SHAPES = (200, 60), (60, 30), (1000, 20), (50, 400)
OFFSETS = 1, 10, 100, 1000, 10000
COSTS = 1, 100
BIASES = "none", "1", "free"


def write(path, rows, columns, offset):
    """Rows about `offset`; labels by a hyperplane through their middle, one in ten wrong."""
    draw = random.Random(f"{rows} x {columns} at {offset}")
    normal = [draw.gauss(0, 1) for _ in range(columns)]
    with open(path, "w") as file:
        for _ in range(rows):
            x = [draw.gauss(0, 1) for _ in range(columns)]
            side = sum(a * b for a, b in zip(x, normal)) > 0
            label = 1 if side != (draw.random() < 0.1) else -1
            file.write(f"{label} " + " ".join(f"{j}:{offset + value:.9g}" for j, value in enumerate(x, 1)) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hinge", nargs="+", default=[os.environ.get("HINGE", "build/hinge")])
    parser.add_argument("--solver", default="auto")
    parser.add_argument("--seconds", type=float, default=15)
    parser.add_argument("--json")
    options = parser.parse_args()
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for (rows, columns), offset in itertools.product(SHAPES, OFFSETS):
            data = pathlib.Path(folder, "data.svm")
            write(data, rows, columns, offset)
            for cost, bias, program in itertools.product(COSTS, BIASES, options.hinge):
                begun = time.monotonic()
                done = subprocess.run([program, "train", data, pathlib.Path(folder, "model"), "--json", "--quiet", "--precision", "f64",
                                       "--solver", options.solver, "--cost", str(cost), "--bias", bias,
                                       "--time-limit", str(options.seconds)], capture_output=True, text=True)
                seconds = time.monotonic() - begun
                found = json.loads(done.stdout) if done.returncode == 0 else {"status": "failed", "relative_gap": 1, "solver": ""}
                results.append({"program": program, "rows": rows, "columns": columns, "offset": offset, "cost": cost, "bias": bias,
                                "seconds": seconds, "status": found["status"], "gap": found["relative_gap"],
                                "solver": found["solver"], "because": found.get("because", ""), "why": found.get("why", "")})
                if found["status"] != "converged":
                    print(f"{program}: {rows} x {columns} at {offset}, C = {cost}, bias {bias}: gap {found['relative_gap']:.2g} after "
                          f"{seconds:.1f} s {found.get('why', '')}", flush=True)
    for program in options.hinge:
        own = [r for r in results if r["program"] == program]
        missed = sum(r["status"] != "converged" for r in own)
        slowest = max(own, key=lambda r: r["seconds"])
        print(f"{program}: {missed} of {len(own)} missed, {sum(r['seconds'] for r in own):.1f} s in all; the slowest {slowest['seconds']:.2f} s")
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
