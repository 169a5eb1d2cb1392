"""What the trials share: a folder, a die, and what must hold of every run of the program.

A trial is played by its number. Everything random comes from (seed, name of the trial, number), so that one can be played
again alone; only what the clock decides, the moment of a signal, may then differ by a little. What a trial does not find
as promised is a finding: it ends the number, and its folder is kept.
"""

import collections
import os
import pathlib
import random
import re
import resource
import shlex
import signal
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "cli"))
os.environ.setdefault("HINGE", str(ROOT / "build" / "hinge"))
os.environ.setdefault("ASAN_OPTIONS", "allocator_may_return_null=1")  # as operator new does, which then throws

import support

SANITIZED = b"__asan_init" in pathlib.Path(support.PROGRAM).read_bytes()
GIB = 1 << 30
MOST_FILE_BYTES = 64 << 20  # of a file that a run may write, lest a random number of rows fill the disk
BUG = 70


def documented_codes():
    """The exit codes that docs/cli.md has a row for, but that of a bug."""
    table = (ROOT / "docs" / "cli.md").read_text().partition("\n## Exit codes\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| ([\d, ]+) \|", table, re.M)
    return {int(code) for row in rows for code in row.split(",")} - {BUG}


CODES = documented_codes()


class Trial(support.Case):
    """One number of one trial. play() is what a trial does; it raises AssertionError with its finding."""

    memory = 4 * GIB  # of address space a run may have; a sanitizer takes terabytes of it, so there is no limit then

    timed = False  # whether the clock has a part in it, so that the same number may end otherwise

    def __init__(self, seed, number, folder):
        super().__init__("play")
        self.number = number
        self.dir = pathlib.Path(folder)
        self.draw = random.Random(f"{seed} {type(self).__name__} {number}")
        self.codes = collections.Counter()
        self.commands = []  # of all runs, as a shell would take them
        self.last = None

    def chance(self, share):
        return self.draw.random() < share

    def expect(self, condition, promise):
        """A finding unless the condition holds; the promise is what was broken, without names that vary."""
        if not condition:
            raise AssertionError(promise)

    # ---- Running the program: as in the other tests, with limits; how it ended is counted and looked at.

    def limit(self):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (MOST_FILE_BYTES, MOST_FILE_BYTES))
        if not SANITIZED:
            resource.setrlimit(resource.RLIMIT_AS, (self.memory, self.memory))

    def note(self, arguments, source):
        self.last = None
        self.commands.append("hinge " + shlex.join(map(str, arguments)) + (f" <{source}" if source else ""))

    def ended(self, run, undocumented=()):
        """Counts a run, and looks at how it ended; some may end otherwise than by the table."""
        self.last = run
        self.codes[run.code] += 1
        self.expect("Sanitizer" not in run.err and "runtime error:" not in run.err, "a sanitizer found something")
        self.expect(run.code != BUG, "the program says that it has a bug (70)")
        self.expect(run.code >= 0 or run.code in undocumented, f"died of {signal_name(run.code)}")
        self.expect(run.code in CODES or run.code in undocumented, f"an undocumented exit code, {run.code}")
        return run

    def hinge(self, *arguments, source=None, code=None, **how):
        """Runs the program to its end; `source` is the file that it reads as standard input."""
        self.note(arguments, source)
        try:
            run = super().hinge(*arguments, code=None, stdin=self.read(source) if source else None,
                                preexec_fn=self.limit, **how)
        except self.failureException:
            self.codes["no end"] += 1
            raise AssertionError(f"no end after {support.TIMEOUT} s") from None
        self.ended(run)
        if code is not None:
            self.expect(run.code == code, f"{arguments[0]} ended with {run.code}, where {code} was due")
        return run

    def start(self, *arguments, source=None, **popen):
        self.note(arguments, source)
        with open(self.dir / source if source else os.devnull) as stdin:
            return super().start(*arguments, stdin=stdin, preexec_fn=self.limit, **popen)

    def finish(self, process, timeout=support.TIMEOUT, undocumented=()):
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            self.codes["no end"] += 1
            raise AssertionError(f"no end {timeout:g} s after it was due") from None
        return self.ended(support.Run(process.args[1:], process.returncode, out or b"", err), undocumented)

    # ---- The folder.

    def contents(self):
        """The bytes of all files of the folder and of those in it."""
        return {str(path.relative_to(self.dir)): path.read_bytes() for path in sorted(self.dir.rglob("*"))
                if path.is_file() and not path.is_symlink()}

    def bytes_of(self, *names):
        """Of each file, or None where it is not there."""
        return [self.read(name) if (self.dir / name).exists() else None for name in names]

    def remove(self, *names):
        for name in names:
            (self.dir / name).unlink(missing_ok=True)

    def leftovers(self):
        return [name for name in self.files() if "tmp" in name]

    def rows(self, most=300, columns=10):
        """Text of a random data set that trains in no time."""
        classes = self.draw.choice(((-1, 1), (-1, 1), (1, 2, 3)))
        data = support.make_rows(self.draw.randint(20, most), self.draw.randint(1, columns), noise=0.3,
                                 seed=self.draw.getrandbits(32), classes=classes)
        if self.chance(0.5):  # sparse
            data = [(label, {j: v for j, v in x.items() if self.chance(0.4)}) for label, x in data]
        return support.to_text(data)


def signal_name(code):
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"
