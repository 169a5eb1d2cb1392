"""Signals at random moments: whatever ends a command, each of its outputs is the old file or a whole new one.

What was interrupted can go on: to the same bytes as if nothing had happened.
"""

import json
import pathlib
import re
import signal
import subprocess
import time

import support
from trial import Trial

LIMIT = 10  # seconds from the last signal to the end; one is promised, on a machine that is not busy
ENDINGS = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129, signal.SIGXCPU: 152, signal.SIGKILL: -9}
INT, TERM, HUP, XCPU, KILL = ENDINGS
USR1, STOP, CONT = signal.SIGUSR1, signal.SIGSTOP, signal.SIGCONT
VOLLEYS = ((INT,), (TERM,), (HUP,), (XCPU,), (KILL,), (KILL,), (KILL,), (USR1,), (USR1, KILL), (STOP, CONT), (STOP, TERM, CONT),
           (INT, INT), (HUP, TERM), (STOP, INT, TERM, CONT), (USR1, USR1, INT))

# Each is run on d.svm; and its outputs.
COMMANDS = (
    ("train d.svm m --gap 1e-7", ("m",)),
    ("train d.svm m -c 10 --gap 1e-6 --trace t", ("m", "t")),
    ("train d.svm m --gap 1e-7 --cache", ("m", "d.svm.cache")),
    ("train d.svm m --gap 1e-7 -s SOLVER --checkpoint ck --every 0.001", ("m", "ck", "ck.previous")),
    ("train d.svm m --gap 1e-7 -s SOLVER --checkpoint ck --every 0.001", ("m", "ck", "ck.previous")),
    ("stream m --lambda 1e-3 --save-every 20 --predictions p <d.svm", ("m", "p")),
    ("stream m --lambda 1e-3 --save-every 9 <d.svm", ("m",)),
    ("predict d.svm good p --scores", ("p",)),
    ("convert d.svm x.hinge", ("x.hinge",)),
    ("convert d.hinge x.svm --force", ("x.svm",)),
    ("split d.svm one two --force", ("one", "two")),
    ("generate g --like dense --rows 3000 --features 20", ("g",)),
)
VARYING = ("t", "d.svm.cache", "ck", "ck.previous")  # outputs that are not the same bytes whenever they are written
SOLVERS = ("dual", "newton", "pegasos --epochs 300", "ocas", "ocas3", "active", "focus")


class Signals(Trial):
    timed = True

    def play(self):
        draw = self.draw
        line, self.outputs = draw.choice(COMMANDS)
        line, _, source = line.replace("SOLVER", draw.choice(SOLVERS)).partition("<")
        self.line, self.source = line.split(), source or None
        self.write("d.svm", self.rows(most=1500, columns=20))
        self.hinge("convert", "d.svm", "d.hinge", code=0)
        self.hinge("train", "d.svm", "good", "--max-passes", 20, code=0)
        old = [None] * len(self.outputs)
        if "--checkpoint" not in self.line and self.chance(0.5):
            old = self.make_old()
        begun = time.monotonic()
        self.hinge(*self.line, source=self.source, code=0)
        usual = time.monotonic() - begun
        whole = self.bytes_of(*self.outputs)
        for name, data in zip(self.outputs, old):
            self.remove(name, name + ".lock") if data is None else self.write(name, data)
        run, volley = self.disturb(draw.choice(VOLLEYS), draw.uniform(0, 1.3 * usual))
        single = sum(number in ENDINGS for number in volley) == 1  # a second one ends it at once, as KILL does
        self.judge(run, volley, old, whole, single)
        self.go_on(run, old, whole, single)

    def make_old(self):
        """What the outputs were before: those of the same command on other rows."""
        data = self.read("d.svm")
        self.write("d.svm", data[: len(data) // 2].rpartition(b"\n")[0] + b"\n" + support.GOOD)
        self.hinge("convert", "d.svm", "d.hinge", code=0)
        self.hinge(*self.line, source=self.source)
        old = self.bytes_of(*self.outputs)
        self.write("d.svm", data)
        self.hinge("convert", "d.svm", "d.hinge", code=0)
        return old

    def disturb(self, volley, delay):
        """Sends signals to the command; returns how it ended, and the signals that it was ready for."""
        process = self.start(*self.line, source=self.source, stdout=subprocess.DEVNULL)
        try:
            process.wait(delay)
        except subprocess.TimeoutExpired:
            pass
        ready, sudden = [], []
        for number in volley:
            # A signal that comes before the program has said what it makes of it has the meaning that the system gives it.
            caught = number in (KILL, STOP, CONT) or catches(process, number)
            if number == USR1 and not caught:
                continue
            ready.append(number) if caught else sudden.append(number)
            process.send_signal(number)
            time.sleep(self.draw.choice((0, 0, 0.002, 0.02)))
        self.commands[-1] += f"  # after {delay:.4f} s: {' '.join(number.name for number in volley)}"
        run = self.finish(process, LIMIT, undocumented=(-KILL, *(-number for number in sudden)))
        return run, [*ready, *sudden]

    def judge(self, run, volley, old, whole, single):
        codes = {0, *(ENDINGS[number] for number in volley if number in ENDINGS), *(-number for number in volley if number in ENDINGS)}
        self.expect(run.code in codes, f"ended with {run.code} after {' '.join(number.name for number in volley)}")
        if run.code == 0 or run.code != -KILL and single:
            self.expect(not self.leftovers(), "a temporary file was left")
            self.expect("ck.lock" not in self.files(), "a lock was left")
        for name, before, after in zip(self.outputs, old, whole):
            (now,) = self.bytes_of(name)
            if now == before and (run.code != 0 or before is None and name.startswith("ck")):
                continue
            if name == "p" and self.line[0] == "stream" and run.code != 0:
                self.expect(now is not None and after.startswith(now) and now[-1:] in (b"", b"\n"), "predictions of a stream are torn")
            elif name in VARYING or name == "m" and run.code != 0:
                self.judge_whole(name, now)
            else:
                self.expect(now == after, f"{self.line[0]} left an output that is neither the old nor the new one")

    def judge_whole(self, name, now):
        """An output that need not be that of an undisturbed run is whole, all the same."""
        self.expect(now is not None, f"{self.line[0]} lost an output")
        if name == "t":
            self.expect(now[-1:] in (b"", b"\n") and all(json.loads(line) for line in now.splitlines()), "a trace is torn")
        else:
            self.expect(self.hinge("info", name).code == 0, f"{self.line[0]} left an output that cannot be read")
        if name == "m" and self.line[0] == "train":
            self.expect(self.hinge("verify", "m", "d.svm").code == 0, "the model of an interrupted run does not verify")

    def go_on(self, run, old, whole, single):
        """Runs what was interrupted to its end: from where it was, or again."""
        line = self.line
        if "--checkpoint" in line and (self.dir / "ck").exists():
            line = ["train", "d.svm", "m", "--resume", "ck", "-n", self.draw.choice("123")]
        elif line[0] == "stream" and run.code != 0 and self.bytes_of("m") not in ([None], old[:1]):
            line = ["stream", "m", "--resume", "--skip-seen", *(["--predictions", "rest"] if "p" in self.outputs else [])]
        times = self.times()
        again = self.hinge(*line, source=self.source)
        self.expect(again.code == 0, f"{line[0]} does not go on after {run.code}")
        for name, now, after in zip(self.outputs, self.bytes_of(*self.outputs), whole):
            if name == "p" and "--resume" in line:
                rest = self.read("rest")
                both = (now or b"") + rest == after if run.code > 0 and single else after.endswith(rest)
                self.expect(both, "predictions of a stream that goes on are not those of the rows that were left")
            elif name not in VARYING:
                self.expect(now == after, f"{line[0]} goes on after {run.code} to something else")
        self.expect("ck.lock" not in self.files(), "a lock was left")
        if all(before != now for before, now in zip(times, self.times())):  # each was saved again
            self.expect(not self.leftovers(), "what a kill left is still there after the next save")

    def times(self):
        paths = [self.dir / name for name in self.outputs]
        return [path.stat().st_mtime_ns if path.exists() else None for path in paths]


def catches(process, number):
    """Whether a process has a handler for a signal."""
    try:
        status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    except OSError:
        return True
    caught = re.search(r"^SigCgt:\s*(\w+)", status, re.M)
    return caught is None or int(caught[1], 16) >> (number - 1) & 1 == 1
