"""Command lines: random words, options, values and files, made from the program's own --help.

Each ends with a documented code, or goes on until a signal ends it within seconds. What was in the folder before stays as
it was, unless it was replaced by a file of its own kind.
"""

import functools
import json
import os
import re
import subprocess
import tempfile

from support import GOOD, Container
from trial import Trial

PATIENCE = 2  # seconds until a run that does not end is told to
LIMIT = 10  # seconds from that signal to the end; one is promised, on a machine that is not busy
FORCE = "--force"

# What a usage error, bad input or an output that cannot be made leaves as it was: everything.
NOTHING_DONE = (64, 66, 69, 73, 77)

NUMBERS = ("0", "1", "2", "3", "5", "10", "0.1", "0.5", "1e-3", "1e-9", "-1", "1e3", "100", "1,10", "0.1:10:3", "1=2", "1M", "2G")
NASTY = ("", " ", "-", "--", "nan", "inf", "-0", "1e400", "1e-400", "4294967296", "18446744073709551615", "99999999999999999999",
         "0x10", "1e", "%s%n", "*", "a=b=c", "\x1b[31m", "\u00e9", "x" * 300, "=", "/", ".", "..", "/dev/null", "/dev/full", "[id]")
MISSING = ("missing.svm", "new.model", "new.svm", "new.txt", "new.hinge", "new.liblinear", "nowhere/new")

MAKERS = (  # of the files that every command line finds
    "train part-1.svm a.model --trace trace.jsonl", "train part-2.svm b.liblinear", "convert part-1.svm a.hinge",
    "train part-1.svm c.model --checkpoint run.ck --every 1e-9 --max-passes 4", "stream s.model --lambda 0.1 <part-2.svm",
    "predict part-1.svm a.model labels.txt", "compare part-2.svm --max-passes 3 --svg race.svg", "info part-2.svm --cache")


class Subject(Trial):
    """Asks the program for its help, and makes the files."""

    def play(self):
        commands = {}
        for name in re.findall(r"^  (\w+) {2,}\S", self.hinge("--help").text.partition("Subcommands:")[2], re.M):
            text = self.hinge(name, "--help").text
            wanted = re.findall(r"[A-Z]+", re.search(r"Usage: hinge \w+ \[OPTIONS\](.*)", text)[1])
            parts = re.split(r"^  (?:-\w, )?(--[\w-]+)", text, flags=re.M)[1:]
            options = dict(zip(parts[::2], parts[1::2]))
            options.update({"-" + short: options[long] for short, long in re.findall(r"^  -(\w), (--[\w-]+)", text, re.M)})
            commands[name] = wanted, options
        for name in ("part-1.svm", "part-2.svm"):
            self.write(name, self.rows(most=40, columns=5))
        for line in MAKERS:
            line, _, source = line.partition("<")
            self.hinge(*line.split(), source=source or None, code=0)
        self.write("tiny.svm", GOOD)
        self.write("bad.svm", b"1 1:1\n-1 2:nan\n1 0:x\n")
        self.write("notes.txt", b"Do not lose this.\n")
        self.write("part-1.svm.cache", b"Nor this: nobody says that it is a cache.\n")
        self.write("empty", b"")
        return commands, self.contents()


@functools.lru_cache(1)
def subject():
    """Commands {name: (positionals, {option: help})} and files {name: bytes}; the same for all, made once a process."""
    with tempfile.TemporaryDirectory(prefix="hinge-hostile-") as folder:
        return Subject(0, 0, folder).play()


def kind(data):
    """What a file is, by its content, as far as it matters who may replace it."""
    if not data:
        return "empty"
    if data[8:9] == b"{":
        try:
            return Container(data).metadata["format"].replace("hinge.dataset", "data")
        except (ValueError, KeyError, AssertionError):
            return "something damaged"
    if data.startswith(b"solver_type"):
        return "hinge.model"
    if data.startswith(b"<svg") or data.startswith(b"<?xml"):
        return "figure"
    lines = data.decode("utf-8", "replace").splitlines()
    if any(re.search(r"(^|\s)\d+:\S", line) for line in lines):
        return "data"
    try:
        return "trace" if all(isinstance(json.loads(line), dict) for line in lines) else "predictions"
    except ValueError:
        number = r"[-+.\deinfa]+"
        return "predictions" if all(re.fullmatch(f"{number}( {number})*", line) for line in lines) else "other text"


class CommandLines(Trial):
    def play(self):
        self.known, files = subject()
        for name, data in files.items():
            self.write(name, data)
        (self.dir / "folder").mkdir()
        (self.dir / "link").symlink_to("part-2.svm")
        (self.dir / "loop").symlink_to("loop")
        os.mkfifo(self.dir / "pipe")
        self.names = sorted(files) + ["folder", "link", "loop"]
        self.try_one()

    # ---- The words.

    def value(self, about):
        """For an option, of which the help is known: mostly one that it may take."""
        form, about = about.split(None, 1)
        if self.chance(0.2):
            return self.draw.choice((self.file(), self.draw.choice(NASTY), self.draw.choice(re.findall(r"[\w.:-]+", about))))
        if form in ("FILE", "MODEL"):
            return self.file({"MODEL": ".model"}.get(form, ""))
        listed = re.search(r"one of ([\w, -]+)|\(([\w, -]+) or ", " ".join(about.split()))
        words = form.split("|") if "|" in form else re.split(r"\W*,\W*", listed[1] or listed[2]) if listed else NUMBERS
        return self.draw.choice(words)

    def file(self, suffix=""):
        names = [name for name in self.names if name.endswith(suffix)] or self.names
        return self.draw.choice((self.draw.choice(names), self.draw.choice(names), self.draw.choice(MISSING)))

    def positional(self, name):
        if self.chance(0.1):
            return self.draw.choice((self.file(), self.file(), "part-*.svm", "-", self.draw.choice(NASTY), "pipe"))
        kind = {"DATA": ".svm", "IN": ".svm", "MODEL": ".model"}.get(name, "")
        return self.file(kind if self.chance(0.8) else "")

    def words(self):
        draw = self.draw
        name = draw.choice(list(self.known))
        wanted, options = self.known[name]
        words = [self.positional(word) for word in wanted[: draw.choice((len(wanted), len(wanted), 1, 9))]]
        if self.chance(0.05):
            words.append(self.file())
        for option in draw.choices(list(options), k=draw.choice((0, 0, 1, 1, 2, 3, 6))):
            form = re.match(r" \S", options[option])  # an option's own value follows its name after one blank
            more = [option] if not form else [option, self.value(options[option])]
            if option.startswith("--") and self.chance(0.3 if form else 0.03):
                more = ["=".join((option, self.value(options[option])))]
            at = draw.randint(0, len(words))
            words[at:at] = more if self.chance(0.97) else more[:1]
        if name == "generate" and not any(word.startswith("--rows") for word in words):
            words += ["--rows", "20"]  # by default there are as many as in the real set
        if self.chance(0.03):
            draw.shuffle(words)
        words = [word.replace("\0", "") for word in words]
        return [draw.choice((name[:-1], name.upper(), draw.choice(NASTY))) if self.chance(0.02) else name, *words]

    # ---- One command line.

    def try_one(self):
        before, words = self.contents(), self.words()
        process = self.start(*words, source=self.draw.choice((None, "part-2.svm", "bad.svm")), stdout=subprocess.DEVNULL)
        told = False
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.terminate()
            told = True
        run = self.finish(process, LIMIT)
        if told:
            self.expect(run.code in (143, 0), f"a signal ended it with {run.code}")
        after = self.contents()
        self.expect(not self.leftovers(), "a temporary file was left")
        self.expect(set(before) <= set(after), "a file is gone")
        changed = [name for name in after if name in before and after[name] != before[name]]
        if run.code in NOTHING_DONE:
            self.expect(not changed, f"a run that ended with {run.code} changed a file")
        for name in changed:
            was, became = kind(before[name]), kind(after[name])
            if words[0] in ("split", "convert", "generate") and became in ("empty", "predictions"):
                became = "data"  # of no rows, or of rows without a feature
            self.expect(was in (became, "empty") or FORCE in words, f"{words[0]}: {was} was replaced by {became}")
