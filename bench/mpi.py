#!/usr/bin/env python3
"""How training scales with ranks and with threads, on generated rows, on this machine; and what that says of others.

    bench/mpi.py [--rows N] [--like ccat] [--gap 1e-3] [--solver auto] [--ranks 1,2,4] [--threads 1,2,4] [--json FILE]
    bench/mpi.py --from FILE [--docs docs/scale-out.md]
    bench/mpi.py --liblinear [--rows N] [--ranks 2]

HINGE is the program (build/hinge), MPIRUN the launcher and its options. Every run reads the same binary data set, so
that what is compared is the time to solve; the best of --repeat runs counts. Prints tables: seconds, how many times as
fast as one rank with one thread, what went over the wire per iteration beside what docs/scale-out.md says; the
parameters of the cost model (mpi_model.py), which takes 1 and 2 ranks at least, its check and its projection. --json
keeps what was measured; --from prints the tables again, and --docs writes them into that file, between its marks.

--liblinear instead: liblinear-train and hinge on the same text, from file to model. LIBLINEAR gets the loosest -e that
brings it within the gap; the primal value of its model is computed by hinge.
"""

import argparse
import json
import os
import pathlib
import shlex
import subprocess
import tempfile
import time

from mpi_model import Model, counted, formula, solve_time

HINGE = os.path.abspath(os.environ.get("HINGE", "build/hinge"))
MPIRUN = shlex.split(os.environ.get("MPIRUN", "mpirun"))
TOLERANCES = ("1", "0.3", "0.1", "0.03", "0.01", "0.003", "0.001", "1e-4")
BEGIN, END = "<!-- bench/mpi.py writes from here -->\n", "<!-- to here -->\n"


def numbers(text):
    return [int(word) for word in text.split(",") if word]


def on(ranks):
    return [*MPIRUN, "-n", str(ranks)] if ranks > 1 else []


class Bench:
    def __init__(self, arguments, folder):
        self.arguments = arguments
        self.folder = folder
        self.solver = arguments.solver

    def quiet(self, *words):
        subprocess.run(list(words), cwd=self.folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def said(self, command):
        return json.loads(subprocess.run(command, cwd=self.folder, stdout=subprocess.PIPE, check=True).stdout)

    def generate(self, name, rows):
        self.quiet(HINGE, "generate", name + ".svm", "--like", self.arguments.like, "--rows", str(rows))

    def make(self, name, rows):
        self.generate(name, rows)
        self.quiet(HINGE, "convert", name + ".svm", name + ".hinge")

    def train(self, data, *more):
        return [HINGE, "train", data, "m", "--gap", self.arguments.gap, "--solver", self.solver, "--json", "-q", *more]

    def best(self, ranks, threads, data="d.hinge"):
        """What the fastest of some runs said, with where it ran."""
        command = on(ranks) + self.train(data, "-n", str(threads))
        said = min((self.said(command) for _ in range(self.arguments.repeat)), key=solve_time)
        return {**said, "ranks": ranks, "threads": threads}

    def measure(self):
        self.make("d", self.arguments.rows)
        self.make("quarter", self.arguments.rows // 4)
        if self.solver == "auto":  # it takes another solver alone than on ranks; what is compared must be the same
            self.solver = self.said(on(2) + self.train("d.hinge", "-n", "1", "--max-passes", "1"))["solver"]
            self.solver = self.solver.removeprefix("auto:")
        several = [k for k in self.arguments.ranks if k > 1]
        measured = {
            "like": self.arguments.like,
            "gap": self.arguments.gap,
            "cores": len(os.sched_getaffinity(0)),
            "ranks": [self.best(k, 1) for k in self.arguments.ranks],
            "threads": [self.best(1, k) for k in self.arguments.threads if k > 1],
            "quarter": self.best(1, 1, "quarter.hinge"),
        }
        measured["probes"] = [self.probe(k, measured["quarter"]["features"]) for k in several]
        measured["crowd"] = {k: self.crowd(k) for k in several}
        return measured

    def probe(self, ranks, columns):
        root = pathlib.Path(__file__).resolve().parent.parent
        program = pathlib.Path(self.folder) / "probe"
        if not program.exists():
            self.quiet("c++", "-std=c++20", "-O2", f"-I{root}/include", str(root / "bench/mpi_probe.cc"), "-o", str(program),
                       "-ldl")
        library = pathlib.Path(HINGE).resolve().with_name("libhinge-mpi.so")
        return self.said([*on(ranks), str(program), str(library), str(columns)])

    def crowd(self, count):
        """How much longer a run takes beside others like it, which share nothing but the machine."""
        self.make("part", max(1000, self.arguments.rows // count))
        command = self.train("part.hinge", "-n", "1")
        alone = min(solve_time(self.said(command)) for _ in range(self.arguments.repeat))
        together = [subprocess.Popen([*command[:3], f"m{k}", *command[4:]], cwd=self.folder, stdout=subprocess.PIPE)
                    for k in range(count)]
        took = [solve_time(json.loads(process.communicate()[0])) for process in together]
        return max(1.0, sum(took) / count / alone)

    def liblinear(self):
        """Text to model, each by its own reader; seconds of both and what they reached."""
        self.generate("d", self.arguments.rows)
        ranks = max(self.arguments.ranks)

        def timed(command):
            begin = time.perf_counter()
            done = subprocess.run(command, cwd=self.folder, stdout=subprocess.PIPE, check=True)
            return time.perf_counter() - begin, done.stdout

        runs = [timed(on(ranks) + self.train("d.svm", "-n", "1")) for _ in range(self.arguments.repeat)]
        ours, said = min(runs)[0], json.loads(runs[0][1])
        for tolerance in TOLERANCES:
            command = ["liblinear-train", "-s", "3", "-c", "1", "-e", tolerance, "-q", "d.svm", "theirs"]
            theirs = min(timed(command)[0] for _ in range(self.arguments.repeat))
            # A run that begins at a model and has no time says what that model is worth.
            start = self.train("d.svm", "--start", "theirs", "--time-limit", "0")
            start[start.index("--solver") + 1] = "ocas"
            primal = self.said(start)["primal"]
            if primal - said["dual"] <= float(self.arguments.gap) * primal:
                break
        gap = (primal - said["dual"]) / primal
        print(f"{self.arguments.like}, {said['rows']} rows, {said['nonzeros']} nonzeros, text to model, best of "
              f"{self.arguments.repeat}\n")
        print("| | seconds | primal | above the bound |")
        print("|---|---|---|---|")
        print(f"| hinge, {ranks} ranks x 1 thread, {said['solver']} | {ours:.2f} | {said['primal']:.6f} | "
              f"{said['relative_gap']:.1e} |")
        print(f"| liblinear-train -s 3 -e {tolerance} | {theirs:.2f} | {primal:.6f} | {gap:.1e} |")
        print(f"\nLIBLINEAR takes {theirs / ours:.2f} times as long")


def scaling(measured):
    alone = solve_time(measured["ranks"][0])
    first = measured["ranks"][0]
    yield (f"Rows like {measured['like']}: {first['rows']} of them, {first['features']} columns, {first['nonzeros']} nonzeros; "
           f"to a gap of {measured['gap']} by `{first['solver']}`.")
    yield ""
    yield "| ranks x threads | solve s | times as fast | iterations | messages an iteration (formula) | kB an iteration (formula) |"
    yield "|---|---|---|---|---|---|"
    for run in measured["ranks"] + measured["threads"]:
        messages, sent = counted(run)
        most = formula(run["solver"], run["features"], run["ranks"])
        yield (f"| {run['ranks']} x {run['threads']} | {solve_time(run):.3g} | {alone / solve_time(run):.2f} | "
               f"{run['iterations']} | {messages:.1f} ({most[0]}) | {sent / 1000:.0f} ({most[1] / 1000:.0f}) |")


def tables(measured):
    yield from scaling(measured)
    if {1, 2} <= {run["ranks"] for run in measured["ranks"]}:
        model = Model(measured)
        for table in (model.parameters(), model.check(), model.projection()):
            yield ""
            yield from table


def write_between_marks(path, lines):
    text = path.read_text()
    before, rest = text.split(BEGIN)
    path.write_text(before + BEGIN + "\n" + "\n".join(lines) + "\n\n" + END + rest.split(END)[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=200000)
    parser.add_argument("--like", default="ccat")
    parser.add_argument("--gap", default="1e-3")
    parser.add_argument("--solver", default="auto")
    parser.add_argument("--ranks", type=numbers, default=[1, 2, 4])
    parser.add_argument("--threads", type=numbers, default=[1, 2, 4])
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--from", type=pathlib.Path, dest="source")
    parser.add_argument("--docs", type=pathlib.Path)
    parser.add_argument("--liblinear", action="store_true")
    arguments = parser.parse_args()

    if arguments.source:
        measured = json.loads(arguments.source.read_text())
    else:
        with tempfile.TemporaryDirectory(prefix="hinge-mpi-") as folder:
            bench = Bench(arguments, folder)
            if arguments.liblinear:
                bench.liblinear()
                return
            measured = bench.measure()
    if arguments.json:
        arguments.json.write_text(json.dumps(measured, indent=1))
    print("\n".join(tables(measured)))
    if arguments.docs:
        write_between_marks(arguments.docs, tables(measured))


if __name__ == "__main__":
    main()
