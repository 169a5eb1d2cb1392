"""The catalogue of faults and bad inputs: what every one of them gets.

One place for every row; tests/catalogue/README.md says what each is. Each case is a test of its own, whose name begins
with its row; `python3 catalogue_test.py -k V10_` runs some of them. Bad inputs that are data stand in
tests/catalogue/*.json: tests/catalogue_test.cc reads all of them in one process, and the first of every kind of error
goes through the program here. NOT_HERE says where the rest is. A failed run leaves no new file and every old one as it
was; that is checked for all of them.
"""

import bz2
import contextlib
import fcntl
import gzip
import json
import lzma
import os
import pathlib
import random
import re
import resource
import shlex
import shutil
import signal
import socket
import stat
import struct
import subprocess
import sys
import termios
import time
import unittest
from typing import Callable, NamedTuple, Union

import support
from support import (DATA, GOOD, LONG, OLD_MODEL, PROGRAM, SIGNALS, SLOW, TEXT, CommandCase, Container, ErrorCase, ModelFile,
                     at_length, cpu_seconds, joined, make_rows, mapping_fails, table, to_text, unprivileged, waiting)

ROWS = [f"{group}{number}" for group, count in
        {"T": 30, "L": 16, "V": 19, "I": 11, "B": 17, "M": 17, "O": 15, "R": 21}.items()
        for number in range(1, count + 1)]

# Rows, or parts of them, that are not tested here: why, and where they are. FILE::WORD is looked up.
FAULTS = "tests/cli/faults_test.py"
CHECKPOINTS = "tests/cli/checkpoint_test.py"
NOT_HERE = {
    "T25": ("reads that fail are injected", FAULTS + "::ReadErrorTest"),
    "T26": ("part: short and interrupted reads of files are injected", FAULTS + "::ReadErrorTest"),
    "T27": ("2^31 lines take too long to read", "tests/base/error_test.cc::LineNumbersAre64Bit"),
    "M12": ("part: good models need LIBLINEAR's programs", "tests/cli/liblinear_test.py::TheirModels"),
    "M13": ("there is no earlier release", ""),
    "M17": ("pickles are Python's", "python/tests/test_catalogue.py::Y15 hostile pickle"),
    "R1": ("part: every single write is failed by injection", FAULTS + "::WriteErrorTest"),
    "R2": ("part: EDQUOT, EIO and failing fsync, close and rename are injected", FAULTS + "::WriteErrorTest"),
    "R3": ("a disk with little room", CHECKPOINTS + "::test_full_disk"),
    "R5": ("kills at every system call are injected", FAULTS + "::KillTest"),
    "R6": ("kills at random moments", CHECKPOINTS + "::KillTest"),
    "R7": ("the order of system calls is recorded by injection", FAULTS + "::test_power_loss"),
    "R8": ("part: USR1 asks for a checkpoint", CHECKPOINTS + "::test_on_request"),
    "R11": ("failing allocations are injected", FAULTS + "::MemoryTest"),
    "R12": ("part: after an OOM kill the last checkpoint counts", CHECKPOINTS + "::KillTest"),
    "R13": ("part: the lock is that of a checkpoint", CHECKPOINTS + "::test_held_and_stale"),
    "R14": ("as R13", CHECKPOINTS + "::test_held_and_stale"),
    "R15": ("every field", CHECKPOINTS + "::AgreementTest"),
    "R16": ("damage of all kinds", CHECKPOINTS + "::test_damaged"),
    "R18": ("needs a worker that throws", "tests/base/pool_test.cc::ExceptionReachesTheCaller"),
}

FIELDS = {"severity", "id", "file", "line", "column", "offset", "message", "help"}
MEGABYTE = 1 << 20
FOLDER = pathlib.Path(__file__).parents[1] / "catalogue"


def encoded(text):
    return text if isinstance(text, bytes) else text.encode()


def third(line):
    """Two good lines, then this one."""
    return GOOD + encoded(line) + b"\n"


def escaped(line):
    return "".join(chr(b) if 0x20 <= b < 0x7F else f"\\x{b:02x}" for b in line)


def some(text, most=50):
    return text if len(text) <= most else text[:most] + "..."


class Refusals(ErrorCase):
    """Cases that are not a row of a table."""

    def everything(self):
        """All files below the folder with what is in them; of large ones size and time must do."""
        found = {}
        for path in sorted(self.dir.rglob("*")):
            status = path.lstat()
            small = stat.S_ISREG(status.st_mode) and status.st_size < MEGABYTE
            with contextlib.suppress(PermissionError):
                found[path] = path.read_bytes() if small else (status.st_mode, status.st_size, status.st_mtime_ns)
        return found

    def refused(self, code, identifier, *command, place="", says="", **how):
        """The run ends with this code and id; all files stay as they were. `place` is file:line:column or file."""
        before = self.everything()
        run = self.hinge(*command, code=code, **how)
        self.check_refusal(run, identifier, place, says)
        self.assertEqual(self.everything(), before)
        return run

    def check_refusal(self, run, identifier, place="", says=""):
        self.assertRegex(run.err.splitlines()[0] if run.err else "",
                         rf"^{re.escape(place) or '[^ ]+'}: error: .+ \[{re.escape(identifier)}\]$", run)
        self.assertRegex(run.err, re.compile(says, re.M))
        self.assertPlain(run)
        self.assertEqual(run.out, b"")
        self.assertExplained(identifier)


class Scenes(Refusals, CommandCase):
    """Cases that begin with a good data set d.svm."""


# ---- Data that is refused.


class Bad(NamedTuple):
    name: str
    data: Union[bytes, str]
    id: str
    place: str = ""  # line:column; empty: the file as a whole
    options: str = ""
    says: str = ""  # a pattern that occurs on stderr
    code: int = 65


def catalogue(name):
    """The rows of a file of the catalogue."""
    return json.loads((FOLDER / name).read_text())


def bad_data(row):
    """A row of bad_data.json."""
    data = (bytes.fromhex(row["hex"]) if "hex" in row else row["data"].encode() if "data" in row
            else third(row["third"]))
    options = " ".join(f"--{name}" + ("" if value is True else f" {value}") for name, value in
                       row.get("options", {}).items())
    says = ".*".join(map(re.escape, row.get("says", "").split(" ... ")))
    return Bad(row["row"], data, row["id"], row.get("place", ""), options, says, row.get("code", 65))


def first_of_every(rows, kind):
    """The first row of every kind."""
    found = {}
    for row in rows:
        found.setdefault(kind(row), row)
    return list(found.values())


BAD_DATA = [bad_data(row) for row in catalogue("bad_data.json")]
TOO_MANY_CLASSES = Bad("L10 too many classes", "".join(f"{i} 1:1\n" for i in range(100_001)), "limit.classes",
                       says=r"100001 .*\d [KMG]iB")


@table(first_of_every(BAD_DATA, lambda row: row.id) + [TOO_MANY_CLASSES])
class BadData(ErrorCase):
    def check(self, row):
        data = encoded(row.data)
        self.write("d.svm", data)
        self.write("m", OLD_MODEL)
        command = ["train", "d.svm", "m", *row.options.split()]
        run = self.hinge(*command, code=row.code)
        place = f"d\\.svm:{row.place}" if row.place else "(d\\.svm|hinge)"
        self.assertRegex(run.lines[0], rf"^{place}: error: .+ \[{re.escape(row.id)}\]$")
        self.assertEqual(run.lines[-1], "hinge: 1 error; no model written; m unchanged")
        self.assertRegex(run.err, re.compile(row.says, re.M))
        self.assertPlain(run)
        self.assertEqual(run.out, b"")
        self.assertEqual(self.files(), ["d.svm", "m"])
        self.assertEqual(self.read("m"), OLD_MODEL)
        self.assertExplained(row.id)
        if row.place:
            self.check_excerpt(run, data.split(b"\n"), *map(int, row.place.split(":")))
        self.check_json(self.hinge(*command, "--diagnostics", "json", code=row.code), run, row, data)

    def check_excerpt(self, run, lines, line, column):
        """The bad bytes stand in the second line of the message, and the caret of the third below them."""
        shown = re.fullmatch(r" *(\d+) \| (.*)", run.lines[1])
        caret = re.fullmatch(r" +\| ( *)\^~*", run.lines[2])
        self.assertTrue(shown and caret, run)
        self.assertEqual(run.lines[1].index("|"), run.lines[2].index("|"))
        self.assertEqual(int(shown[1]), line)
        self.assertIn(shown[2], escaped(lines[line - 1]))
        wrong = escaped(lines[line - 1][column - 1 : column])
        self.assertEqual(shown[2][len(caret[1]) :][: len(wrong)], wrong)

    def check_json(self, run, text, row, data):
        found = json.loads(run.err)  # the only line
        self.assertEqual(set(found), FIELDS)
        self.assertEqual((found["severity"], found["id"]), ("error", row.id))
        self.assertIn(f"error: {found['message']} [{row.id}]", text.lines[0])
        self.assertIn(found["help"], text.err)
        if row.place:
            line, column = map(int, row.place.split(":"))
            before = data.split(b"\n")[: line - 1]
            self.assertEqual((found["file"], found["line"], found["column"]), ("d.svm", line, column))
            self.assertEqual(found["offset"], sum(len(b) + 1 for b in before) + column - 1)


# ---- Data that is odd but usable: one counted warning with the first place.


class Odd(NamedTuple):
    name: str
    data: str
    id: str
    says: str
    options: str = ""


ODD_DATA = [
    Odd("T13 qid", "1 qid:3 1:1\n-1 qid:4 1:2\n1 1:3\n", "data.qid.ignored", r"\b2 .*\(first: d\.svm:1:3\)"),
    Odd("L11 rare class", "1 1:1\n" + "-1 1:-1\n" * 20_000, "data.rare-class", "class 1 .*1 of 20001 rows"),
    Odd("V5", "1 1:1 2:1e-400\n-1 1:-1 2:-1e-500\n", "data.value.underflow", r"\b2 .*\(first: d\.svm:1:9\)"),
    Odd("V5 double", "1 1:1 2:1e-400\n-1 1:-1\n", "data.value.underflow", r"\b1 .*\(first: d\.svm:1:9\)",
        "--precision f64"),
    Odd("V6 float", "1 1:1 2:4.9e-324\n-1 1:-1 2:1e-40\n1 1:2 2:2.2e-308", "data.value.underflow",
        r"\b3 .*\(first: d\.svm:1:9\)"),
    Odd("V14 all zero", "1 1:0\n-1\n", "data.all-zero", ""),
    Odd("I3 unsorted", "1 1:1 2:1\n-1 3:1 1:1\n1 2:1 1:1\n", "data.index.unsorted", r"\b2 .*\(first: d\.svm:2:8\)"),
    Odd("V16 ill-scaled", "".join(f"{y} 1:{y * i}e-150 2:{i * i % 7}e150\n" for i in range(1, 9) for y in (1, -1)),
        "solver.ill-scaled", "", "--precision f64 --max-passes 20"),
    Odd("V19 tiny and huge", "1 1:1e-300 2:1e100\n-1 1:-1e-300 2:-1e100\n", "solver.ill-scaled", "", "--precision f64"),
    Odd("O6 class weight of no class", GOOD.decode(), "usage.class-weight", "label 7", "--class-weight 7=2"),
    Odd("R20 limit", "".join(f"{y} 1:{i} 2:{7 * i % 5}\n" for i in range(9) for y in (1, -1)), "solver.limit", "gap",
        "--max-passes 1 --gap 1e-12"),
]


@table(ODD_DATA)
class OddData(ErrorCase):
    def check(self, row):
        self.write("d.svm", row.data)
        command = ["train", "d.svm", "m", "--json", *row.options.split()]
        run = self.hinge(*command)
        warnings = [line for line in run.lines if f"[{row.id}]" in line]
        self.assertEqual(len(warnings), 1, run)
        self.assertRegex(warnings[0], rf"^hinge: warning: .*{row.says}.* \[{re.escape(row.id)}\]$")
        for key in ("primal", "dual", "relative_gap"):
            self.assertIsInstance(run.json[key], (int, float))  # null would be a nan
        self.assertExplained(row.id)
        as_json = [json.loads(line) for line in self.hinge(*command, "--diagnostics", "json").lines if line[0] == "{"]
        found = [entry for entry in as_json if entry["id"] == row.id]
        self.assertEqual(len(found), 1)
        self.assertEqual(set(found[0]), FIELDS)
        self.assertEqual(found[0]["severity"], "warning")
        self.assertIn(found[0]["message"], warnings[0])
        self.assertEqual(self.hinge(*command, "--quiet").err, "")
        self.assertEqual(self.hinge("verify", "m", "d.svm", "--json", "-q").json["agrees"], True)


# ---- Labels and values that mean exactly what they say.

LABELS = [
    ("L4 point", "1.0", 1), ("L4 plus", "+1", 1), ("L4 zeros", "0001", 1), ("L4 exponent", "1e3", 1000),
    ("L4 negative exponent", "10e-1", 1), ("L4 point at the end", "7.", 7), ("L4 point first", ".0", 0),
    ("L5 1e10", "1e10", 10**10), ("L5 2^53 + 1", "9007199254740993", 2**53 + 1),
    ("L5 2^53 + 1 with a point", "9007199254740993.0", 2**53 + 1),
    ("L5 2^53 + 1 with an exponent", "9007199254740993e0", 2**53 + 1),
    ("L5 2^63 - 1", "9223372036854775807", 2**63 - 1), ("L5 -2^63", "-9223372036854775808", -(2**63)),
    ("L14 negative zero", "-0", 0),
]


@table(LABELS)
class LabelSpellings(ErrorCase):
    def check(self, row):
        _, text, label = row
        self.write("d.svm", f"{text} 1:1\n{label} 1:1\n-5 1:2\n")
        self.assertEqual(self.hinge("info", "d.svm", "--json").json["labels"], {str(label): 2, "-5": 1})


DIGITS = "3." + "1415926535897932384626433832795028841971693993751" * 16  # 800 digits
VALUES = [  # precision, as written, the number that is meant
    ("V6 smallest double", "f64", "4.9e-324", "5e-324"),
    ("V6 denormal double", "f64", "2.2e-308", "2.2e-308"),
    ("V12 800 digits", "f64", DIGITS, repr(float(DIGITS))),
    ("V12 1e-320 with 700 digits", "f64", "0." + "0" * 319 + "1" + "0" * 380, "1e-320"),
    ("V12 half-way to even", "f64", "1.00000000000000011102230246251565404236316680908203125", "1"),
    ("V12 a little more", "f64", "1.00000000000000011102230246251565404236316680908203125" + "0" * 700 + "1",
     "1.0000000000000002"),
    ("V12 half-way integer", "f64", "9007199254740993", "9007199254740992"),
    ("V12 slow path of others", "f64", "2.2250738585072011e-308", "2.225073858507201e-308"),
    ("V12 float half-way to even", "f32", "16777217", "16777216"),
    ("V12 float a little more", "f32", "16777217.000000000000000000001", "16777218"),
    ("V12 float half-way fraction", "f32", "1.000000059604644775390625", "1"),
    ("V12 float fraction, a little more", "f32", "1.000000059604644775390625000000000000001",
     "1.00000011920928955078125"),
    ("V12 float below the half-way double", "f32", "1.00000005960464477539062499999999999999", "1"),
    ("V12 largest float", "f32", "3.40282356e38", "340282346638528859811704183484516925440"),
    ("V13 100,000 digits", "f64", "0." + "12345678" * 12_500, repr(float("0.12345678" + "12345678" * 10))),
    ("V13 100,000 digits, float", "f32", "0." + "12345678" * 12_500, "0.12345678359270095825"),
    ("V13 100,000 zeros", "f64", "0" * 100_000 + "1.5", "1.5"),
    ("V13 large and small", "f64", "1" + "0" * 50_000 + "e-50000", "1"),
]


@table(VALUES)
class ValueSpellings(ErrorCase):
    def check(self, row):
        _, precision, text, number = row
        models = []
        for name, written in (("a", text), ("b", number)):
            self.write(name, f"1 1:{written} 2:1\n-1 1:1 2:-1\n")
            self.hinge("train", name, "m", "--precision", precision, "-q")
            models.append(self.read("m"))
        self.assertEqual(ModelFile(models[0]).data, ModelFile(models[1]).data)  # with the fingerprint
        self.assertEqual(models[0], models[1])


# ---- Other ways to write the same rows: the same model, byte for byte.


def compressed(form, data=TEXT.encode()):
    """These bytes compressed; zstd needs its program."""
    if form != "zstd":
        return {"gzip": gzip.compress, "bzip2": bz2.compress, "xz": lzma.compress}[form](data)
    if shutil.which("zstd") is None:
        raise unittest.SkipTest("the program zstd is not installed (package zstd)")
    return subprocess.run(["zstd", "-q", "-c", "--check"], input=data, stdout=subprocess.PIPE, check=True).stdout


FORMS = ("gzip", "bzip2", "xz", "zstd")

SAME_DATA = [  # name, text or bytes or a function that makes them
    ("T6 no newline at the end", TEXT[:-1]),
    ("T7 CRLF", TEXT.replace("\n", "\r\n")),
    ("T7 CRLF and no newline at the end", TEXT.replace("\n", "\r\n")[:-2]),
    ("T9 byte order mark", "\ufeff" + TEXT),
    ("T11 tabs", TEXT.replace(" ", "\t")),
    ("T11 doubled blanks", TEXT.replace(" ", "  ")),
    ("T11 leading blanks", joined(lambda line: " \t" + line)),
    ("T11 trailing blanks", joined(lambda line: line + " \t ")),
    ("T12 comment at the end of rows", joined(lambda line: line + " # 7:7 \u00e9 \x1b")),
    ("T12 comment without a blank before it", joined(lambda line: line + "#c")),
    ("T12 comment lines", joined(lambda line: "# 1 1:1\n" + line)),
    ("T12 blank lines", joined(lambda line: "\n \t\n" + line)),
    ("T13 qid", joined(lambda line: line.replace(" ", " qid:3 ", 1))),
    *((f"T17 {form}", lambda form=form: compressed(form)) for form in FORMS),
    *((f"T18 concatenated {form}", lambda form=form: b"".join(
        compressed(form, part) for part in (TEXT[:5000].encode(), b"", TEXT[5000:].encode()))) for form in FORMS),
    ("L4 labels with signs and points", TEXT.replace("\n1 ", "\n+1.0 ").replace("\n-1 ", "\n-01. ")),
    ("V8 explicit zeros", joined(lambda line: line + " 11:0 12:0.0 13:0e5")),
    ("V9 negative zeros", joined(lambda line: line + " 11:-0 12:-0.0")),
    ("V5 values that vanish", joined(lambda line: line + " 11:1e-400 12:-1e-500")),
    ("I3 unsorted", joined(lambda line: " ".join([line.split()[0], *reversed(line.split()[1:])]))),
    ("I7 indices with zeros and signs", TEXT.replace(" 3:", " 003:").replace(" 4:", " +4:")),
]


@table(SAME_DATA)
class SameData(CommandCase):
    def check(self, row):
        self.write("e.svm", row[1]() if callable(row[1]) else row[1])
        self.assertSame(data="e.svm")


# ---- T: files of text.


class Text(Scenes):
    def test_T2_lines_are_counted_whatever_is_in_them(self):
        self.write("e.svm", "\ufeff\n# c\n\n\t")
        self.refused(65, "data.empty", "train", "e.svm", "m", says="0 rows in 4 lines")

    def test_T3_no_such_file(self):
        for command in ("train", "info", "check"):
            self.refused(66, "io.open", command, "none", says="cannot open none: No such file or directory")
        self.refused(66, "io.open", "train", "none-*", says="none-\\*")
        self.refused(66, "io.open", "train", "", "m")
        self.refused(66, "io.open", "train", "d.svm", "m", "--weights", "none")

    def test_T4_folder_socket_device(self):
        (self.dir / "folder").mkdir()
        with socket.socket(socket.AF_UNIX) as listener:
            here = os.getcwd()
            os.chdir(self.dir)  # the name of a socket is short
            try:
                listener.bind("socket")
            finally:
                os.chdir(here)
            for name in ("folder", "socket", "/dev/zero", "/dev/null"):
                with self.subTest(name):
                    self.refused(66, "io.not-a-file", "train", name, "m", says=name)

    def test_T4_pipe_when_asked_for(self):
        self.hinge("train", "-", "m", stdin=TEXT.encode())
        self.assertEqual(self.read("m"), self.model_bytes())

    def test_T5_permission(self):
        nobody = unprivileged(self)
        self.write("closed.svm", GOOD).chmod(0)
        self.refused(77, "io.permission", "train", "closed.svm", "m", says="closed.svm: Permission denied", **nobody)

    def test_T17_under_any_name(self):
        for form, name in zip(FORMS, ("a.zst", "b.gz", "c.svm", "d.xz")):
            with self.subTest(form):
                self.write(name, compressed(form))
                self.assertSame(data=name)
                self.hinge("train", "-", "m", stdin=self.read(name))
                self.assertEqual(self.read("m"), self.model_bytes())

    def test_T17_mixed_in_one_data_set(self):
        lines = TEXT.splitlines(keepends=True)
        for i, form in enumerate(("gzip", "bzip2", None, "xz")):
            part = "".join(lines[50 * i : 50 * i + 50]).encode()
            self.write(f"part-{i}", compressed(form, part) if form else part)
        self.assertSame(data="part-*")

    def test_T17_rows_inside_have_their_lines(self):
        for form in FORMS:
            with self.subTest(form):
                self.write("e", compressed(form, third("1 1:x")))
                self.refused(65, "data.value", "train", "e", "m", place="e:3:5")

    def damaged(self, form, data, offset=None, says=""):
        self.write("e", data)
        at = r"\d+" if offset is None else offset
        run = self.refused(65, f"data.{form}", "train", "e", "m", place="e", says=rf"{says}.* \(at byte {at}\)")
        found = json.loads(self.refused_as_json("train", "e", "m"))
        self.assertIn(f"(at byte {found['offset']})", run.err)

    def refused_as_json(self, *command):
        return self.hinge(*command, "--diagnostics", "json", code=65).err

    def test_T18_cut_off(self):
        for form in FORMS:
            with self.subTest(form):
                data = compressed(form)
                for length in (len(data) // 2, len(data) - 5, len(data) - 1):
                    self.damaged(form, data[:length], length, "cut off")

    def test_T18_checksum(self):
        data = bytearray(compressed("gzip"))
        for place, offset in ((-8, len(data) - 4), (-4, len(data))):  # the checksum, the length: where each ends
            with self.subTest(place):
                bad = data.copy()
                bad[place] ^= 1
                self.damaged("gzip", bytes(bad), offset, "checksum")

    def test_T18_damaged_in_the_middle(self):
        for form in FORMS:
            with self.subTest(form):
                bad = bytearray(compressed(form))
                bad[len(bad) // 2] ^= 4
                self.damaged(form, bytes(bad))

    def test_T18_garbage_behind(self):
        for form in FORMS:
            for garbage in (b"garbage", b"1 1:1\n"):
                with self.subTest(form, garbage=garbage):
                    self.damaged(form, compressed(form) + garbage)

    def bomb(self, unit, count):
        """gzip of a unit repeated count times, made cheaply: members follow one another."""
        block = max(1, 16 * MEGABYTE // len(unit))
        data = gzip.compress(unit * block) * (count // block) + gzip.compress(unit * (count % block))
        self.write("bomb.gz", data)
        return data

    def bounded(self, most, *command, **how):
        """The refused run takes at most so much memory."""
        before = self.everything()
        run, memory = self.measured(*command, code=65, **how)
        if not SLOW:  # sanitizers need memory of their own
            self.assertLess(memory, most, run)
        self.assertEqual(self.everything(), before)
        return run

    def test_T19_bomb_of_blank_lines_streams_in_constant_memory(self):
        size = 400 if LONG else 40
        data = self.bomb(b" " * (MEGABYTE - 1) + b"\n", size)
        self.assertLess(len(data), size * MEGABYTE // 500)
        run = self.bounded(100 * MEGABYTE, "train", "bomb.gz", "m")
        self.check_refusal(run, "data.empty", "bomb.gz", f"0 rows in {size} lines")

    def test_T19_bomb_ends_by_max_bytes(self):
        self.bomb(b" " * (MEGABYTE - 1) + b"\n", 400 if LONG else 40)
        run = self.bounded(100 * MEGABYTE, "train", "bomb.gz", "m", "--max-bytes", "30M")
        self.check_refusal(run, "limit.bytes")

    def test_T19_bomb_ends_by_max_line_bytes(self):
        self.bomb(b" " * MEGABYTE, 400 if LONG else 40)
        run = self.bounded(100 * MEGABYTE, "train", "bomb.gz", "m", "--max-line-bytes", "4M")
        self.check_refusal(run, "limit.line-bytes", "bomb.gz")

    def test_T20_a_row_of_a_million_features(self):
        self.write("e.svm", "1 " + " ".join(f"{j}:1" for j in range(1, 1_000_001)) + "\n-1 1:1\n")
        found = self.train(data="e.svm")
        self.assertEqual((found["rows"], found["nonzeros"]), (2, 1_000_001))
        self.assertVerifies(data="e.svm")

    def test_T21_a_line_without_end(self):
        """It ends by itself although its input does not; the default is 1 GiB, which would take long."""
        endless = subprocess.Popen(["sh", "-c", "yes 1:1 | tr '\\n' ' '"], stdout=subprocess.PIPE)
        self.addCleanup(endless.wait)
        self.addCleanup(endless.stdout.close)
        self.addCleanup(endless.kill)
        before = self.everything()
        process = self.start("train", "-", "m", "--max-line-bytes", "8M", stdin=endless.stdout)
        run = self.finish(process)
        self.assertEqual(run.code, 65, run)
        self.check_refusal(run, "limit.line-bytes", "<stdin>")
        self.assertEqual(self.everything(), before)

    def test_T21_memory_is_bounded(self):
        self.write("e.svm", "1" + " 1:1" * (8 * MEGABYTE))
        run = self.bounded(60 * MEGABYTE, "train", "e.svm", "m", "--max-line-bytes", "1M")
        self.check_refusal(run, "limit.line-bytes", "e.svm")

    def test_T21_exactly_the_limit_is_allowed(self):
        size = len(self.write("d.svm", "# short\n" + TEXT).read_bytes())  # it is not only the first line that counts
        longest = max(map(len, TEXT.splitlines()))
        self.assertSame("--max-line-bytes", longest)
        self.refused(65, "limit.line-bytes", "train", "d.svm", "m", "--max-line-bytes", longest - 1)
        self.assertSame("--max-bytes", size)
        self.refused(65, "limit.bytes", "train", "d.svm", "m", "--max-bytes", size - 1)

    def changed_while_read(self, change, data):
        """Stops the program in the middle of reading, changes the file, lets it go on."""
        for _ in range(50):
            path = self.write("e.svm", data)
            before = self.files()
            process = self.start("train", "e.svm", "m", "-n", "1")
            position = 0
            while process.poll() is None and position == 0:
                position = read_position(process, path)
            process.send_signal(signal.SIGSTOP)
            if 0 < read_position(process, path) < len(data):
                change(path)
                process.send_signal(signal.SIGCONT)
                run = self.finish(process)
                self.assertEqual(run.code, 74, run)
                self.check_refusal(run, "io.changed", "hinge", r"e\.svm changed")
                self.assertEqual(self.files(), before)
                return
            process.kill()
            self.finish(process)
        self.skipTest("the program was never caught in the middle of reading")

    def test_T23_grows(self):
        self.changed_while_read(lambda path: path.open("ab").write(b"1 1:1\n"), TEXT.encode() * 2000)

    def test_T23_shrinks(self):
        self.changed_while_read(lambda path: os.truncate(path, 1000), TEXT.encode() * 2000)

    def test_T23_becomes_nothing(self):
        self.changed_while_read(lambda path: os.truncate(path, 0), TEXT.encode() * 2000)

    def test_T23_is_written_to_in_place(self):
        def change(path):
            with path.open("r+b") as file:
                file.write(b"-1")

        self.changed_while_read(change, TEXT.encode() * 2000)

    def test_T24_closed_standard_input(self):
        self.refused(74, "io.read", "train", "-", "m", preexec_fn=lambda: os.close(0))

    def test_T24_the_writer_of_a_pipe_ends_in_the_middle(self):
        self.refused(65, "data.value.missing", "train", "-", "m", stdin=GOOD + b"1 1:", place="<stdin>:3:3",
                     says="no newline")

    def test_T24_closed_standard_output(self):
        self.hinge("train", "d.svm", "m")
        before = self.everything()
        for command in (("predict", "d.svm", "m", "-q"), ("train", "d.svm", "-", "-q")):
            with self.subTest(command):
                read_end, write_end = os.pipe()
                os.close(read_end)
                with open(write_end, "wb") as out:
                    run = self.hinge(*command, stdout=out, code=None)
                self.assertIn(run.code, (141, -signal.SIGPIPE), run)  # as a shell says it
                self.assertEqual(run.err, "")
                self.assertEqual(self.everything(), before)

    def test_T26_one_byte_at_a_time(self):
        process = self.start("train", "-", "m", stdin=subprocess.PIPE)
        for byte in TEXT.encode()[:2000]:
            os.write(process.stdin.fileno(), bytes([byte]))
        os.write(process.stdin.fileno(), TEXT.encode()[2000:])
        process.stdin.close()
        process.stdin = None
        self.assertEqual(self.finish(process).code, 0)
        self.assertEqual(self.read("m"), self.model_bytes())

    def test_T29_the_second_file(self):
        self.write("part-1", GOOD * 5)
        self.write("part-2", third("1 1:x"))
        self.refused(65, "data.value", "train", "part-*", "m", place="part-2:3:5")

    def test_T29_both_files(self):
        self.write("part-1", third("1 1:x") + GOOD)
        self.write("part-2", third("1 1:y"))
        run = self.refused(65, "data.value", "train", "part-*", "m")
        self.assertEqual([line.split(" ")[0] for line in run.lines if "error:" in line], ["part-1:3:5:", "part-2:3:5:"])

    def test_T30_decimal_comma(self):
        """Where it can be made the German locale is there, else only asked for."""
        folder = self.dir / "locales"
        folder.mkdir()
        if shutil.which("localedef"):
            subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", folder / "de_DE.UTF-8"], check=False,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        german = {"LC_ALL": "de_DE.UTF-8", "LANG": "de_DE.UTF-8", "LOCPATH": str(folder)}
        plain = self.model_bytes("--bias", "0.5")
        self.hinge("train", "d.svm", "m", "--bias", "0.5", env=german)
        self.assertEqual(self.read("m"), plain)
        for command in (("predict", "d.svm", "m", "--scores"), ("evaluate", "d.svm", "m"), ("verify", "m", "d.svm"),
                        ("convert", "m", "-", "--to", "liblinear"), ("convert", "d.svm", "-", "--to", "text")):
            self.assertEqual(self.hinge(*command, env=german).out, self.hinge(*command).out)
        self.write("e.svm", third("1 1:1,5"))
        self.refused(65, "data.value", "train", "e.svm", "n", place="e.svm:3:6", env=german)


def read_position(process, path):
    """How far a running process has read a file; 0: not at all, or the file is not open."""
    folder = pathlib.Path(f"/proc/{process.pid}")
    with contextlib.suppress(OSError):
        for link in (folder / "fd").iterdir():
            if os.readlink(link) == str(path):
                return int(re.search(r"pos:\s*(\d+)", (folder / "fdinfo" / link.name).read_text())[1])
    return 0


# ---- L: labels and classes.


class Labels(Scenes):
    def test_L7_any_pair(self):  # the larger label is the positive class
        for low, high in ((0, 1), (1, 2), (-1, 1), (-7, -3), (-(2**63), 2**63 - 1)):
            with self.subTest(labels=(low, high)):
                self.write("e.svm", to_text([(high if label == 1 else low, x) for label, x in DATA]))
                self.assertEqual(self.train(data="e.svm", model="e")["classes"], [str(high), str(low)])
                self.assertEqual(ModelFile(self.dir / "e").labels, [high, low])
                self.assertEqual(set(self.hinge("predict", "e.svm", "e").text.split()), {str(low), str(high)})
                self.assertVerifies(model="e", data="e.svm")

    def test_L9_two_rows_are_enough(self):
        self.write("s.svm", "1 1:1\n0 1:-1\n")
        self.assertEqual(self.train(data="s.svm")["classes"], ["1", "0"])
        self.assertVerifies(data="s.svm")

    @at_length()
    def test_L10_a_million_classes(self):
        self.write("e.svm", "".join(f"{i} 1:1\n" for i in range(1_000_000)))
        self.refused(65, "limit.classes", "train", "e.svm", "m", says=r"1000000 .*\d [KMG]iB")

    def test_L10_exactly_the_limit_is_allowed(self):
        self.write("e.svm", "".join(f"{i} {i + 1}:1\n" for i in range(10)))
        self.assertEqual(len(self.train("--max-classes", "10", data="e.svm")["classes"]), 10)

    def test_L12_labels_the_model_does_not_know(self):
        self.hinge("train", "d.svm", "m")
        text = TEXT.replace("\n-1 ", "\n7 ")
        self.write("e.svm", text)
        count = text.count("\n7 ")
        run = self.hinge("predict", "e.svm", "m")
        self.assertSays(run, rf"hinge: warning: {count} .* 7 \[data\.label\.unseen\]")
        self.assertEqual(run.out, self.hinge("predict", "d.svm", "m").out)
        run = self.hinge("evaluate", "e.svm", "m", "--json")
        self.assertSays(run, rf"hinge: warning: {count} .* 7 \[data\.label\.unseen\]")
        self.assertGreaterEqual(run.json["error"], count / 200 - 1e-12)

    def test_L15_labels_of_another_kind(self):
        self.hinge("train", "d.svm", "m")
        self.write("e.svm", re.sub(r"(?m)^-1 ", "0 ", TEXT))
        run = self.hinge("evaluate", "e.svm", "m", code=65)
        self.assertSays(run, r"e\.svm: error: the rows have the labels 0, 1, the model -1, 1 \[data\.label\.mismatch\]")
        self.assertSays(run, r"e\.svm: help: .*if 0 means -1: sed 's/\^0 /-1 /' DATA")
        self.write("f.svm", re.sub(r"(?m)^0 ", "-1 ", self.read("e.svm").decode()))
        self.hinge("evaluate", "f.svm", "m")
        run = self.hinge("predict", "e.svm", "m")
        self.assertSays(run, r"hinge: warning: .* how many are right is not known \[data\.label\.mismatch\]")
        self.assertNotIn("accuracy", run.err)

    def test_L16_groups(self):
        self.write("g", "1\n2\n")
        run = self.hinge("train", "d.svm", "-v", "3", "--groups", "g", code=65)
        self.assertSays(run, r"g: error: 2 lines for 200 rows \[data\.groups\]")
        self.write("g", "".join("same\n" if line.startswith("-1 ") else f"{k}\n" for k, line in enumerate(TEXT.splitlines())))
        for command in (("train", "d.svm", "-v", "3"), ("tune", "d.svm", "m")):
            run = self.hinge(*command, "--groups", "g", code=65)
            self.assertSays(run, r"hinge: error: no row that fold \d of \d learns from has class -1 \[data\.folds\]")

    def test_L13_no_labels(self):
        self.hinge("train", "d.svm", "m")
        self.write("n.svm", joined(lambda line: line.split(" ", 1)[1]))
        self.refused(65, "data.label", "predict", "n.svm", "m", place="n.svm:1:1", says="--no-labels")
        run = self.hinge("predict", "n.svm", "m", "--no-labels")
        self.assertEqual(run.out, self.hinge("predict", "d.svm", "m").out)
        self.assertNotIn("accuracy", run.err)


# ---- V: values.


class Values(Scenes):
    def test_V6_f64_is_exact_without_a_warning(self):
        self.write("e.svm", "1 1:1 2:4.9e-324\n-1 1:-1 2:2.2e-308\n")
        run = self.hinge("train", "e.svm", "m", "--precision", "f64")
        self.assertNotIn("underflow", run.err)
        self.assertEqual(self.hinge("convert", "e.svm", "-", "--to", "text", "--precision", "f64").text.split(),
                         "1 1:1 2:5e-324 -1 1:-1 2:2.2e-308".split())

    def test_V14_the_model_is_a_bias(self):
        self.write("e.svm", "1 1:0\n1\n-1 2:0\n")
        self.train("--bias", "1", data="e.svm")
        model = ModelFile(self.dir / "m")
        self.assertEqual([w for w in model.weights().values() if w != 0], [])
        self.assertGreater(model.arrays["bias"][0], 0)
        self.assertVerifies(data="e.svm")

    def converges(self, lines, *options):
        self.write("e.svm", "".join(lines))
        found = self.train("--gap", "1e-6", *options, data="e.svm")
        self.assertEqual(found["status"], "converged")
        self.assertLessEqual(found["relative_gap"], 1e-6)
        self.assertEqual(self.assertVerifies(data="e.svm")["primal"], found["primal"])

    def test_V15_constant_column(self):
        self.converges(f"{y} 1:1 2:{i * y}\n" for i in range(1, 9) for y in (1, -1, 1))

    def test_V15_duplicate_columns(self):
        self.converges(f"{y} 1:{i} 2:{i} 3:{7 * i % 5}\n" for i in range(1, 9) for y in (1, -1, 1))

    def test_V15_collinear_columns(self):
        self.converges(f"{y} 1:1 2:{i} 3:{i} 4:{2 * i + 1}\n" for i in range(1, 9) for y in (1, -1, 1))

    def test_V16_wild_scales_are_finite_or_refused(self):
        for power in (10, 30, 45, 100, 140, 153, 155, 200, 300):
            for precision in ("f32", "f64"):
                with self.subTest(power=power, precision=precision):
                    self.write("e.svm", "".join(f"{y} 1:{y * i}e-{power} 2:{i * i % 7}e{power}\n"
                                                for i in range(1, 9) for y in (1, -1)))
                    run = self.hinge("train", "e.svm", "m", "--json", "--precision", precision, "--max-passes", "50",
                                     code=None)
                    self.assertIn(run.code, (0, 65, 82), run)
                    if run.code == 0:
                        self.assertTrue(all(isinstance(run.json[k], (int, float))  # a nan would be null
                                            for k in ("primal", "dual", "relative_gap")))
                        self.assertEqual(run.json["status"] == "converged", run.json["relative_gap"] <= 1e-3)
                        self.hinge("verify", "m", "e.svm", "-q")
                        if power >= 30 and precision == "f64":
                            self.assertSays(run, r"hinge: warning: .*\d.* \[solver\.ill-scaled\]")
                    (self.dir / "m").unlink(missing_ok=True)

    def test_V17_contradicting_rows(self):
        self.converges(line for i in range(1, 9) for line in (f"1 1:{i} 2:1\n", f"-1 1:{i} 2:1\n") * 2)

    def test_V18_separable_with_a_huge_cost(self):
        self.write("s.svm", "".join(f"{y} 1:{y * (i + 1)} 2:{i % 3}\n" for i in range(30) for y in (1, -1)))
        for cost in ("1e6", "1e9", "1e15"):
            with self.subTest(cost=cost):
                found = self.train("-c", cost, "--max-passes", "1000", data="s.svm")
                self.assertIn(found["status"], ("converged", "limit"))
                self.assertEqual(found["status"] == "converged", found["relative_gap"] <= 1e-3)
                self.assertEqual(self.assertVerifies(data="s.svm")["primal"], found["primal"])


# ---- I: indices.


class Indices(Scenes):
    def test_I1_index_base(self):
        self.write("zero.svm", to_text([(label, {j - 1: v for j, v in x.items()}) for label, x in DATA]))
        self.assertEqual(self.hinge("info", "zero.svm", "--json").json["index_base"], 0)
        self.assertEqual(self.hinge("info", "d.svm", "--json").json["index_base"], 1)
        self.assertEqual(self.train(data="zero.svm")["features"], 10)
        self.assertEqual(self.train("--index-base", "0")["features"], 11)
        zero = self.train("--index-base", "0", data="zero.svm", model="zero")
        one = self.train(model="one")
        self.assertEqual(zero["primal"], one["primal"])
        # The model remembers the base: the same predictions from either.
        self.assertEqual(self.hinge("predict", "zero.svm", "zero", "--scores").out,
                         self.hinge("predict", "d.svm", "one", "--scores").out)
        self.assertVerifies(model="zero", data="zero.svm")

    def test_I1_in_a_later_file_counts_for_all(self):
        self.write("part-a", "1 1:1\n-1 2:1\n")
        self.write("part-b", "1 0:1\n-1 2:-1\n")
        found = self.hinge("info", "part-*", "--json").json
        self.assertEqual((found["index_base"], found["features"]), (0, 3))
        self.refused(65, "data.index.zero", "train", "part-*", "m", "--index-base", "1", place="part-b:1:3")

    def test_I1_for_a_model_that_counts_from_1(self):
        self.write("z.svm", third("1 0:1"))
        self.hinge("train", "d.svm", "m")
        self.refused(65, "data.index.zero", "predict", "z.svm", "m", place="z.svm:3:3")

    def test_I3_unsorted_rows_are_counted(self):
        self.write("e.svm", joined(lambda line: " ".join([line.split()[0], *reversed(line.split()[1:])])))
        run = self.hinge("train", "e.svm", "m")
        self.assertSays(run, r"hinge: warning: 200 rows .*\(first: e\.svm:1:\d+\) \[data\.index\.unsorted\]")

    def test_I5_large_index_in_a_small_file(self):
        self.large_index(2**31 - 1, 2**31, 2**32 - 1)

    def test_I8_large_index_in_a_small_file(self):
        self.large_index(10**9)

    def large_index(self, *indices):
        """Either it works on the columns that occur, or it says at once that memory would not do."""
        for index in indices:
            with self.subTest(index=index):
                self.write("e.svm", GOOD * 11 + b"1 %d:1\n" % index)
                before = self.everything()
                start = time.monotonic()
                run, memory = self.measured("train", "e.svm", "m", code=None)
                took = time.monotonic() - start
                self.assertIn(run.code, (0, 81), run)
                if not SLOW:
                    self.assertLess(memory, 4096 * MEGABYTE)
                if run.code == 81:
                    self.assertRegex(run.lines[0], r"error: .*GiB.* \[memory\.model\]$")
                    self.assertEqual(self.everything(), before)
                    self.assertLess(took, 20 if SLOW else 1)
                else:
                    self.assertVerifies(data="e.svm")
                    (self.dir / "m").unlink()

    def test_I9_features_the_model_does_not_know(self):
        self.hinge("train", "d.svm", "m")
        self.write("e.svm", joined(lambda line: line + " 11:1e6 99:-5"))
        run = self.hinge("predict", "e.svm", "m", "--scores")
        self.assertSays(run, r"hinge: warning: 400 values were ignored: .*\b99\b.* \[data\.index\.unseen\]")
        self.assertEqual(run.out, self.hinge("predict", "d.svm", "m", "--scores").out)

    @at_length("reads more than 4 GiB")
    def test_I10_more_than_4_GiB_of_text(self):
        block = (b"#" * (MEGABYTE - 1) + b"\n") * 64  # compressed once, repeated as it is
        form = "zstd" if shutil.which("zstd") else "gzip"
        with (self.dir / "large").open("wb") as file:
            file.write(compressed(form, block) * 65 + compressed(form, third("1 1:x")))
        run = self.hinge("train", "large", "m", "--diagnostics", "json", code=65)
        found = json.loads(run.err)
        self.assertEqual((found["id"], found["line"], found["column"]), ("data.value", 65 * 64 + 3, 5))
        self.assertEqual(found["offset"], 65 * len(block) + len(GOOD) + 4)
        self.assertGreater(found["offset"], 2**32)
        self.assertEqual(self.files(), ["d.svm", "large"])


def what_it_said(run):
    """What a run printed and warned of; its other lines tell how long it took."""
    return run.text, [line for line in run.lines if "warning" in line or "error" in line]


# ---- B: binary data sets, converted or kept as a cache.

SMALL = b"1 1:1 5:2\n-1\n1 2:3\n"  # offsets 0 2 2 3, columns 0 4 1, values 1 2 3


def positions(size, count=60 if LONG else 15):
    """Some of 0 to size - 1, the first and the last among them."""
    return sorted({0, size - 1, *(i * size // count for i in range(count))})


class Damaged(NamedTuple):
    """A file of hinge's with one thing wrong and, unless that is the point, right checksums."""

    name: str
    change: Callable  # of a Container; what it returns is the file, None: put the container together
    id: str
    says: str = ""


def put(name, index, value):
    """Changes one element of an array."""

    def change(file):
        file.arrays[name][index] = value

    return change


def field(key, value):
    """Changes a field of the metadata; None removes it."""

    def change(file):
        file.metadata[key] = value
        if value is None:
            del file.metadata[key]

    return change


def entry(name, key, value):
    """Changes what the header says of an array."""

    def edit(header):
        header[name][key] = value

    return lambda file: file.to_bytes(edit)


def header_length(length):
    return lambda file: struct.pack("<Q", length) + file.to_bytes()[8:]


def order(*names):
    """Another order of the arrays."""

    def change(file):
        file.arrays = {name: file.arrays[name] for name in names}

    return change


def shift(name, by):
    """The array is said to lie elsewhere, and there are as many bytes."""

    def edit(header):
        header[name]["data_offsets"] = [place + by for place in header[name]["data_offsets"]]

    return lambda file: file.to_bytes(edit) + bytes(max(by, 0))


def extra_array(file):
    file.arrays["more"], file.types["more"] = file.arrays["values"][:0], "F32"
    return file.to_bytes(lambda header: header["more"].update(dtype="F16"))


NAN, INFINITY = float("nan"), float("inf")

DAMAGED_DATA = [  # of SMALL as --precision f64
    Damaged("B3 a byte more", lambda file: file.to_bytes() + b"\0", "cache.trailing"),
    Damaged("B3 twice the file", lambda file: 2 * file.to_bytes(), "cache.trailing"),
    Damaged("B4 a model", field("format", "hinge.model"), "cache.magic"),
    Damaged("B4 something else", field("format", "other"), "cache.magic"),
    Damaged("B5 newer version", field("version", "4"), "cache.version", "hinge 0.*in format 4; this is hinge "),
    Damaged("B5 no version", field("version", None), "cache.header"),
    Damaged("B6 big-endian", lambda file: file.to_bytes()[7::-1] + file.to_bytes()[8:], "cache.endian"),
    # A length of 2^63 is 128 the other way round, so it is taken for the big-endian file that B6 is about.
    Damaged("B7 header of 2^63 bytes", header_length(2**63), "cache.endian"),
    Damaged("B7 header of 2^62 bytes", header_length(2**62), "cache.endian"),
    Damaged("B7 header longer than allowed", header_length(16 * MEGABYTE + 8), "cache.magic"),
    Damaged("B7 header longer than the file", header_length(16 * MEGABYTE), "cache.truncated"),
    Damaged("B7 header not padded", header_length(577), "cache.magic"),
    Damaged("B7 header too short", header_length(64), "cache.header"),
    Damaged("B7 array outside", entry("labels", "data_offsets", [2**40, 2**40 + 24]), "cache.header"),
    Damaged("B7 array beyond the end", entry("columns", "data_offsets", [96, 2**40]), "cache.header"),
    Damaged("B7 array too long", entry("values", "shape", [2**40]), "cache.header"),
    Damaged("B7 overlap", shift("columns", -4), "cache.header"),
    Damaged("B7 hole", shift("columns", 8), "cache.header"),
    Damaged("B7 turned round", entry("labels", "data_offsets", [24, 0]), "cache.header"),
    Damaged("B7 unaligned", order("columns", "labels", "offsets", "values"), "cache.header"),
    Damaged("B7 negative", entry("labels", "shape", [-3]), "cache.header"),
    Damaged("B7 fraction", entry("labels", "shape", [3.5]), "cache.header"),
    Damaged("B7 array missing", order("columns", "labels", "offsets"), "cache.header"),
    Damaged("B7 unknown type", extra_array, "cache.header"),
    Damaged("B7 other type", entry("labels", "dtype", "F64"), "cache.header"),
    Damaged("B7 too few offsets", lambda file: file.arrays["offsets"].pop(), "cache.header"),
    Damaged("B8 offsets do not begin with 0", put("offsets", 0, 1), "cache.content"),
    Damaged("B8 offsets descend", put("offsets", 2, 1), "cache.content"),
    Damaged("B8 offset beyond the end", put("offsets", 1, 2**64 - 1), "cache.content"),
    Damaged("B8 last offset too small", put("offsets", 3, 2), "cache.content"),
    Damaged("B8 last offset too large", put("offsets", 3, 4), "cache.content"),
    Damaged("B8 column beyond the features", put("columns", 1, 5), "cache.content", "row 1: "),
    Damaged("B8 column 2^32 - 1", put("columns", 2, 2**32 - 1), "cache.content", "row 3: "),
    Damaged("B8 column twice", put("columns", 1, 0), "cache.content", "row 1: "),
    Damaged("B8 columns descend", put("columns", 0, 4), "cache.content", "row 1: "),
    Damaged("B8 nan", put("values", 2, NAN), "cache.content", "row 3: "),
    Damaged("B8 infinity", put("values", 0, -INFINITY), "cache.content", "row 1: "),
    Damaged("B8 square overflows", put("values", 1, 1e200), "cache.content", "row 1: "),
    Damaged("B8 no features", field("features", "-1"), "cache.header"),
    Damaged("B8 too few features", field("features", "4"), "cache.content"),
    Damaged("B8 index base 2", field("index_base", "2"), "cache.header"),
    Damaged("I11 2^61 rows of 8 bytes", entry("labels", "shape", [2**61]), "cache.header"),
    Damaged("I11 2^63 nonzeros", entry("values", "shape", [2**63]), "cache.header"),
    Damaged("I11 a product that wraps to the right size", entry("labels", "shape", [2**61 + 3]), "cache.header"),
    Damaged("I11 rows x nonzeros near 2^63", entry("values", "shape", [2**31, 2**29]), "cache.header"),
]


@table(DAMAGED_DATA)
class DamagedData(Refusals):
    good = None  # a whole file, made once

    def check(self, row):
        if self.good is None:
            self.write("s.svm", SMALL)
            self.hinge("convert", "s.svm", "s.hinge", "--precision", "f64")
            self.write("good", Container(self.dir / "s.hinge").to_bytes())
            self.hinge("info", "good")  # the writer of these files is right
            type(self).good = self.read("good")
        file = Container(self.good)
        made = row.change(file)
        self.write("x", made if isinstance(made, bytes) else file.to_bytes())
        self.refused(80, row.id, "train", "x", "m", place="x", says=row.says)
        if not SLOW:
            run, memory = self.measured("train", "x", "m", code=80)
            self.assertLess(memory, 40 * MEGABYTE, run)


class Binary(Scenes):
    def setUp(self):
        super().setUp()
        self.hinge("convert", "d.svm", "d.hinge")
        self.good = self.read("d.hinge")

    def test_B1_cut(self):
        for length in positions(len(self.good)):
            with self.subTest(length=length):
                self.write("x", self.good[:length])
                run = self.hinge("train", "x", "m", code=None)
                # Before it shows what it is, it is bad text.
                self.assertEqual(run.code, 65 if length < 9 else 80, run)
                if length > 9:
                    self.check_refusal(run, "cache.truncated", "x", rf"\d+ bytes.* (has|found) \d+")
        self.assertNotIn("m", self.files())

    def test_B1_cut_cache(self):
        self.hinge("train", "d.svm", "m", "--cache")
        good, model = self.read("d.svm.cache"), self.read("m")
        for length in positions(len(good), 12):
            with self.subTest(length=length):
                self.write("d.svm.cache", good[:length])
                self.refused(80, "cache.magic" if 0 < length < 10 else "cache.truncated", "train", "d.svm", "m",
                             "--cache", place="d.svm.cache")
        self.assertEqual(self.read("m"), model)

    def test_B2_one_bit(self):
        place = Container(self.good).place
        for bit in positions(8 * len(self.good)):
            with self.subTest(bit=bit):
                bad = bytearray(self.good)
                bad[bit // 8] ^= 1 << bit % 8
                self.write("x", bytes(bad))
                run = self.hinge("train", "x", "m", code=None)
                self.assertIn(run.code, (65, 80) if bit < 72 else (80,), run)
                sections = [name for name, (at, size) in place.items() if at <= bit // 8 < at + size]
                if sections:
                    self.check_refusal(run, "cache.checksum", "x", f'checksum of section "{sections[0]}"')
        self.assertNotIn("m", self.files())

    def test_B4_other_files(self):
        self.hinge("train", "d.svm", "m")
        self.refused(80, "cache.magic", "train", "m", "n", place="m", says="this is a model of hinge, not a data set")
        for name, data in (("text", TEXT.encode()), ("zeros", bytes(1000)), ("a few bytes", b"not")):
            with self.subTest(name):
                self.write("d.svm.cache", data)
                self.refused(80, "cache.magic", "train", "d.svm", "m", "--cache", place="d.svm.cache")

    def test_B4_safetensors_of_another_program(self):
        header = json.dumps({"__metadata__": {"format": "pt"},
                             "w": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
        header += b" " * (-len(header) % 8)
        self.write("x", struct.pack("<Q", len(header)) + header + bytes(4))
        run = self.hinge("train", "x", "m", code=80)
        self.check_refusal(run, "cache.magic", "x")
        self.assertNotIn("m", self.files())

    def cached(self, *options, **how):
        """Trains with a cache; returns the run and the model's bytes."""
        run = self.hinge("train", "d.svm", "m", "--cache", *options, **how)
        return run, self.read("m")

    def stale(self, what, *options):
        """The cache does not fit any more: refused by strict, else rebuilt with one warning, then used again."""
        before = self.read("d.svm.cache")
        self.refused(80, "cache.stale", "train", "d.svm", "m", "--cache=strict", *options, place="d.svm.cache",
                     says=what)
        run, model = self.cached(*options)
        self.assertEqual([line for line in run.lines if "warning" in line],
                         [f"hinge: warning: the {what} changed since d.svm.cache was made; rebuilt [cache.stale]"])
        self.assertNotEqual(self.read("d.svm.cache"), before)
        self.assertEqual(model, self.model_bytes(*options))
        self.assertNotIn("warning", self.hinge("train", "d.svm", "m", "--cache=strict", *options).err)

    def test_B9_text_is_newer(self):
        self.cached()
        status = (self.dir / "d.svm").stat()
        os.utime(self.dir / "d.svm", ns=(status.st_atime_ns, status.st_mtime_ns + 2_000_000_000))
        self.stale("text")

    def test_B9_text_has_another_size(self):
        self.cached()
        self.write("d.svm", TEXT + "1 1:1\n")
        self.stale("text")

    def test_B9_text_has_another_content(self):
        self.cached()
        times = (self.dir / "d.svm").stat()
        self.write("d.svm", TEXT.replace("1:0", "1:1", 1))
        self.assertEqual(len(self.read("d.svm")), len(TEXT))
        os.utime(self.dir / "d.svm", ns=(times.st_atime_ns, times.st_mtime_ns))
        self.stale("text")

    def test_B9_labels_flipped_in_the_second_half(self):
        self.hinge("generate", "d.svm", "--like", "cov1", "--rows", "2000")
        text, times = self.read("d.svm"), (self.dir / "d.svm").stat()
        self.assertGreater(len(text), 3 << 16)  # the beginning that is looked at is well before them
        self.cached()
        half = text.index(b"\n", len(text) // 2) + 1
        signs = bytes.maketrans(b"+-", b"-+")  # only labels have any there, or the model would not tell
        self.write("d.svm", text[:half] + text[half:].translate(signs))
        os.utime(self.dir / "d.svm", ns=(times.st_atime_ns, times.st_mtime_ns))
        self.assertEqual((self.dir / "d.svm").stat().st_mtime_ns, times.st_mtime_ns)
        self.stale("text")

    def test_B9_touched_text_is_the_same(self):
        self.cached()
        before = self.read("d.svm.cache")
        (self.dir / "d.svm").chmod(0o600)
        for how in ("--cache", "--cache=strict"):
            self.assertNotIn("warning", self.hinge("train", "d.svm", "m", how).err)
        self.assertEqual(self.read("d.svm.cache"), before)

    def test_B9_cache_of_an_earlier_version(self):
        self.cached()
        file = Container(self.read("d.svm.cache"))
        for name in ("content", "changed", "warnings.f32"):
            field(name, None)(file)
        self.write("d.svm.cache", file.to_bytes())
        self.refused(80, "cache.stale", "train", "d.svm", "m", "--cache=strict", place="d.svm.cache")
        self.assertSays(self.cached()[0], r".*warning: the format of caches changed since .*; rebuilt \[cache\.stale\]")
        self.assertNotIn("warning", self.cached()[0].err)

    def not_trusted(self, why):
        """The text is read instead; the cache stays as it is."""
        before = self.read("d.svm.cache")
        run, model = self.cached()
        self.assertSays(run, rf".*warning: d\.svm\.cache is neither used nor replaced: {why} \[cache\.owner\]")
        self.assertEqual(model, self.model_bytes())
        self.refused(80, "cache.owner", "train", "d.svm", "m", "--cache=strict", place="d.svm.cache", says=why)
        self.assertEqual(self.read("d.svm.cache"), before)

    def forge(self):
        """Other labels than those of the text, with checksums that match."""
        file = Container(self.read("d.svm.cache"))
        for row in range(len(file.arrays["labels"])):
            put("labels", row, -file.arrays["labels"][row])(file)
        self.write("d.svm.cache", file.to_bytes())

    def test_B17_cache_of_somebody_else(self):
        if os.geteuid() != 0:
            self.skipTest("only the superuser can give files away")
        self.cached()
        self.forge()
        os.chown(self.dir / "d.svm.cache", 12345, -1)
        self.not_trusted("it belongs to user 12345")

    def test_B17_cache_that_others_may_write(self):
        self.cached()
        self.forge()
        for mode in (0o664, 0o646):
            (self.dir / "d.svm.cache").chmod(mode)
            self.not_trusted("others than its owner may write to it")

    def test_B17_a_new_cache_is_trusted_whatever_the_umask(self):
        self.cached(umask=0)
        self.assertEqual((self.dir / "d.svm.cache").stat().st_mode & 0o777, 0o644)
        self.assertNotIn("warning", self.hinge("train", "d.svm", "m", "--cache=strict").err)

    def test_B10_options_that_do_not_matter(self):
        self.cached()
        for options in (("--bias", "1"), ("--cost", "2"), ("-n", "1"), ("--seed", "5"), ("--precision", "f64"),
                        ("--index-base", "0"), ("--index-base", "1"), ("--strict",)):
            with self.subTest(options):
                self.assertNotIn("warning", self.hinge("train", "d.svm", "m", "--cache=strict", *options).err)
                self.assertEqual(self.read("m"), self.model_bytes(*options))

    def test_B10_one_cache_for_all_commands(self):
        # Floats; doubles that are none; one that rounds twice, and a whole number; one too small for floats.
        for values in (("1", "0.5"), ("0.1", "3.14159265358979"), ("16777217", "1.00000005960464477540"), ("1e-50", "1")):
            text = "".join(f"{1 if i % 3 else -1} 1:{values[i % 2]} {i % 4 + 2}:{values[1]}\n" for i in range(12))
            self.write("d.svm", text)
            commands = [("evaluate", "d.svm", "m"), ("predict", "d.svm", "m", "-"), ("verify", "m", "d.svm"),
                        ("train", "d.svm", "m2", "--precision", "f64"), ("train", "d.svm", "m2")]
            self.hinge("train", "d.svm", "m", "--precision", "f64")
            outcome = lambda *c: (self.hinge(*c, code=None), "m2" in c and "m2" in self.files() and self.read("m2"))
            plain = [outcome(*c) for c in commands]
            for first in commands[0], commands[3], commands[4]:
                (self.dir / "d.svm.cache").unlink(missing_ok=True)
                self.hinge(*first, "--cache", code=None)
                kept = (self.dir / "d.svm.cache").exists() and self.read("d.svm.cache")
                for command, (expected, model) in zip(commands, plain):
                    with self.subTest(values=values, first=first, command=command):
                        run, cached = outcome(*command, "--cache")
                        self.assertEqual(cached, model)
                        self.assertEqual((run.code, what_it_said(run)), (expected.code, what_it_said(expected)))
                        if kept:
                            self.assertEqual(self.read("d.svm.cache"), kept)

    def test_B9_the_cached_model_is_that_of_the_text(self):
        plain = self.model_bytes()
        self.assertEqual([self.cached()[1], self.cached()[1]], [plain, plain])

    def test_B11_folder_that_cannot_be_written(self):
        nobody = unprivileged(self)
        (self.dir / "closed").mkdir()
        self.write("closed/d.svm", TEXT)
        (self.dir / "closed").chmod(0o555)
        self.addCleanup((self.dir / "closed").chmod, 0o755)
        run = self.hinge("train", "closed/d.svm", "m", "--cache", **nobody)
        self.assertEqual(len([line for line in run.lines if "[cache.write]" in line]), 1, run)
        self.assertEqual(self.read("m"), self.model_bytes())
        self.assertEqual(os.listdir(self.dir / "closed"), ["d.svm"])

    def test_B11_name_that_cannot_be_written(self):
        (self.dir / "d.svm.cache").symlink_to("missing/folder/file")
        run, model = self.cached()
        self.assertSays(run, r"hinge: warning: .* \[cache\.write\]")
        self.assertEqual(model, self.model_bytes())

    def test_B12_six_at_once(self):
        plain = self.model_bytes()
        self.hinge("generate", "g.svm", "--like", "cov1", "--rows", "2000")
        expected = self.model_bytes(data="g.svm")
        for _ in range(3):
            (self.dir / "g.svm.cache").unlink(missing_ok=True)
            all_six = [self.start("train", "g.svm", f"m{i}", "--cache") for i in range(6)]
            for process in all_six:
                run = self.finish(process)
                self.assertEqual(run.code, 0, run)
            self.assertEqual([self.read(f"m{i}") for i in range(6)], [expected] * 6)
            self.hinge("train", "g.svm", "m", "--cache=strict")
        self.assertNotEqual(expected, plain)
        self.assertEqual([name for name in self.files() if ".tmp." in name], [])

    def test_B13_killed_while_building(self):
        self.hinge("generate", "g.svm", "--like", "cov1", "--rows", "20000" if LONG else "3000")
        took = []
        for _ in range(3):
            start = time.monotonic()
            expected = self.hinge("info", "g.svm", "--json").json
            took.append(time.monotonic() - start)
        choose = random.Random(1)
        found = {"none": 0, "whole": 0}
        for _ in range(30 if LONG else 8):
            (self.dir / "g.svm.cache").unlink(missing_ok=True)
            process = self.start("info", "g.svm", "--cache", "--json")
            time.sleep(choose.uniform(0, 1.5) * min(took))  # a busy machine runs at any speed: from too early to too late
            process.kill()
            self.finish(process)
            if (self.dir / "g.svm.cache").exists():
                found["whole"] += 1
                self.hinge("info", "g.svm", "--cache=strict")
            else:
                found["none"] += 1
        self.assertGreater(found["none"], 0)
        again = self.hinge("info", "g.svm", "--cache", "--json").json  # whatever was left behind does not matter
        self.assertEqual({**again, "seconds": 0}, {**expected, "seconds": 0})

    def endless(self, data, **popen):
        """A training on mapped rows that would take very long, once it is well beyond reading them."""
        process = self.start("train", data, "m", "-s", "dual", "-c", "1e9", "--gap", "1e-15", "--time-limit", "100", **popen)
        self.wait(lambda: cpu_seconds(process) > (1.5 if SLOW else 0.3), process, "it has trained for a while")
        return process

    def test_B14_cut_while_mapped(self):
        self.hinge("generate", "g.svm", "--like", "cov1", "--rows", "5000")
        self.hinge("convert", "g.svm", "g.hinge")
        process = self.endless("g.hinge", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (-1, -1)))
        before = self.files()
        os.truncate(self.dir / "g.hinge", 0)
        start = time.monotonic()
        run = self.finish(process)
        self.assertEqual(run.code, 74, run)
        self.assertLess(time.monotonic() - start, 20 if SLOW else 3)
        self.check_refusal(run, "io.changed", "hinge")
        self.assertEqual(self.files(), before)  # no model, no core

    def test_B15_files_that_cannot_be_mapped(self):
        self.write("hard.svm", to_text(make_rows(300, 20, noise=1)))
        self.hinge("convert", "hard.svm", "hard.hinge")
        try:
            run = self.hinge("train", "d.hinge", "m", preexec_fn=mapping_fails)
        except subprocess.SubprocessError:
            self.skipTest("system calls cannot be filtered here, and there is no file system without mmap")
        self.assertEqual(run.code, 0)
        self.assertEqual(self.read("m"), self.model_bytes())
        for how, mapped in (({}, True), ({"preexec_fn": mapping_fails}, False)):
            process = self.endless("hard.hinge", **how)
            maps = pathlib.Path(f"/proc/{process.pid}/maps").read_text()
            self.assertEqual("hard.hinge" in maps, mapped)
            process.send_signal(signal.SIGINT)
            self.assertEqual(self.finish(process).code, 130)
        self.write("x", self.good[:-1])
        self.refused(80, "cache.truncated", "train", "x", "m", place="x", preexec_fn=mapping_fails)

    def traps(self, name, count):
        """For preexec_fn: links at names that leftovers of other processes could have."""
        return lambda: [os.symlink("victim", f"{name}.tmp.{i:016x}") for i in range(count)]

    def test_B16_link_at_the_temporary_name(self):
        self.write("victim", "precious")
        for command, name in ((("train", "d.svm", "m"), "m"), (("train", "d.svm", "n", "--cache"), "d.svm.cache"),
                              (("convert", "d.svm", "e.hinge"), "e.hinge"), (("generate", "g", "--rows", "1000"), "g")):
            with self.subTest(command):
                self.hinge(*command, preexec_fn=self.traps(name, 3))
                self.assertEqual(self.read("victim"), b"precious")
                self.assertFalse((self.dir / name).is_symlink())
        self.assertEqual(self.read("m"), self.model_bytes())

    def test_B16_leftovers_of_others_are_in_nobodys_way(self):
        self.write("victim", "precious")
        self.hinge("train", "d.svm", "m", preexec_fn=self.traps("m", 100))
        self.assertEqual(self.read("victim"), b"precious")
        self.hinge("verify", "m", "d.svm")

    def test_B16_mode_follows_umask_and_the_old_file(self):
        """While unfinished it is 0600: tests/files/output_file_test.cc, UnfinishedFilesAreNobodyElsesToRead."""
        for command, name in ((("train", "d.svm", "m"), "m"), (("convert", "d.svm", "e.hinge"), "e.hinge")):
            self.hinge(*command, umask=0o027)
            self.assertEqual(stat.S_IMODE((self.dir / name).stat().st_mode), 0o640)
            (self.dir / name).chmod(0o604)
            self.hinge(*command, umask=0o027)
            self.assertEqual(stat.S_IMODE((self.dir / name).stat().st_mode), 0o604)


# ---- M: models.

TWO = ("solver_type L2R_L2LOSS_SVC_DUAL\nnr_class 2\nlabel 1 2\nnr_feature 3\nbias 1\nw\n"
       "0.73640661681251074 \n0.32007705152892907 \n0.45624066569347155 \n-0.026541497810310989 \n")
WEIGHT = "0.32007705152892907"

# LIBLINEAR's form: TWO with one thing replaced, the id and the line:column.
LENGTHY_TEXT_MODELS = [
    ("M10 long solver", "L2R_L2LOSS_SVC_DUAL", "1" * 100_000, "model.header", "1:13"),
    ("M10 long key", "nr_class", "1" * 100_000, "model.header", "2:1"),
    ("M10 long count", "nr_class 2", "nr_class " + "0" * 100_000 + "2", "limit.token", "2:10"),
    ("M10 long number", WEIGHT, "0." + "1" * 100_000, "limit.token", "8:1"),
    ("M10 a million keys", "nr_class 2\n", "nr_class 2\n" * 1_000_000, "model.header", "3:1"),
]
BAD_TEXT_MODELS = [tuple(row[key] for key in ("row", "old", "new", "id", "place"))
                   for row in catalogue("bad_text_models.json")]


@table(first_of_every(BAD_TEXT_MODELS, lambda row: row[3]) + LENGTHY_TEXT_MODELS)
class BadTextModels(Refusals):
    def check(self, row):
        _, old, new, identifier, place = row
        self.assertIn(old, TWO)
        self.write("d.svm", GOOD)
        self.write("x", TWO.replace(old, new, 1))
        run = self.refused(80, identifier, "predict", "d.svm", "x", place=f"x:{place}")
        self.assertLess(len(run.err), 2000)


def options(**changes):
    """Changes the JSON object in the field "options"."""

    def change(file):
        file.metadata["options"] = json.dumps({**json.loads(file.metadata["options"]), **changes})

    return change


def data_field(**changes):
    def change(file):
        file.metadata["data"] = json.dumps({**json.loads(file.metadata["data"]), **changes})

    return change


def twice(file):
    """The same key twice in the header."""
    text = file.to_bytes()
    return text.replace(b'"format":"hinge.model"', b'"status":"hinge.model"', 1)


SPARSE = "1 5:1 900:2\n-1 7:1\n1 5:2\n-1 900:-1\n"  # few columns of many

DAMAGED_MODELS = [  # of SPARSE
    Damaged("M3 a byte more", lambda file: file.to_bytes() + b"\0", "model.trailing"),
    Damaged("M3 twice the file", lambda file: 2 * file.to_bytes(), "model.trailing"),
    Damaged("M4 features -1", data_field(features=-1), "model.header"),
    Damaged("M4 features 2^63", data_field(features=2**63), "model.content"),
    Damaged("M4 features not a number", data_field(features="x"), "model.header"),
    Damaged("M4 rows 1.5", data_field(rows=1.5), "model.header"),
    Damaged("M4 given twice", twice, "model.header"),
    Damaged("M4 labels missing", field("labels", None), "model.header"),
    Damaged("M4 unknown status", field("status", "perfect"), "model.header"),
    Damaged("M4 cost 0", options(cost=0), "model.content"),
    Damaged("M5 a product that wraps", entry("weights", "shape", [2**61 + 1, 3]), "model.header"),
    Damaged("M6 1e12 weights", entry("weights", "shape", [1, 10**12]), "model.header"),
    Damaged("M6 1e12 weights with their place", lambda file: file.to_bytes(
        lambda header: header["weights"].update(shape=[1, 10**12], data_offsets=[8, 8 + 8 * 10**12])),
            "model.header"),
    Damaged("M7 weight nan", put("weights", 0, NAN), "model.content"),
    Damaged("M7 weight infinite", put("weights", -1, -INFINITY), "model.content"),
    Damaged("M7 bias nan", put("bias", 0, NAN), "model.content"),
    Damaged("M7 label nan", field("labels", "[1,NaN]"), "model.header"),
    Damaged("M7 label 1.5", field("labels", "[1,1.5]"), "model.header"),
    Damaged("M8 column beyond the features", put("columns", -1, 900), "model.content"),
    Damaged("M8 columns descend", put("columns", 0, 100), "model.content"),
    Damaged("M8 column twice", put("columns", 0, 6), "model.content"),
    Damaged("M9 one label", field("labels", "[1]"), "model.content"),
    Damaged("M9 more labels than planes", field("labels", "[1,-1,2]"), "model.content"),
    Damaged("M9 a label twice", field("labels", "[1,1]"), "model.content"),
    Damaged("M10 a key of 100 KB", lambda file: file.to_bytes(
        lambda header: header.update({"x" * 100_000: {"dtype": "\x1b", "shape": [], "data_offsets": [0, 0]}})),
            "model.header"),
    Damaged("M10 a hundred thousand arrays", lambda file: file.to_bytes(lambda header: header.update(
        {str(i): {"dtype": "F7", "shape": [], "data_offsets": []} for i in range(100_000)})), "model.header"),
    Damaged("M11 escapes and a format in a name", lambda file: file.to_bytes(
        lambda header: header.update({"\x1b[31m\n%n": {"dtype": "%s", "shape": [], "data_offsets": [0, 0]}})),
            "model.header", r"\\x1b\[31m\\x0a%n"),
    Damaged("M14 newer version", field("version", "4"), "model.version", "in format 4"),
]


@table(DAMAGED_MODELS)
class DamagedModels(Refusals):
    good = None  # a whole file, made once

    def check(self, row):
        self.write("d.svm", SPARSE)
        if self.good is None:
            self.hinge("train", "d.svm", "m")
            self.write("good", Container(self.dir / "m").to_bytes())
            self.hinge("verify", "good", "d.svm")
            type(self).good = self.read("good")
        file = Container(self.good)
        made = row.change(file)
        self.write("x", made if isinstance(made, bytes) else file.to_bytes())
        self.refused(80, row.id, "predict", "d.svm", "x", place="x", says=row.says)
        if row.name.startswith("M6") and not SLOW:
            self.write("good", self.good)
            _, base = self.measured("predict", "d.svm", "good")
            run, memory = self.measured("predict", "d.svm", "x", code=80)
            self.assertLess(memory, base + MEGABYTE, run)


class Models(Scenes):
    def setUp(self):
        super().setUp()
        self.hinge("train", "d.svm", "m")
        self.good = self.read("m")
        self.place = ModelFile(self.good).place

    def damaged(self, data, pattern, turn):
        """A damaged model x for one of the commands that read models, in turn."""
        self.write("x", data)
        command = (("predict", "d.svm", "x"), ("verify", "x", "d.svm"), ("evaluate", "d.svm", "x"), ("info", "x"),
                   ("convert", "x", "y", "--to", "liblinear"))[turn % 5]
        before = self.everything()
        run = self.hinge(*command, code=None)
        if command[0] in ("info", "convert") and run.code == 65:
            self.assertLess(turn, 5, run)  # these may take a damaged beginning for text
        else:
            self.assertEqual(run.code, 80, run)
            self.assertRegex(run.lines[0], pattern)
        self.assertEqual(run.out, b"")
        self.assertEqual(self.everything(), before)

    def test_M1_cut(self):
        for turn, length in enumerate(positions(len(self.good))):
            with self.subTest(length=length):
                self.damaged(self.good[:length], r"^x: error: .* \[model\.(truncated|magic)\]$" if length < 10
                             else r"^x: error: .* \[model\.truncated\]$", turn)

    def test_M1_cut_text(self):
        text = TWO.encode()
        for length in positions(len(text), 30):
            with self.subTest(length=length):
                self.write("x", text[:length])
                run = self.hinge("predict", "d.svm", "x", code=80)
                self.assertSays(run, r"x(:\d+:\d+)?: error: .* \[model\.truncated\]")

    def test_M2_one_bit(self):
        for turn, bit in enumerate(positions(8 * len(self.good))):
            with self.subTest(bit=bit):
                bad = bytearray(self.good)
                bad[bit // 8] ^= 1 << bit % 8
                self.damaged(bytes(bad), r"^x: error: .* \[model\.\w+\]$", turn)

    def test_M2_the_section_is_named(self):
        for name, (offset, size) in self.place.items():
            if size:
                with self.subTest(name):
                    bad = bytearray(self.good)
                    bad[offset] ^= 1
                    self.damaged(bytes(bad), rf'^x: error: checksum of section "{name}" \(offset {offset}, '
                                             rf"{size} bytes\) does not match \[model\.checksum\]$", 5)

    def test_M6_at_once(self):
        self.write("x", TWO.replace("nr_feature 3", "nr_feature 2147483646"))
        _, base = self.measured("predict", "d.svm", "m")
        start = time.monotonic()
        run, memory = self.measured("predict", "d.svm", "x", code=80)
        self.assertLess(time.monotonic() - start, 20 if SLOW else 1)
        if not SLOW:
            self.assertLess(memory, base + MEGABYTE, run)

    def test_M11_names_of_files(self):
        for name, shown in ((b"\x1b[31mred", "\\x1b[31mred"), (b"a\nb", "a\\x0ab"), (b"%n%s", "%n%s"),
                            (b"\xff", "\\xff")):
            with self.subTest(name):
                self.write(name, self.good[:-1])
                self.refused(80, "model.truncated", "predict", "d.svm", name, place=shown)

    def test_M15_more_features_than_the_model(self):
        self.write("e.svm", joined(lambda line: line + " 11:3"))
        run = self.hinge("evaluate", "e.svm", "m", "--json")
        self.assertSays(run, r"hinge: warning: .*\b11\b.* \[data\.index\.unseen\]")
        self.assertEqual(run.json, self.hinge("evaluate", "d.svm", "m", "--json").json)

    def test_M15_of_a_LIBLINEAR_model(self):
        self.hinge("convert", "m", "m.liblinear")
        self.write("e.svm", joined(lambda line: line + " 11:3"))
        run = self.hinge("predict", "e.svm", "m.liblinear", "--scores")
        self.assertSays(run, r"hinge: warning: .*\b11\b.* \[data\.index\.unseen\]")
        self.assertEqual(run.out, self.hinge("predict", "d.svm", "m", "--scores").out)

    def test_M16_output_is_input(self):
        self.write("w", "1\n" * 200)
        os.link(self.dir / "d.svm", self.dir / "hard")
        (self.dir / "soft").symlink_to("d.svm")
        for name in ("part-1", "part-2"):
            self.write(name, TEXT)
        for command in ("train d.svm -o d.svm", "train d.svm -o ./d.svm", "train d.svm m --trace d.svm",
                        "train d.svm -o w --weights w", "train d.svm -o hard", "train d.svm -o soft", "train d.svm n --trace n",
                        "train part-* -o part-2", "train part-* n --trace part-1", "predict d.svm m d.svm",
                        "predict d.svm m m", "predict part-* m part-2", "split d.svm d.svm b", "split d.svm a d.svm",
                        "split d.svm a a", "split d.svm a ./a", "convert d.svm d.svm", "convert m ./m",
                        "convert d.svm w --weights w"):
            with self.subTest(command):
                self.refused(64, "usage.same-file", *command.split(), place="hinge")


# ---- O: options and environment.

NUMBERS = ["0", "-1", "nan", "inf", "-inf", "1e308", "abc", "1x", "''", "1,,5", "' 1'"]

BAD_OPTIONS = [  # name, arguments after `train d.svm m`, id, what the message says
    *((f"O1 cost {v}", f"--cost {v}", "usage.value",
       f'--cost: expected a finite number > 0, got "{shlex.split(v)[0]}"') for v in NUMBERS),
    *((f"O1 c {v}", f"-c {v}", "usage.value", "--cost: expected") for v in NUMBERS),
    *((f"O1 lambda {v}", f"--lambda {v}", "usage.value", "--lambda: expected") for v in NUMBERS),
    *((f"O2 gap {v}", f"--gap {v}", "usage.value", f'--gap: expected a number in (0, 1], got "{v}"')
      for v in ("0", "-0.1", "nan", "1.5", "abc", "inf")),
    *((f"O2 tolerance {v}", f"-e {v}", "usage.value", "--tolerance: expected")
      for v in ("0", "-0.1", "nan", "101", "abc")),
    ("O3 solver", "--solver abc", "usage.value", "auto, dual"),
    ("O3 solver number", "-s 99", "usage.value", "auto, dual"),
    ("O3 did you mean", "--solver duel", "usage.value", "did you mean"),
    ("O4 unknown option", "--frobnicate", "usage.option", "--frobnicate"),
    ("O4 unknown letter", "-z", "usage.option", "-z"),
    ("O4 twice", "-c 1 -c 2", "usage.option", "--cost"),
    ("O4 twice, two spellings", "-c 1 --cost 1", "usage.option", "--cost"),
    ("O4 twice, seed", "--seed 1 --seed 2", "usage.option", "--seed"),
    ("O4 twice, weights", "--weights a --weights b", "usage.option", "--weights"),
    ("O4 no argument", "--cost", "usage.option", "--cost"),
    ("O5 no fold", "-v 0", "usage.value", "--folds"),
    ("O5 one fold", "-v 1", "usage.value", "--folds"),
    ("O5 negative folds", "-v -5", "usage.value", "--folds"),
    *((f"O6 class weight {v}", f"--class-weight {v}", "usage.value", "--class-weight: expected")
      for v in ("1=nan", "1=-1", "1=0", "1=inf", "x=1", "1", "=2", "1=", "1.5=2", "1=2x")),
    *((f"O6 w1 {v}", f"-w1 {v}", "usage.value", "--class-weight: expected") for v in ("nan", "-1", "0", "x")),
    *((f"O7 threads {v}", f"-n {v}", "usage.value", f'--threads: expected a whole number from 0 to 4096, got "{v}"')
      for v in ("-1", "4097", "1000000", "99999999999", "1.5", "abc")),
    *((f"O13 seed {v}", f"--seed {v}", "usage.value", "--seed: expected")
      for v in ("-1", "18446744073709551616", "1.5", "abc")),
]


@table(BAD_OPTIONS)
class BadOptions(ErrorCase):
    def check(self, row):
        _, arguments, identifier, says = row
        self.check_bad_option(shlex.split(arguments), identifier, says)


class Environment(Scenes):
    def test_O4_stray_operand(self):
        run = self.hinge("predict", "d.svm", "m", "out", "extra", code=64)
        self.assertSays(run, r"hinge predict: error: .*extra.* \[usage\.option\]")

    def test_O5_folds(self):
        self.write("e.svm", GOOD * 2)
        self.refused(65, "data.folds", "train", "e.svm", "-v", "3")
        self.refused(65, "data.folds", "train", "e.svm", "-v", "100")

    def test_O5_a_fold_without_a_class(self):
        self.write("e.svm", "1 1:1\n" * 20 + "-1 1:-1\n")
        self.refused(65, "data.folds", "train", "e.svm", "-v", "5")

    def test_O7_threads(self):
        for threads in (0, 1, 2, 3, 8, 64, 4096):
            with self.subTest(threads=threads):
                found = self.train("-n", threads)
                self.assertEqual(found["threads"], threads or len(os.sched_getaffinity(0)))
                self.assertEqual(self.read("m"), self.model_bytes("-n", "1"))

    def few_processes(self, limit):
        nobody = unprivileged(self)
        if os.geteuid() == 0:
            self.addCleanup(self.dir.chmod, 0o700)
        # Looking for leaks would need a process of its own.
        sanitizer = {"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}
        return {**nobody, "preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_NPROC, (limit, limit)),
                "env": sanitizer}

    def test_O8_no_more_threads(self):
        one = self.model_bytes("-n", "1")
        run = self.hinge("train", "d.svm", "m", "-n", "8", **self.few_processes(1))
        self.assertEqual(self.read("m"), one)
        self.assertSays(run, r"hinge: warning: .*\d.* \[system\.threads\]")

    def test_O8_while_reading_and_mapping(self):
        limited = self.few_processes(1)
        self.write("e.svm", TEXT * 300)
        one = self.model_bytes("-n", "1", data="e.svm")
        self.hinge("train", "e.svm", "m", "-n", "8", **limited)
        self.assertEqual(self.read("m"), one)
        self.hinge("convert", "d.svm", "d.hinge", "-n", "8", **limited)
        self.hinge("predict", "d.hinge", "m", "-n", "8", **limited)

    def test_O9_variables(self):
        plain = self.model_bytes()
        for env in ({"OMP_NUM_THREADS": "abc"}, {"OMP_NUM_THREADS": "-1"}, {"OMP_NUM_THREADS": ""}):
            with self.subTest(env):
                self.hinge("train", "d.svm", "m", env=env)
                self.assertEqual(self.read("m"), plain)

    def test_O9_one_core(self):
        core = min(os.sched_getaffinity(0))
        run = self.hinge("train", "d.svm", "m", "--json", preexec_fn=lambda: os.sched_setaffinity(0, {core}))
        self.assertEqual(run.json["threads"], 1)
        self.assertEqual(self.read("m"), self.model_bytes())

    def test_O9_half_a_core(self):
        groups = [pathlib.Path(p) for p in ("/sys/fs/cgroup/cpu", "/sys/fs/cgroup")]
        files = {"cpu.cfs_quota_us": "5000", "cpu.max": "5000 10000"}
        group = next((g / f"hinge-test-{os.getpid()}" for g in groups if os.access(g, os.W_OK) and g.is_dir()), None)
        try:
            group.mkdir()
        except (AttributeError, OSError):
            self.skipTest("control groups cannot be made here")
        self.addCleanup(group.rmdir)
        name = next((n for n in files if (group / n).exists()), None)
        try:
            if name == "cpu.cfs_quota_us":
                (group / "cpu.cfs_period_us").write_text("10000")
            (group / name).write_text(files[name])
        except (TypeError, OSError):
            self.skipTest("control groups cannot limit the CPU here")
        self.hinge("train", "d.svm", "m", preexec_fn=lambda: (group / "cgroup.procs").write_text(str(os.getpid())))
        self.assertEqual(self.read("m"), self.model_bytes())

    def test_O10_memory(self):
        for size in ("1", "1K", "10K"):
            with self.subTest(size):
                self.refused(81, "memory.limit", "train", "d.svm", "m", "--memory", size,
                             says=r"needs .*\d.* MiB, --memory allows .*\d.* MiB")
        self.refused(81, "memory.limit", "train", "-", "m", "--memory", "1K", stdin=TEXT.encode())
        self.hinge("convert", "d.svm", "d.hinge")
        self.refused(81, "memory.limit", "train", "d.hinge", "m", "--memory", "1K")
        self.refused(81, "memory.limit", "train", "d.svm", "-v", "5", "--memory", "1K")
        self.assertSame("--memory", "1G")

    def test_O10_memory_during_the_load(self):
        self.write("e.svm", TEXT * 300)
        before = self.everything()
        run, memory = self.measured("train", "e.svm", "m", "--memory", "1M", code=81)
        self.check_refusal(run, "memory.limit")
        self.assertEqual(self.everything(), before)
        if not SLOW:
            self.assertLess(memory, 60 * MEGABYTE)

    def test_O11_TMPDIR_is_never_used(self):
        plain = self.model_bytes()
        folder = self.dir / "temporary"
        folder.mkdir()
        touched = folder.stat().st_mtime_ns
        for value in (folder, "/nonexistent", "/dev/null", "", "/proc"):
            with self.subTest(value):
                env = {name: str(value) for name in ("TMPDIR", "TMP", "TEMP")}
                self.hinge("train", "d.svm", "m", "--cache", "--trace", "t", env=env)
                self.assertEqual(self.read("m"), plain)
                self.hinge("split", "d.svm", "a", "b", "--force", env=env)
                self.hinge("convert", "d.svm", "d.hinge", env=env)
        self.assertEqual((os.listdir(folder), folder.stat().st_mtime_ns), ([], touched))

    def test_O12_no_home(self):
        plain = self.model_bytes()
        for how in ({"env": {"HOME": ""}}, {"env": {"HOME": "/nonexistent"}}, {"start_new_session": True},
                    {"through": ("env", "-i")}):
            with self.subTest(how):
                self.hinge("train", "d.svm", "m", **how)
                self.assertEqual(self.read("m"), plain)

    def test_O12_closed_descriptors(self):
        plain = self.model_bytes()
        labels = self.hinge("predict", "d.svm", "bytes.model").out
        for closed in ((0,), (1,), (2,), (0, 1), (1, 2), (0, 1, 2)):
            with self.subTest(closed):
                how = {"preexec_fn": lambda: [os.close(fd) for fd in closed]}
                self.hinge("train", "d.svm", "m", "--trace", "t", **how)
                self.assertEqual(self.read("m"), plain)
                self.assertTrue(all(line.startswith(b"{") for line in self.read("t").splitlines()))
                self.hinge("predict", "d.svm", "m", "labels", **how)
                self.assertEqual(self.read("labels"), labels)
                if 1 in closed:
                    self.hinge("predict", "d.svm", "m", code=74, **how)
                self.hinge("train", "none", "m", code=66, **how)
                self.assertEqual(self.read("m"), plain)

    def test_O14_a_long_argument(self):  # Linux allows 128 KiB
        run = self.hinge("train", "x" * 100_000, "m", code=66)
        self.assertSays(run, r"hinge: error: cannot open x+: File name too long \[io\.open\]")
        self.hinge("train", *["x" * 100_000] * 10, code=64)

    def test_O14_names(self):
        for name in (b"\xff\xfe.svm", b"new\nline.svm", b"-dash.svm", b"--gap", b"100%n.svm", b"sp ace.svm",
                     b"\x1b[31m.svm"):
            with self.subTest(name=name):
                self.write(name, TEXT)
                self.assertPlain(self.hinge("train", "--", name))
                self.assertEqual(self.read(name + b".model"), self.model_bytes())

    def test_O15_instruction_sets(self):
        self.hinge("generate", "g.svm", "--like", "ccat", "--rows", "2000")
        self.write("three.svm", to_text(make_rows(150, 6, seed=3, classes=(2, 5, 11))))
        missing = []
        for data in ("d.svm", "g.svm", "three.svm"):
            scalar = self.model_bytes("--cpu", "scalar", data=data)
            self.assertEqual(self.model_bytes(data=data), scalar)
            for name in ("avx2", "avx512"):
                with self.subTest(cpu=name, data=data):
                    run = self.hinge("train", data, "m", "--cpu", name, code=None)
                    if run.code == 69:
                        self.check_refusal(run, "system.cpu")
                        missing.append(name)
                        continue
                    self.assertEqual(run.code, 0, run)
                    self.assertEqual(self.read("m"), scalar)
        if missing:
            self.skipTest(f"this CPU does not have {' '.join(sorted(set(missing)))}")


# ---- R: outputs, signals, resources.


class Outputs(Scenes):
    """Errors leave no new file, no changed file, and are found before the work starts."""

    def setUp(self):
        super().setUp()
        self.write("old", OLD_MODEL)

    def test_R1_full_device(self):
        said = r"hinge: error: cannot write /dev/full: No space left on device \(wrote \d+ of \d+ bytes\) \[io\.write\]"
        self.assertSays(self.refused(74, "io.write", "train", "d.svm", "/dev/full"), said)
        self.refused(74, "io.write", "train", "d.svm", "/dev/full", "-q")
        self.refused(74, "io.write", "generate", "/dev/full", "--rows", "100")
        self.hinge("train", "d.svm", "m")
        self.refused(74, "io.write", "predict", "d.svm", "m", "/dev/full")
        self.refused(74, "io.write", "convert", "d.svm", "/dev/full", "--to", "binary")
        self.refused(74, "io.write", "convert", "m", "/dev/full", "--to", "liblinear")

    def test_R1_full_device_behind_standard_output(self):
        self.hinge("train", "d.svm", "m")
        for arguments in (("predict", "d.svm", "m"), ("evaluate", "d.svm", "m"), ("verify", "m", "d.svm"),
                          ("info", "m"), ("info", "d.svm"), ("check", "d.svm"), ("explain",), ("explain", "io.write"),
                          ("generate", "-", "--rows", "100"), ("train", "d.svm", "-")):
            with self.subTest(arguments), open("/dev/full", "wb") as full:
                self.refused(74, "io.write", *arguments, stdout=full)

    def test_R1_full_device_behind_json_leaves_a_whole_model(self):
        with open("/dev/full", "wb") as full:
            self.hinge("train", "d.svm", "m", "--json", stdout=full, code=74)
        self.assertVerifies()

    def test_R2_file_size_limit(self):
        limited = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512))}
        self.refused(74, "io.write", "train", "d.svm", "old", says="File too large", **limited)
        self.refused(74, "io.write", "train", "d.svm", "new", **limited)
        self.refused(74, "io.write", "convert", "d.svm", "e.hinge", **limited)
        self.refused(74, "io.write", "split", "d.svm", "a", "b", **limited)
        run = self.hinge("info", "d.svm", "--cache", **limited)
        self.assertSays(run, r"hinge: warning: .* \[cache\.write\]")
        self.assertEqual(self.files(), ["d.svm", "old"])

    def test_R4_missing_folder(self):
        self.refused(73, "io.create", "train", "d.svm", "no/such/m")
        self.refused(73, "io.create", "train", "d.svm", "m", "--trace", "no/such/trace")
        self.refused(73, "io.create", "generate", "no/such/g")
        self.refused(73, "io.create", "split", "d.svm", "no/such/a", "b")
        self.refused(73, "io.create", "split", "d.svm", "a", "no/such/b")
        self.refused(73, "io.create", "convert", "d.svm", "no/such/d.hinge")
        (self.dir / "no").mkdir()
        self.refused(73, "io.create", "train", "d.svm", "no")
        self.hinge("train", "d.svm", "m")
        self.refused(73, "io.create", "predict", "d.svm", "m", "no/such/labels")

    def test_R4_before_the_data_is_read(self):
        process = self.start("train", "-", "no/such/m", stdin=subprocess.PIPE)  # which nobody ever feeds
        self.assertEqual(self.finish(process).code, 73)

    def test_R4_permission(self):
        nobody = unprivileged(self)
        (self.dir / "closed").mkdir(mode=0o555)
        (self.dir / "old").chmod(0o444)
        self.addCleanup((self.dir / "closed").chmod, 0o755)
        self.refused(77, "io.permission", "train", "d.svm", "closed/m", **nobody)
        self.refused(77, "io.permission", "train", "d.svm", "old", **nobody)
        process = self.start("train", "-", "closed/m", stdin=subprocess.PIPE, **nobody)
        self.assertEqual(self.finish(process).code, 77)

    def test_R4_immutable_file(self):
        if os.geteuid() != 0 or subprocess.run(["chattr", "+i", self.dir / "old"], capture_output=True).returncode:
            self.skipTest("files cannot be made immutable here")
        self.addCleanup(subprocess.run, ["chattr", "-i", self.dir / "old"])
        process = self.start("train", "-", "old", stdin=subprocess.PIPE)
        self.assertIn(self.finish(process).code, (73, 77))
        self.assertEqual(self.read("old"), OLD_MODEL)

    @at_length()
    def test_R12_address_space(self):
        self.write("g.svm", TEXT * 1000)
        whole = self.model_bytes("--gap", "0.1", data="g.svm")
        codes = []
        for megabytes in (24, 28, 32, 36, 40, 48, 56, 64, 96, 1024):
            before = self.everything()
            limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (megabytes * MEGABYTE,) * 2)
            run = self.hinge("train", "g.svm", "m", "-n", "1", "--gap", "0.1", preexec_fn=limit, code=None)
            with self.subTest(megabytes=megabytes):
                codes.append(run.code)
                self.assertIn(run.code, (0, 81), run)
                if run.code == 81:
                    self.check_refusal(run, "memory.alloc")
                    self.assertEqual(self.everything(), before)
                else:
                    self.assertEqual(self.read("m"), whole)
                    (self.dir / "m").unlink()
        self.assertIn(81, codes)
        self.assertEqual(codes[-1], 0)

    def test_R13_two_trainings_at_once(self):
        models = {self.model_bytes("-c", cost) for cost in ("1", "2")}
        both = [self.start("train", "d.svm", "m", "-c", cost) for cost in ("1", "2")]
        for process in both:
            self.assertEqual(self.finish(process).code, 0)
        self.assertIn(self.read("m"), models)
        self.assertVerifies()
        self.assertEqual(self.files(), ["bytes.model", "d.svm", "m", "old"])

    def test_R17_only_the_monotonic_clock(self):
        sources = pathlib.Path(__file__).parents[2]
        banned = re.compile(r"system_clock|high_resolution_clock|gettimeofday|CLOCK_REALTIME|\btime\((nullptr|NULL|0)")
        files = [path for folder in ("src", "cli", "include") for path in (sources / folder).rglob("*.*")]
        self.assertGreater(len(files), 20)
        self.assertEqual([str(path) for path in files if banned.search(path.read_text())], [])

    def test_R19_objective_not_finite(self):
        run = self.refused(82, "solver.nonfinite", "train", "d.svm", "old", "-c", "1e300", "-w1", "1e10")
        self.assertEqual(run.lines[-1], "hinge: 1 error; no model written; old unchanged")
        self.refused(82, "solver.nonfinite", "train", "d.svm", "new", "-c", "1e300", "-w1", "1e10")

    def test_R20_limits(self):
        for options in (("--max-passes", "2"), ("--time-limit", "1e-9")):
            with self.subTest(options):
                run = self.hinge("train", "d.svm", "m", "--gap", "1e-9", "--json", *options)
                self.assertEqual(run.json["status"], "limit")
                self.assertGreater(run.json["relative_gap"], 1e-9)
                self.assertSays(run, r"hinge: warning: .*gap.* \[solver\.limit\]")
                self.assertEqual(self.assertVerifies()["primal"], run.json["primal"])

    def test_R20_require_converged(self):
        run = self.hinge("train", "d.svm", "m", "--max-passes", "1", "--gap", "1e-9", "--require-converged", code=3)
        self.assertSays(run, r".* \[solver\.limit\]")
        self.assertVerifies()  # the best so far is kept
        self.hinge("train", "d.svm", "m", "--require-converged")

    def test_R21_time_limit_zero(self):
        run = self.hinge("train", "d.svm", "m", "--time-limit", "0", "--json")
        self.assertEqual(run.json["status"], "limit")
        self.assertSays(run, r"hinge: warning: .*gap.* \[solver\.limit\]")
        self.assertEqual(self.assertVerifies()["primal"], run.json["primal"])
        self.assertEqual(self.hinge("predict", "d.svm", "m").out.count(b"\n"), 200)
        self.assertEqual(ModelFile(self.dir / "m").metadata["status"], "limit")


@table([(f"R8 {number.name}", number, code) for number, code in SIGNALS.items()])
class Signals(CommandCase):
    """A signal while training gives the best model so far; a second one ends at once."""

    def setUp(self):
        super().setUp()
        self.write("hard.svm", to_text(make_rows(300, 20, noise=1)))

    def endless(self, *more):
        """A training that would take very long, once it is well beyond reading its data."""
        process = self.start("train", "hard.svm", "m", "-s", "dual", "-c", "1e9", "--gap", "1e-15", "--json", *more)
        self.wait(lambda: cpu_seconds(process) > 0.3, process, "it has trained for a while")
        return process

    def check(self, row):
        _, number, code = row
        process = self.endless("--trace", "t")
        process.send_signal(number)
        run = self.finish(process)
        self.assertEqual(run.code, code, run)
        self.assertIn("m holds the best model so far", run.err)
        self.assertEqual(run.json["status"], "interrupted")
        self.assertEqual(self.files(), ["d.svm", "hard.svm", "m", "t"])
        found = self.assertVerifies(data="hard.svm")
        self.assertEqual(found["primal"], run.json["primal"])
        self.assertEqual(self.hinge("info", "m", "--json").json["status"], "interrupted")
        self.assertGreater(self.read("t").count(b"\n"), 0)

    def test_R8_one_against_the_rest(self):
        self.write("hard.svm", to_text(make_rows(300, 20, noise=1, classes=(1, 2, 3))))
        process = self.endless()
        process.send_signal(signal.SIGINT)
        self.assertEqual(self.finish(process).code, 130)
        self.assertVerifies(data="hard.svm")

    def test_R9_second_signal(self):
        self.write("m", OLD_MODEL)
        process = self.endless()
        process.send_signal(signal.SIGSTOP)  # so that both signals are there when it goes on
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGCONT)
        run = self.finish(process)
        self.assertIn(run.code, (130, 143), run)
        self.assertEqual(run.out, b"")
        self.assertEqual(self.read("m"), OLD_MODEL)
        self.assertEqual(self.files(), ["d.svm", "hard.svm", "m"])

    @unittest.skipUnless(shutil.which("timeout"), "timeout of coreutils is not there")
    def test_R9_timeout_signals_twice(self):
        """Once the process and once its group: that is one signal to the user."""
        for _ in range(5 if LONG else 1):
            done = subprocess.run(["timeout", "-s", "INT", "0.4", PROGRAM, "train", "hard.svm", "m", "-s", "dual", "-c", "1e9",
                                   "--gap", "1e-15"], cwd=self.dir, capture_output=True, timeout=60)
            self.assertEqual(done.returncode, 124)
            self.assertIn(b"m holds the best model so far", done.stderr)
            (self.dir / "m").unlink()

    def fed(self, *arguments, **popen):
        """The program after it has read all that standard input has, which stays open."""
        process = self.start(*arguments, stdin=subprocess.PIPE, **popen)
        process.stdin.write(TEXT.encode())
        process.stdin.flush()
        unread = lambda: struct.unpack("i", fcntl.ioctl(process.stdin, termios.FIONREAD, bytes(4)))[0]
        self.wait(lambda: unread() == 0 and waiting(process), process, "it waits for more input")
        return process

    def test_R8_while_reading(self):
        self.write("old", OLD_MODEL)
        for number, code in SIGNALS.items():
            with self.subTest(number.name):
                process = self.fed("train", "-", "old")
                process.send_signal(number)
                run = self.finish(process, timeout=10)
                self.assertEqual(run.code, code, run)
                self.assertSays(run, r"hinge: error: .* \[run\.interrupted\]")
                self.assertEqual(run.lines[-1], "hinge: 1 error; no model written; old unchanged")
                self.assertEqual(self.read("old"), OLD_MODEL)
                self.assertEqual(self.files(), ["d.svm", "hard.svm", "old"])

    def test_R8_while_predicting(self):
        self.hinge("train", "d.svm", "m")
        process = self.fed("predict", "-", "m", "labels")
        process.send_signal(signal.SIGTERM)
        run = self.finish(process, timeout=10)
        self.assertEqual(run.code, 143, run)
        self.assertEqual(self.files(), ["d.svm", "hard.svm", "m"])  # no labels, no temporary file

    def test_R8_while_waiting_for_a_pipe(self):
        os.mkfifo(self.dir / "pipe")
        process = self.start("train", "pipe", "m")  # which nobody ever opens
        self.wait(lambda: waiting(process), process, "it waits for the pipe")
        process.send_signal(signal.SIGINT)
        self.assertEqual(self.finish(process, timeout=10).code, 130)

    def test_R10_nohup(self):
        process = self.fed("train", "-", "m", preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        process.send_signal(signal.SIGHUP)
        process.stdin.close()
        process.stdin = None
        self.assertEqual(self.finish(process).code, 0)
        self.assertVerifies()

    def test_R10_stopped_and_continued(self):
        process = self.endless("--time-limit", "1000")
        process.send_signal(signal.SIGSTOP)
        process.send_signal(signal.SIGCONT)
        used = cpu_seconds(process)
        self.wait(lambda: cpu_seconds(process) > used + 0.1, process, "it trains on")
        process.send_signal(signal.SIGTERM)
        self.assertEqual(self.finish(process).code, 143)

    def test_R10_time_limits_count_time_that_was_slept(self):
        process = self.start("train", "hard.svm", "m", "-s", "dual", "-c", "1e9", "--gap", "1e-15", "--json", "--time-limit", "1")
        # It may wait for its first page of the disk, too, when no clock runs yet.
        self.wait(lambda: cpu_seconds(process) > 0.1, process, "it has begun to train")
        process.send_signal(signal.SIGSTOP)
        time.sleep(1.2)
        process.send_signal(signal.SIGCONT)
        start = time.monotonic()
        run = self.finish(process)
        self.assertEqual((run.code, run.json["status"]), (0, "limit"), run)
        self.assertLess(time.monotonic() - start, 20 if SLOW else 0.8)
        self.assertVerifies(data="hard.svm")



# ---- The catalogue itself.


def cases():
    """{row: number of cases}"""
    found = {}
    for thing in list(globals().values()):
        if isinstance(thing, type) and issubclass(thing, unittest.TestCase) and thing.__module__ == __name__:
            for name in unittest.TestLoader().getTestCaseNames(thing):
                if match := re.match(r"test_([TLVIBMOR]\d+)(_|$)", name):
                    found[match[1]] = found.get(match[1], 0) + 1
    for name in [row.name for row in BAD_DATA] + [row[0] for row in BAD_TEXT_MODELS]:  # read by catalogue_test.cc
        row = name.split()[0]
        found[row] = found.get(row, 0) + 1
    return found


class Completeness(unittest.TestCase):
    def test_every_row_has_a_case_or_a_reason(self):
        found = cases()
        self.assertEqual([row for row in ROWS if row not in found and row not in NOT_HERE], [])
        self.assertEqual([row for row in (*found, *NOT_HERE) if row not in ROWS], [])
        parts = {row for row, (reason, _) in NOT_HERE.items() if reason.startswith("part: ")}
        self.assertEqual({row for row in NOT_HERE if row in found}, parts)

    def test_every_row_is_explained(self):
        legend = re.findall(r"^\| ([TLVIBMOR]\d+) \|", (FOLDER / "README.md").read_text(), re.M)
        self.assertEqual(legend, ROWS)

    def test_what_is_elsewhere_is_there(self):
        for row, (_, place) in NOT_HERE.items():
            path, _, word = place.partition("::")
            if word:
                with self.subTest(row):
                    self.assertIn(word, (pathlib.Path(__file__).parents[2] / path).read_text())


def tearDownModule():
    found = cases()
    elsewhere = sum(row not in found for row in NOT_HERE)
    print(f"catalogue: {len(ROWS)} rows, {sum(found.values())} cases, {elsewhere} elsewhere", file=sys.stderr)


if __name__ == "__main__":
    support.main()
