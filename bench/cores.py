#!/usr/bin/env python3
"""What more threads do: sets x solvers x threads, seconds of solving and their ratios over one thread, as Markdown.

    bench/cores.py run [--threads 1,2,4,8,16] [--only SET,...] [--solvers NAME,...] [--before PROGRAM] [--seconds 1200]
    bench/cores.py report                          the tables again, from --results

A fixed list that takes at most 20 minutes on 16 cores; what does not fit into --seconds is left out, and the report says
so. HINGE names the program (default build/hinge). Real sets are NAME-train.svm or .svm.xz in --data; others are made by
`hinge generate`. Each cell is the best of --repeat runs, or of one that takes longer than 2 s. Ratios are over one thread
of --before where that is given, of the same program where it is not. Results stand in --results after every set; the report
goes to --out.
"""
import argparse
import json
import os
import pathlib
import subprocess
import tempfile
import time

from peers import HINGE, timed, unpack

GENERATED = {  # what `hinge generate` is told
    "like-ccat": ("--like", "ccat"),
    "like-ccat-4m": ("--like", "ccat", "--rows", "4000000"),
    "like-cov1-5m": ("--like", "cov1", "--rows", "5000000"),
}
SOLVERS = ("auto", "dual", "newton", "focus", "ocas", "active", "pegasos")
LIST = {  # the solvers that are asked, set by set
    "like-ccat": ("auto", "dual", "focus", "ocas", "active", "pegasos"),
    "covtype": ("auto", "newton", "focus", "ocas", "active", "pegasos"),
    "imdb": SOLVERS,
    "ccat": ("auto", "dual", "focus", "ocas", "active", "pegasos"),
    "a9a": SOLVERS,
    "digits": ("auto", "dual", "pegasos"),
    "like-cov1-5m": ("newton",),
    "like-ccat-4m": ("auto", "dual"),
}
GOAL = {"pegasos": ("--epochs", "5")}  # of the others: --gap
SLOWER = 0.95  # below it a ratio is a loss
LONG = 2.0  # seconds: a run that takes longer is not repeated
KEPT = "build/bench/cores.json"


class Bench:
    def __init__(self, arguments, folder):
        self.arguments, self.folder = arguments, folder
        self.end = time.monotonic() + arguments.seconds
        self.results = {"cores": len(os.sched_getaffinity(0)), "gap": arguments.gap, "threads": arguments.threads,
                        "date": time.strftime("%Y-%m-%d"), "before": arguments.before is not None, "bandwidth": {}, "sets": {},
                        "left_out": []}
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            self.results["cpu"] = next((line.split(":")[1].strip() for line in file if line.startswith("model name")), "")

    def path(self, name):
        return f"{self.folder}/{name}"

    def make(self, name):
        """The set as text and in binary form; False where there is none."""
        text = self.path(f"{name}.svm")
        if name in GENERATED:
            timed([HINGE, "generate", text, *GENERATED[name], "-q", "--force"])
        elif not unpack(name, "train", text, self.arguments.data):
            return False
        timed([HINGE, "convert", text, self.path(f"{name}.hinge"), "-q", "--force"])
        return True

    def run(self, program, data, solver, threads, front=()):
        goal = GOAL.get(solver, ("--gap", self.arguments.gap))
        command = [*front, program, "train", self.path(data), self.path("m"), "-s", solver, *goal, "-n", str(threads), "--json",
                   "-q", "--force"]
        wall, out = timed(command)
        said = json.loads(out[out.index("{"):])
        return {**said["seconds"], "wall": wall, "solver": said["solver"], "iterations": said["iterations"]}

    def best(self, *what, key="solve", **more):
        found = None
        for _ in range(self.arguments.repeat):
            one = self.run(*what, **more)
            if found is None or one[key] < found[key]:
                found = one
            if one[key] > LONG:
                break
        return found

    def measure_set(self, name):
        cells = self.results["sets"].setdefault(name, {})
        for solver in LIST[name]:
            if self.arguments.solvers and solver not in self.arguments.solvers:
                continue
            if time.monotonic() > self.end:
                self.results["left_out"].append(f"{name} {solver}")
                continue
            cell = cells[solver] = {}
            if self.arguments.before:
                cell["before"] = self.best(self.arguments.before, f"{name}.hinge", solver, 1)
            for threads in self.arguments.threads:
                cell[str(threads)] = self.best(HINGE, f"{name}.hinge", solver, threads)
            print(row_of(name, solver, cell, self.arguments.threads), flush=True)

    def measure_text(self):
        """From text to a model, by auto."""
        self.results["text"] = {str(n): self.best(HINGE, "like-ccat.svm", "auto", n, key="wall") for n in self.arguments.threads}
        self.results["text_bytes"] = os.path.getsize(self.path("like-ccat.svm"))

    def measure_ranks(self):
        """Ranks of one thread each beside threads: what they do must not be needed on one machine."""
        most = max(self.arguments.threads)
        front = ("mpirun", "--allow-run-as-root", "--oversubscribe", "-n", str(most))
        try:
            self.results["ranks"] = {"count": most, "focus": self.best(HINGE, "like-ccat.hinge", "focus", 1, front=front)}
        except (OSError, subprocess.CalledProcessError, ValueError):
            print("no mpirun: ranks are left out", flush=True)

    def measure_bandwidth(self):
        source = pathlib.Path(__file__).with_name("bandwidth.cc")
        program = self.arguments.bandwidth or self.path("bandwidth")
        try:
            if not self.arguments.bandwidth:
                timed(["c++", "-O2", "-std=c++20", "-pthread", str(source), "-o", program])
            for threads in self.arguments.threads:
                self.results["bandwidth"][str(threads)] = float(timed([program, str(threads)])[1])
        except (OSError, subprocess.CalledProcessError):
            print("no compiler: bandwidth is left out", flush=True)

    def measure(self):
        self.measure_bandwidth()
        for name in LIST:
            if self.arguments.only and name not in self.arguments.only:
                continue
            if time.monotonic() > self.end:
                self.results["left_out"].append(name)
                continue
            if not self.make(name):
                self.results["left_out"].append(f"{name} (not in {self.arguments.data})")
                continue
            self.measure_set(name)
            if name == "like-ccat":
                self.measure_text()
                self.measure_ranks()
            for kind in ("svm", "hinge"):
                os.remove(self.path(f"{name}.{kind}"))
            self.keep()
        self.keep()

    def keep(self):
        pathlib.Path(self.arguments.results).parent.mkdir(parents=True, exist_ok=True)
        pathlib.Path(self.arguments.results).write_text(json.dumps(self.results, indent=1), encoding="utf-8")


def first(cell):
    """The seconds that ratios are over."""
    return cell.get("before", cell.get("1"))


def ratio(cell, threads):
    return first(cell)["solve"] / cell[str(threads)]["solve"]


def ratio_text(value):
    text = f"{value:.2f}" if value < 9.95 else f"{value:.1f}"
    return f"**{text}**" if value < SLOWER else text


def row_of(name, solver, cell, threads):
    asked = cell[str(threads[0])]["solver"]
    solver = solver if asked in (solver, "") else asked
    before = f" {cell['before']['solve']:.3g} |" if "before" in cell else ""
    seconds = " | ".join(f"{cell[str(n)]['solve']:.3g}" for n in threads)
    ratios = " | ".join(ratio_text(ratio(cell, n)) for n in threads if n > 1)
    return f"| {name} | {solver} |{before} {seconds} | {ratios} |"


def report(results):
    threads = results["threads"]
    more = [n for n in threads if n > 1]
    lines = ["# More threads", "",
             "Written by `make bench-cores` (bench/cores.py), never by hand.", "",
             f"Measured {results['date']} on {results['cores']} cores of {results['cpu']}. Seconds of solving to a gap of "
             f"{results['gap']} (Pegasos: 5 epochs), C = 1, no bias, rows from a binary set; ratios are over one thread"
             + (" of the program before" if results["before"] else "") + f", and bold below {SLOWER}."]
    if results["bandwidth"]:
        lines += ["", "Memory is read at " + ", ".join(f"{rate / 1e9:.3g}" for rate in results["bandwidth"].values()) +
                  " GB/s by " + ", ".join(results["bandwidth"]) + " threads."]
    before = " 1 thread before |" if results["before"] else ""
    lines += ["", f"| set | solver |{before} " + " | ".join(f"{n}" for n in threads) + " | " +
              " | ".join(f"{n} over 1" for n in more) + " |",
              "|" + "---|" * (2 + results["before"] + len(threads) + len(more))]
    cells = [(name, solver, cell) for name, cells in results["sets"].items() for solver, cell in cells.items()]
    lines += [row_of(name, solver, cell, threads) for name, solver, cell in cells]
    slower = [f"{name} {solver} {n}: {ratio(cell, n):.2f}" for name, solver, cell in cells for n in more
              if ratio(cell, n) < SLOWER]
    lines += ["", f"Below {SLOWER}: " + ("; ".join(slower) if slower else "none") + "."]
    if "text" in results:
        lines += ["", f"From {results['text_bytes'] / 1e6:.0f} MB of text like ccat to a model, by auto, wall seconds of the "
                  "whole program:", "",
                  "| threads | " + " | ".join(map(str, threads)) + " |", "|" + "---|" * (1 + len(threads))]
        for stage in ("load", "prepare", "solve", "certify", "wall"):
            lines.append(f"| {stage} | " + " | ".join(f"{results['text'][str(n)][stage]:.3f}" for n in threads) + " |")
    if "ranks" in results and "focus" in results["sets"].get("like-ccat", {}):
        count = results["ranks"]["count"]
        alone = results["sets"]["like-ccat"]["focus"][str(count)]["solve"]
        lines += ["", f"Like ccat, focus: {count} threads of one process {alone:.3f} s; {count} ranks of one thread each "
                  f"{results['ranks']['focus']['solve']:.3f} s."]
    if results["left_out"]:
        lines += ["", "Left out: " + "; ".join(results["left_out"]) + "."]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mode", choices=("run", "report"))
    numbers = lambda text: [int(word) for word in text.split(",")]
    names = lambda text: text.split(",")
    cores = len(os.sched_getaffinity(0))
    parser.add_argument("--threads", type=numbers, default=[n for n in (1, 2, 4, 8, 16) if n <= cores])
    parser.add_argument("--only", type=names, help="sets")
    parser.add_argument("--solvers", type=names)
    parser.add_argument("--gap", default="1e-3")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--before", help="a program of before, whose one thread ratios are over")
    parser.add_argument("--seconds", type=float, default=1200)
    parser.add_argument("--data", default="../shared/data")
    parser.add_argument("--work", help="a folder for the sets; by default a temporary one")
    parser.add_argument("--bandwidth", help="bench/bandwidth.cc as a program, where there is no compiler")
    parser.add_argument("--results", default=KEPT)
    parser.add_argument("--out", default="docs/cores.md")
    arguments = parser.parse_args()
    if arguments.mode == "run":
        with tempfile.TemporaryDirectory(dir=arguments.work) as folder:
            Bench(arguments, folder).measure()
    with open(arguments.results, encoding="utf-8") as file:
        text = report(json.load(file))
    pathlib.Path(arguments.out).write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
