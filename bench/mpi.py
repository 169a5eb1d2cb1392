#!/usr/bin/env python3
"""How training scales with ranks and with threads, on generated rows, on this machine.

    bench/mpi.py [--rows N] [--like ccat] [--gap 1e-3] [--solver auto] [--ranks 1,2,4] [--threads 1,2,4]

HINGE is the program (build/hinge), MPIRUN the launcher and its options. Every run reads the same binary data
set, so that what is compared is the time to solve; the best of --repeat runs counts. Prints a table: seconds,
how many times as fast as one rank with one thread, and what went over the wire per iteration, beside what
docs/scale-out.md says the vectors alone take at most. --json FILE keeps all of it.
"""

import argparse
import json
import os
import pathlib
import shlex
import subprocess
import tempfile

HINGE = os.path.abspath(os.environ.get("HINGE", "build/hinge"))
MPIRUN = shlex.split(os.environ.get("MPIRUN", "mpirun"))


def numbers(text):
    return [int(word) for word in text.split(",") if word]


def run(command, folder):
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def best_of(repeat, command, folder):
    return min((run(command, folder) for _ in range(repeat)), key=lambda said: said["seconds"]["solve"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100000)
    parser.add_argument("--like", default="ccat")
    parser.add_argument("--gap", default="1e-3")
    parser.add_argument("--solver", default="auto")
    parser.add_argument("--ranks", type=numbers, default=[1, 2, 4])
    parser.add_argument("--threads", type=numbers, default=[1, 2, 4])
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--json", type=pathlib.Path)
    arguments = parser.parse_args()

    runs = []
    with tempfile.TemporaryDirectory(prefix="hinge-mpi-") as folder:
        quiet = {"cwd": folder, "check": True, "stderr": subprocess.DEVNULL}
        subprocess.run([HINGE, "generate", "d.svm", "--like", arguments.like, "--rows", str(arguments.rows)], **quiet)
        subprocess.run([HINGE, "convert", "d.svm", "d.hinge"], **quiet)
        train = [HINGE, "train", "d.hinge", "m", "--gap", arguments.gap, "--json", "-q"]
        # auto takes another solver alone than on ranks; what is compared must be the same.
        solver = arguments.solver
        if solver == "auto":
            probe = run([*MPIRUN, "-n", "2", *train, "-n", "1", "--max-passes", "1"], folder)
            solver = probe["solver"].removeprefix("auto:")
        train += ["--solver", solver]
        for ranks in arguments.ranks:
            command = [*train, "-n", "1"] if ranks == 1 else [*MPIRUN, "-n", str(ranks), *train, "-n", "1"]
            runs.append((ranks, 1, best_of(arguments.repeat, command, folder)))
        for threads in arguments.threads:
            if threads > 1:
                runs.append((1, threads, best_of(arguments.repeat, [*train, "-n", str(threads)], folder)))

    alone = runs[0][2]["seconds"]["solve"]
    print(f"{arguments.like}, {arguments.rows} rows, {runs[0][2]['features']} columns, gap {arguments.gap}, {solver}\n")
    print("| ranks x threads | solve s | times as fast | iterations | messages an iteration | kB an iteration | at most |")
    print("|---|---|---|---|---|---|---|")
    for ranks, threads, said in runs:
        solve, steps = said["seconds"]["solve"], max(1, said["iterations"])
        most = 16 * said["features"] * (ranks - 1) / ranks / 1000
        sent = said.get("bytes_sent", 0) / steps / 1000
        print(f"| {ranks} x {threads} | {solve:.3g} | {alone / solve:.2f} | {steps} | "
              f"{said.get('messages', 0) / steps:.1f} | {sent:.0f} | {most:.0f} |")
    if arguments.json:
        arguments.json.write_text(json.dumps([{"ranks": r, "threads": t, **said} for r, t, said in runs], indent=1))


if __name__ == "__main__":
    main()
