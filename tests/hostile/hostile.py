#!/usr/bin/env python3
"""Tries to break the program for as long as it is told, and counts what it tried: `make hostile SECONDS=600`.

HINGE is the program (build/hinge unless given), one with sanitizers, too. Trials have equal shares of the time, on all
cores. A finding is printed with what repeats it, and its folder is kept below build/hostile. The end is a table of counts;
the exit code is 1 if there was a finding.
"""

import argparse
import collections
import concurrent.futures
import os
import pathlib
import shutil
import signal
import sys
import tempfile
import time
import traceback
import unittest

import trial
from command_lines import CommandLines
from forging import Forging
from interrupts import Signals
from races import Races
from solvers import Solvers

TRIALS = {"solvers": Solvers, "forging": Forging, "command-lines": CommandLines, "signals": Signals, "races": Races}
SHOWN = 3  # findings of each kind that are told at length, with their folders kept; the others are counted
TRIES = 30  # at a number that is played again alone, if the clock has a part in it
PROGRESS_SECONDS = 2

Outcome = collections.namedtuple("Outcome", "seconds codes promise story skipped")


class Hostile:
    def __init__(self, chosen):
        self.chosen = chosen
        self.scratch = tempfile.mkdtemp(prefix="hinge-hostile-")
        self.spent, self.played = collections.Counter(), collections.Counter()
        self.codes = collections.defaultdict(collections.Counter)
        self.findings = collections.defaultdict(list)  # (trial, promise): numbers
        self.skipped = collections.Counter()

    def folder(self, name, number):
        return os.path.join(self.scratch, f"{name}-{number}")

    def count(self, name, number, outcome):
        """Takes note of what became of a number; its folder is kept or removed."""
        self.spent[name] += outcome.seconds
        self.played[name] += 1
        self.codes[name] += outcome.codes
        folder = self.folder(name, number)
        if outcome.skipped:
            self.skipped[f"{name}: {outcome.skipped}"] += 1
        if outcome.promise:
            numbers = self.findings[name, outcome.promise]
            numbers.append(number)
            if len(numbers) <= SHOWN:
                kept = pathlib.Path(self.chosen.keep, f"seed-{self.chosen.seed}", f"{name}-{number}")
                shutil.rmtree(kept, ignore_errors=True)
                shutil.copytree(folder, kept, symlinks=True, ignore=lambda _, names: {"pipe"} & set(names))
                (kept / "story.txt").write_text(outcome.story)
                print(f"\r\x1b[K" if sys.stderr.isatty() else "", end="", file=sys.stderr, flush=True)
                print(f"FINDING: {outcome.promise}\n{outcome.story}\nkept: {kept}\nrepeat: {self.repeat(name, number)}\n", flush=True)
        shutil.rmtree(folder, ignore_errors=True)

    def repeat(self, name, number):
        program = os.path.relpath(trial.support.PROGRAM, trial.ROOT)
        program = trial.support.PROGRAM if program.startswith("..") else program
        return f"make hostile HINGE={program} SEED={self.chosen.seed} ONLY={name}:{number}"

    def table(self):
        total = collections.Counter()
        lines = [("trial", "numbers", "runs", "findings", "runs by exit code")]
        for name in self.chosen.trials:
            codes = self.codes[name]
            found = sum(len(numbers) for (of, _), numbers in self.findings.items() if of == name)
            by_code = ", ".join(f"{code}: {count}" for code, count in sorted(codes.items(), key=lambda item: str(item[0]).zfill(4)))
            lines.append((name, f"{self.played[name]:,}", f"{sum(codes.values()):,}", f"{found:,}", by_code))
            total.update(numbers=self.played[name], runs=sum(codes.values()), findings=found)
        lines.append(("all", *(f"{total[what]:,}" for what in ("numbers", "runs", "findings")), ""))
        text = "\n".join(f"{name:14}{numbers:>9}{runs:>9}{found:>9}  {codes}".rstrip() for name, numbers, runs, found, codes in lines)
        for (name, promise), numbers in self.findings.items():
            text += f"\n{len(numbers):6} x {name}: {promise}; {self.repeat(name, numbers[0])}"
        for reason, count in self.skipped.items():
            text += f"\n{count:6} skipped, {reason}"
        return text

    def run(self):
        """Plays numbers on all cores until the time is up, always of the trial that has had the least of it."""
        chosen, begun = self.chosen, time.monotonic()
        waiting = [chosen.only] * (TRIES if TRIALS[chosen.only[0]].timed else 1) if chosen.only else []
        following = collections.Counter()
        running, shown = {}, begun
        with concurrent.futures.ProcessPoolExecutor(chosen.jobs, initializer=ignore_interrupts) as pool:
            while True:
                now = time.monotonic()
                if chosen.only and self.findings:
                    waiting.clear()
                while len(running) < chosen.jobs and (waiting or not chosen.only and now - begun < chosen.seconds):
                    if waiting:
                        name, number = waiting.pop()
                    else:
                        beside = collections.Counter(name for name, _, _ in running.values())
                        name = min(chosen.trials, key=lambda name: (self.spent[name], beside[name]))
                        number = following[name]
                        following[name] += 1
                        self.spent[name] += 1e-3  # so that those that begin are not all of one kind
                    future = pool.submit(play, name, chosen.seed, number, self.folder(name, number))
                    running[future] = name, number, now
                if not running:
                    return
                done, _ = concurrent.futures.wait(running, PROGRESS_SECONDS, concurrent.futures.FIRST_COMPLETED)
                for future in done:
                    name, number, _ = running.pop(future)
                    self.count(name, number, future.result())
                if sys.stderr.isatty() and time.monotonic() - shown > PROGRESS_SECONDS:
                    shown = time.monotonic()
                    runs = ", ".join(f"{name} {sum(self.codes[name].values()):,}" for name in chosen.trials)
                    found = sum(map(len, self.findings.values()))
                    print(f"\r\x1b[K{shown - begun:.0f} s, runs: {runs}; {found} findings", end="", file=sys.stderr, flush=True)


def ignore_interrupts():
    """Ctrl-C ends the program that counts; by a handler, since what is ignored stays so in programs that are started."""
    signal.signal(signal.SIGINT, lambda *_: None)


def play(name, seed, number, folder):
    """Plays one number, in a process of its own."""
    os.makedirs(folder)
    one = TRIALS[name](seed, number, folder)
    begun, promise, story, skipped = time.monotonic(), None, "", None
    try:
        one.play()
    except unittest.SkipTest as reason:
        skipped = str(reason)
    except AssertionError as finding:
        promise = str(finding)
    except Exception:  # the trial itself is at fault, or did not think of something
        promise = "the trial failed: " + traceback.format_exc().strip().splitlines()[-1]
        story = traceback.format_exc()
    finally:
        one.doCleanups()
    if promise:
        said = f"ended with {one.last.code}; stderr:\n{one.last.err[-2000:]}" if one.last else ""
        story = "".join(f"  {line}\n" for line in one.commands[-40:]) + story + said
    return Outcome(time.monotonic() - begun, one.codes, promise, story, skipped)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--seconds", type=float, default=600, help="how long (600)")
    parser.add_argument("--seed", type=int, help="of everything random (the time)")
    parser.add_argument("--trials", help=f"which, of {','.join(TRIALS)} (all)")
    parser.add_argument("--only", metavar="TRIAL:NUMBER", help="this one alone, again")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="at a time (one a core)")
    parser.add_argument("--keep", default=str(trial.ROOT / "build" / "hostile"), help="where findings go (build/hostile)")
    chosen = parser.parse_args()
    if chosen.only:
        name, _, number = chosen.only.partition(":")
        if name not in TRIALS or not number.isdigit():
            parser.error(f"--only: expected TRIAL:NUMBER, got {chosen.only}")
        chosen.only, chosen.trials, chosen.jobs = (name, int(number)), name, 1
    chosen.trials = chosen.trials.split(",") if chosen.trials else list(TRIALS)
    for name in set(chosen.trials) - set(TRIALS):
        parser.error(f"--trials: there is no {name}; there are {', '.join(TRIALS)}")
    chosen.seed = int(time.time()) if chosen.seed is None else chosen.seed
    return chosen


def main():
    chosen = arguments()
    print(f"{trial.support.PROGRAM}, seed {chosen.seed}" + ("" if chosen.only else f", {chosen.seconds:g} s"), flush=True)
    hostile = Hostile(chosen)
    try:
        hostile.run()
    except KeyboardInterrupt:
        pass
    finally:
        shutil.rmtree(hostile.scratch, ignore_errors=True)
    print(("\n" if sys.stderr.isatty() else "") + hostile.table())
    return 1 if hostile.findings else 0


if __name__ == "__main__":
    sys.exit(main())
