"""Bad and odd input: exit code, id, place and form of every message.

The tables follow the catalogue of bad inputs: T text, L labels, V values, I indices, O options. Each row is a
test of its own; `python3 errors_test.py -k V10` runs some of them.
"""

import json
import os
import re
import resource
import shlex
import socket
import unittest
from typing import NamedTuple, Union

from support import Case, ModelFile, table, unprivileged

GOOD = b"1 1:1 2:0.5\n-1 1:-1 2:2\n"
FIELDS = {"severity", "id", "file", "line", "column", "offset", "message", "help"}


def encoded(text):
    return text if isinstance(text, bytes) else text.encode()


def third(line):
    """Two good lines, then this one."""
    return GOOD + encoded(line) + b"\n"


def escaped(line):
    return "".join(chr(b) if 0x20 <= b < 0x7F else f"\\x{b:02x}" for b in line)


def some(text, most=50):
    return text if len(text) <= most else text[:most] + "..."


class ErrorCase(Case):
    explained = set()

    def assertExplained(self, identifier):
        """`hinge explain` knows every id that occurs."""
        if identifier not in self.explained:
            self.explained.add(identifier)
            self.assertIn(identifier, self.hinge("explain", identifier).text)

    def assertPlain(self, run):
        """Nothing on stderr can control a terminal."""
        self.assertRegex(run.err, r"\A[\x20-\x7e\n]*\Z")


# ---- Data that is refused.


class Bad(NamedTuple):
    name: str
    data: Union[bytes, str]
    id: str
    place: str = ""  # line:column; empty: the file as a whole
    options: str = ""
    says: str = ""  # a pattern that occurs on stderr
    code: int = 65


NONFINITE = "nan NaN NAN -nan nan(123) inf -inf +inf Infinity -INFINITY".split()

BAD_TEXT = [
    Bad("T1 empty file", b"", "data.empty", says=r"^d\.svm: error: no rows \[data\.empty\]"),
    Bad("T2 newlines", "\n\n\n", "data.empty", says=r"^d\.svm: error: 0 rows in 3 lines \["),
    Bad("T2 comments", "# a\n#b\n # c\n", "data.empty", says="0 rows in 3 lines"),
    Bad("T2 blanks", " \n\t\n \t \n", "data.empty", says="0 rows in 3 lines"),
    Bad("T2 CRLF", "\r\n\r\n\r\n", "data.empty", says="0 rows in 3 lines"),
    Bad("T2 byte order mark", "\ufeff", "data.empty"),
    Bad("T8 CR only", "1 1:1\r-1 1:2\r", "data.line.cr-only", "1:6", says="help: .*CR"),
    Bad("T8 CR only, comment first", "# c\r1 1:1\r-1 1:2\r", "data.line.cr-only", "1:4", says="help: .*CR"),
    Bad("T8 CR only, comment after a row", "1 1:1 # c\r-1 1:2\r", "data.line.cr-only", "1:10", says="help: .*CR"),
    Bad("T9 byte order mark inside", third("\ufeff1 1:1"), "data.byte", "3:1", says=r"U\+FEFF"),
    Bad("T10 UTF-16 little-endian", "1 1:1\n".encode("utf-16"), "data.encoding", says="looks like UTF-16"),
    Bad("T10 UTF-16 big-endian", b"\xfe\xff" + "1 1:1\n".encode("utf-16-be"), "data.encoding",
        says="looks like UTF-16"),
    Bad("T10 UTF-16 without mark", "1 1:1\n".encode("utf-16-le"), "data.encoding", says="looks like UTF-16"),
    Bad("T10 UTF-16 without mark, big-endian", "1 1:1\n".encode("utf-16-be"), "data.encoding",
        says="looks like UTF-16"),
    Bad("T10 UTF-32", "1 1:1\n".encode("utf-32"), "data.encoding", says="looks like UTF-32"),
    Bad("T14 NUL", third(b"1 1:1\0 2:1"), "data.byte", "3:6", says=r"error: .*\\x00"),
    Bad("T14 NUL at once", b"1\0 1:1\n-1 1:2\n", "data.byte", "1:2", says=r"error: .*\\x00"),
    Bad("T15 no-break space", third("1\u00a01:1"), "data.byte", "3:2", says=r"U\+00A0"),
    Bad("T15 minus sign", third("1 1:\u22121"), "data.byte", "3:5", says=r"U\+2212"),
    Bad("T15 full-width digit", third("1 \uff11:1"), "data.byte", "3:3", says=r"U\+FF11"),
    Bad("T15 letter", third("1 1:1 \u00e9"), "data.byte", "3:7", says=r"U\+00E9"),
    Bad("T15 beyond the basic plane", third("1 1:1 \U0001f600"), "data.byte", "3:7", says=r"U\+1F600"),
    Bad("T15 not UTF-8", third(b"1 1:1 \xff"), "data.byte", "3:7", says=r"error: .*\\xff"),
    Bad("T15 bell", third("1 1:1 \a"), "data.byte", "3:7", says=r"error: .*\\x07"),
    Bad("T15 escape", third("1 1:1 \x1b[31m"), "data.byte", "3:7", says=r"error: .*\\x1b"),
    Bad("T15 delete", third("1 1:1\x7f"), "data.byte", "3:6", says=r"error: .*\\x7f"),
    Bad("T15 vertical tab", third("1 1:1\v2:1"), "data.byte", "3:6", says=r"error: .*\\x0b"),
    Bad("T16 program", b"\x7fELF\2\1\1" + bytes(50), "data.encoding", says="looks like .*ELF"),
    Bad("T16 JPEG", b"\xff\xd8\xff\xe0\0\x10JFIF\0" + bytes(50), "data.encoding", says="looks like .*JPEG"),
    Bad("T16 parquet", b"PAR1\x15\4\x15" + bytes(50), "data.encoding", says="looks like .*parquet"),
    Bad("T16 zip", b"PK\3\4\x14\0" + bytes(50), "data.encoding", says="looks like .*zip"),
    Bad("T22 cut before a value", GOOD + b"1 1:0.5 2:", "data.value.missing", "3:9", says="help: .*no newline"),
    Bad("T22 cut inside an index", GOOD + b"1 1:0.5 2", "data.pair", "3:9", says="help: .*no newline"),
    Bad("T28 CSV", "label,f1,f2\n", "data.label", "1:1", says="help: is this CSV"),
]

BAD_LABELS = [
    *(Bad(f"L1 {x}", third(f"{x} 1:1"), "data.label.nonfinite", "3:1") for x in ("nan", "inf", "-inf", "+Infinity")),
    *(Bad(f"L2 {x}", third(f"{x} 1:1"), "data.label", "3:1")
      for x in ("cat", "-", "+", "+-1", "0x1", "1x", "1e", ".", "--1", "1_0", "one two")),
    Bad("L2 no label", third(" 1:1"), "data.label", "3:2"),
    Bad("L2 no label, no blank", third("1:1"), "data.label", "3:1"),
    *(Bad(f"L3 {x}", third(f"{x} 1:1"), "data.label.not-integer", "3:1",
          says="help: hinge classifies; labels are whole numbers")
      for x in ("1.5", "-0.5", "1e-1", "1e-400", "9007199254740993.5")),
    *(Bad(f"L5 {some(x)}", third(f"{x} 1:1"), "data.label.range", "3:1")
      for x in ("9223372036854775808", "-9223372036854775809", "1e19", "1e400", "9" * 400)),
    Bad("L6 several", third("1,2 1:1"), "data.label.multi", "3:1"),
    Bad("L8 one class", "1 1:1\n" * 20, "data.one-class", says="all 20 rows have label 1 "),
    Bad("L9 one row", "1 1:1\n", "data.one-class"),
    Bad("L10 too many classes", "".join(f"{i} 1:1\n" for i in range(100_001)), "limit.classes",
        says=r"100001 .*\d [KMG]iB"),
    Bad("L14 zeros", "-0 1:1\n0 1:2\n+0.0 1:3\n", "data.one-class", says="all 3 rows have label 0 "),
]

BAD_VALUES = [
    *(Bad(f"V1 {x}", third(f"1 1:{x} 2:1"), "data.value.nonfinite", "3:5",
          says=r'error: feature value is not a finite number: "' + re.escape(x) + '"') for x in NONFINITE),
    Bad("V1 double", third("1 1:nan"), "data.value.nonfinite", "3:5", "--precision f64"),
    Bad("V3", third("1 1:1e400"), "data.value.overflow", "3:5"),
    Bad("V3 negative", third("1 1:-1e400"), "data.value.overflow", "3:5"),
    Bad("V3 double", third("1 1:1e400"), "data.value.overflow", "3:5", "--precision f64"),
    Bad("V4 1e308", third("1 1:1e308"), "data.row.norm", "3:1", "--precision f64", "squared norm .*overflows"),
    Bad("V4 1e200", third("1 1:1e200"), "data.row.norm", "3:1", "--precision f64", "scale the data"),
    Bad("V4 sum of squares", third("1 1:1e154 2:1e154"), "data.row.norm", "3:1", "--precision f64"),
    Bad("V7", third("1 1:3.5e38"), "data.value.f32-range", "3:5", says="help: .*--precision f64"),
    Bad("V7 just beyond", third("1 1:340282356779733661637539395458142568448"), "data.value.f32-range", "3:5"),
    Bad("V7 1e308", third("1 1:-1e308"), "data.value.f32-range", "3:5"),
    Bad("V10 hexadecimal", third("1 1:0x1p3"), "data.value", "3:6"),
    Bad("V10 underscore", third("1 1:1_000"), "data.value", "3:6"),
    Bad("V10 decimal comma", third("1 1:1,5"), "data.value", "3:6"),
    Bad("V10 Fortran exponent", third("1 1:1d5"), "data.value", "3:6"),
    Bad("V10 no exponent", third("1 1:1e"), "data.value", "3:6"),
    Bad("V10 point", third("1 1:."), "data.value", "3:5"),
    Bad("V10 sign", third("1 1:+"), "data.value", "3:6"),
    Bad("V10 two signs", third("1 1:--1"), "data.value", "3:6"),
    Bad("V10 letter", third("1 1:1x"), "data.value", "3:6"),
    Bad("V10 two points", third("1 1:1.2.3"), "data.value", "3:8"),
    Bad("V10 two colons", third("1 1:2:3"), "data.value", "3:6"),
    Bad("V10 word", third("1 1:abc"), "data.value", "3:5"),
    Bad("V10 in the middle", third("1 1:1 2:2x 3:3"), "data.value", "3:10"),
    Bad("V11 no value", third("1 1: 2:1"), "data.value.missing", "3:3"),
    Bad("V11 no colon", third("1 1"), "data.pair", "3:3"),
    Bad("V11 no index", third("1 :1"), "data.index", "3:3"),
]

BAD_INDICES = [
    Bad("I1 zero", third("1 0:1"), "data.index.zero", "3:3", "--index-base 1", "help: .*--index-base 0"),
    Bad("I2 negative", third("1 -1:1"), "data.index.negative", "3:3"),
    Bad("I3 strict", third("1 2:1 1:1"), "data.index.order", "3:7", "--strict"),
    Bad("I4 twice", third("1 1:1 1:2"), "data.index.duplicate", "3:7"),
    Bad("I4 twice, apart", third("1 1:1 2:1 1:2"), "data.index.duplicate", "3:11"),
    Bad("I4 twice, the same value", third("1 1:1 1:1"), "data.index.duplicate", "3:7"),
    Bad("I4 twice, other spelling", third("1 1:1 001:1"), "data.index.duplicate", "3:7"),
    Bad("I4 twice, a zero", third("1 1:0 1:1"), "data.index.duplicate", "3:7"),
    Bad("I5 2^32", third("1 4294967296:1"), "memory.model", "3:3", code=81),
    Bad("I5 2^32 + 1", third("1 4294967297:1"), "memory.model", "3:3", code=81,
        says="feature index 4294967297 needs a weight vector of 32 GiB"),
    Bad("I5 2^63 - 1", third("1 9223372036854775807:1"), "memory.model", "3:3", code=81),
    Bad("I6 2^63", third("1 9223372036854775808:1"), "data.index.range", "3:3"),
    Bad("I6 2^64", third("1 18446744073709551616:1"), "data.index.range", "3:3"),
    Bad("I6 2^64 + 1", third("1 18446744073709551617:1"), "data.index.range", "3:3"),
    Bad("I6 30 digits", third("1 " + "1" * 30 + ":1"), "data.index.range", "3:3"),
    *(Bad(f"I7 {x}", third(f"1 {x}:1"), "data.index", "3:3")
      for x in ("1.5", "1e3", "0x3", "a", "+", "-", "1_0", "++3")),
]


@table(BAD_TEXT + BAD_LABELS + BAD_VALUES + BAD_INDICES)
class BadDataTest(ErrorCase):
    def check(self, row):
        data = encoded(row.data)
        self.write("d.svm", data)
        self.write("m", "old")
        command = ["train", "d.svm", "m", *row.options.split()]
        run = self.hinge(*command, code=row.code)
        place = f"d\\.svm:{row.place}" if row.place else "(d\\.svm|hinge)"
        self.assertRegex(run.lines[0], rf"^{place}: error: .+ \[{re.escape(row.id)}\]$")
        self.assertEqual(run.lines[-1], "hinge: 1 error; no model written; m unchanged")
        self.assertRegex(run.err, re.compile(row.says, re.M))
        self.assertPlain(run)
        self.assertEqual(run.out, b"")
        self.assertEqual(self.files(), ["d.svm", "m"])
        self.assertEqual(self.read("m"), b"old")
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
    Odd("O6 class weight of no class", GOOD.decode(), "usage.class-weight", "label 7", "--class-weight 7=2"),
    Odd("R20 limit", "".join(f"{y} 1:{i} 2:{7 * i % 5}\n" for i in range(9) for y in (1, -1)), "solver.limit", "gap",
        "--max-passes 1 --gap 1e-12"),
]


@table(ODD_DATA)
class OddDataTest(ErrorCase):
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
    ("L4 point", "1.0", 1), ("L4 plus", "+1", 1), ("L4 zeros", "0001", 1), ("exponent", "1e3", 1000),
    ("negative exponent", "10e-1", 1), ("point at the end", "7.", 7), ("point first", ".0", 0),
    ("L5 1e10", "1e10", 10**10), ("L5 2^53 + 1", "9007199254740993", 2**53 + 1),
    ("L5 2^53 + 1 with a point", "9007199254740993.0", 2**53 + 1),
    ("L5 2^53 + 1 with an exponent", "9007199254740993e0", 2**53 + 1),
    ("L5 2^63 - 1", "9223372036854775807", 2**63 - 1), ("L5 -2^63", "-9223372036854775808", -(2**63)),
    ("L14 negative zero", "-0", 0),
]


@table(LABELS)
class LabelTest(ErrorCase):
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
class ValueTest(ErrorCase):
    def check(self, row):
        _, precision, text, number = row
        models = []
        for name, written in (("a", text), ("b", number)):
            self.write(name, f"1 1:{written} 2:1\n-1 1:1 2:-1\n")
            self.hinge("train", name, "m", "--precision", precision, "-q")
            models.append(self.read("m"))
        self.assertEqual(ModelFile(models[0]).data, ModelFile(models[1]).data)  # with the fingerprint
        self.assertEqual(models[0], models[1])


# ---- Options.

NUMBERS = ["0", "-1", "nan", "inf", "-inf", "1e308", "abc", "1x", "''", "1,5", "' 1'"]

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
    *((f"LIBLINEAR -s {n}", f"-s {n}", "usage.value", loss) for n, loss in (
        (0, "logistic"), (1, "squared hinge"), (2, "squared hinge"), (4, "Crammer and Singer"),
        (5, "squared hinge"), (6, "logistic"), (7, "logistic"),
        (11, "regression"), (12, "regression"), (13, "regression"), (21, "one-class"))),
    ("O4 unknown option", "--frobnicate", "usage.option", "--frobnicate"),
    ("O4 unknown letter", "-z", "usage.option", "-z"),
    ("O4 twice", "-c 1 -c 2", "usage.option", "--cost"),
    ("O4 twice, two spellings", "-c 1 --cost 1", "usage.option", "--cost"),
    ("O4 twice, seed", "--seed 1 --seed 2", "usage.option", "--seed"),
    ("O4 twice, weights", "--weights a --weights b", "usage.option", "--weights"),
    ("O4 no argument", "--cost", "usage.option", "--cost"),
    ("O4 stray operand", "extra", "usage.option", "extra"),
    ("cost and lambda", "--cost 1 --lambda 1", "usage.option", "--lambda"),
    ("gap and tolerance", "--gap 0.1 -e 0.1", "usage.option", ""),
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
    *((f"time limit {v}", f"--time-limit {v}", "usage.value", "--time-limit: expected") for v in ("-1", "nan", "abc")),
    *((f"max passes {v}", f"--max-passes {v}", "usage.value", "--max-passes: expected")
      for v in ("0", "-1", "1.5", "abc")),
    *((f"bias {v}", f"--bias {v}", "usage.value", "--bias: expected") for v in ("nan", "inf", "abc")),
    ("cpu", "--cpu abc", "usage.value", "--cpu: expected"),
    ("precision", "--precision f16", "usage.value", "--precision"),
    ("index base", "--index-base 2", "usage.value", "--index-base"),
    ("diagnostics", "--diagnostics xml", "usage.value", "--diagnostics"),
]


@table(BAD_OPTIONS)
class BadOptionTest(ErrorCase):
    def check(self, row):
        _, arguments, identifier, says = row
        self.write("d.svm", GOOD)
        run = self.hinge("train", "d.svm", "m", *shlex.split(arguments), code=64)
        self.assertEqual(len(run.lines), 2, run)
        self.assertRegex(run.lines[0], rf"^hinge train: error: .*{re.escape(says)}.* \[{re.escape(identifier)}\]$")
        self.assertEqual(run.lines[1], "try: hinge train --help")
        self.assertPlain(run)
        self.assertEqual(run.out, b"")
        self.assertEqual(self.files(), ["d.svm"])
        self.assertExplained(identifier)


OTHER_COMMANDS = [  # command line, id
    ("", "usage.option"),
    ("frobnicate", "usage.option"),
    ("train", "usage.option"),
    ("predict d.svm", "usage.option"),
    ("evaluate", "usage.option"),
    ("verify m", "usage.option"),
    ("split d.svm a", "usage.option"),
    ("info", "usage.option"),
    ("generate", "usage.option"),
    ("evaluate d.svm m stray", "usage.option"),
    ("predict d.svm m -n -1", "usage.value"),
    ("evaluate d.svm m -n 4097", "usage.value"),
    ("verify m d.svm -n 1e6", "usage.value"),
    ("verify m d.svm --gap 0", "usage.value"),
    ("verify m d.svm --gap 2", "usage.value"),
    ("verify m d.svm --gap nan", "usage.value"),
    ("info d.svm -n abc", "usage.value"),
    ("generate g -n -1", "usage.value"),
    ("generate g --like abc", "usage.value"),
    ("generate /dev/null --rows -1", "usage.value"),
    ("generate g --rows abc", "usage.value"),
    ("generate g --rows 1.5", "usage.value"),
    ("generate g --rows 5 --seed -1", "usage.value"),
    ("generate g --rows 5 --seed 18446744073709551616", "usage.value"),
    ("split d.svm a b --seed -1", "usage.value"),
    ("split d.svm a b --seed abc", "usage.value"),
    ("split - a b", "usage.value"),
]


@table(OTHER_COMMANDS, name=lambda row: row[0] or "nothing")
class OtherCommandTest(ErrorCase):
    def check(self, row):
        self.write("d.svm", GOOD)
        run = self.hinge(*row[0].split(), code=64, timeout=20)
        self.assertRegex(run.lines[0], rf"^hinge[a-z ]*: error: .+ \[{re.escape(row[1])}\]$")
        self.assertEqual(run.out, b"")
        self.assertEqual(self.files(), ["d.svm"])


# ---- Inputs that cannot be read.


class UnreadableTest(ErrorCase):
    def refused(self, code, identifier, *command, says="", **how):
        run = self.hinge(*command, code=code, **how)
        self.assertRegex(run.lines[0], rf"^[^ ]+: error: .*{says}.* \[{re.escape(identifier)}\]$")
        self.assertExplained(identifier)
        return run

    def test_T3_no_such_file(self):
        for command in ("train", "info"):
            self.refused(66, "io.open", command, "none", says="cannot open none: No such file or directory")
        self.refused(66, "io.open", "train", "none-*", says="none-\\*")
        self.refused(66, "io.open", "train", "", "m")

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

    def test_T5_permission(self):
        nobody = unprivileged(self)
        self.write("d.svm", GOOD).chmod(0)
        self.refused(77, "io.permission", "train", "d.svm", "m", says="d.svm: Permission denied", **nobody)

    def test_T5_a_folder_of_a_pattern(self):
        """The folders that can be listed are not the whole data set."""
        nobody = unprivileged(self)
        for name in ("open", "shut"):
            (self.dir / name).mkdir()
            self.write(f"{name}/part", GOOD)
        (self.dir / "shut").chmod(0)
        self.addCleanup((self.dir / "shut").chmod, 0o700)
        self.refused(77, "io.permission", "train", "*/par*", "m", says="cannot list .*: Permission denied", **nobody)

    def test_T24_closed_standard_input(self):
        self.refused(74, "io.read", "train", "-", "m", preexec_fn=lambda: os.close(0))

    def test_T29_the_second_file(self):
        self.write("part-1", GOOD * 5)
        self.write("part-2", third("1 1:x"))
        run = self.refused(65, "data.value", "train", "part-*", "m")
        self.assertTrue(run.err.startswith("part-2:3:5: error: "), run)

    def test_T29_both_files(self):
        self.write("part-1", third("1 1:x") + GOOD)
        self.write("part-2", third("1 1:y"))
        run = self.refused(65, "data.value", "train", "part-*", "m")
        self.assertEqual([line.split(" ")[0] for line in run.lines if "error:" in line], ["part-1:3:5:", "part-2:3:5:"])

    def test_I8_large_index_in_a_small_file(self):
        for index in (10**9, 2**31 - 1, 2**31, 2**32 - 1):
            with self.subTest(index=index):
                self.write("d.svm", GOOD * 11 + b"1 %d:1\n" % index)
                (self.dir / "m").unlink(missing_ok=True)
                run = self.hinge("train", "d.svm", "m", code=None)
                self.assertIn(run.code, (0, 81), run)
                if run.code == 81:
                    self.assertRegex(run.lines[0], r"error: .*GiB.* \[memory\.model\]$")
                    self.assertEqual(self.files(), ["d.svm"])
                kilobytes = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
                self.assertLess(kilobytes, 4 << 20)

    def test_other_commands(self):
        self.write("d.svm", GOOD)
        self.write("bad.svm", third("1 1:x"))
        self.hinge("train", "d.svm", "m")
        for command in (("predict", "bad.svm", "m", "out"), ("evaluate", "bad.svm", "m"), ("verify", "m", "bad.svm"),
                        ("info", "bad.svm")):
            with self.subTest(command[0]):
                run = self.refused(65, "data.value", *command)
                self.assertTrue(run.err.startswith("bad.svm:3:5: error: "), run)
                self.assertEqual(run.out, b"")
        self.assertEqual(self.files(), ["bad.svm", "d.svm", "m"])

    def test_L13_no_labels(self):
        self.write("d.svm", GOOD)
        self.write("n.svm", "1:1 2:1\n")
        self.hinge("train", "d.svm", "m")
        run = self.refused(65, "data.label", "predict", "n.svm", "m")
        self.assertIn("--no-labels", run.err)

    def test_I1_index_0_for_a_model_that_counts_from_1(self):
        self.write("d.svm", GOOD)
        self.write("z.svm", third("1 0:1"))
        self.hinge("train", "d.svm", "m")
        self.assertTrue(self.refused(65, "data.index.zero", "predict", "z.svm", "m").err.startswith("z.svm:3:3: "))

    def test_folds(self):
        self.write("d.svm", GOOD * 2)
        self.refused(65, "data.folds", "train", "d.svm", "-v", "3")
        self.refused(65, "data.folds", "train", "d.svm", "-v", "100")
        self.assertEqual(self.files(), ["d.svm"])

    def test_row_weights(self):
        self.write("d.svm", GOOD)
        for text, identifier, place in (
                ("1\nx\n", "data.weight", "w:2:1"), ("1\n -1\n", "data.weight", "w:2:2"),
                ("nan\n1\n", "data.weight", "w:1:1"), ("1\ninf\n", "data.weight", "w:2:1"),
                ("1\n1 1\n", "data.weight", "w:2:"), ("1\n1e400\n", "data.weight", "w:2:1"),
                ("1\n", "data.weights.count", ""), ("1\n1\n1\n", "data.weights.count", ""),
                ("", "data.weights.count", ""), ("1\n0\n", "data.weights.zero", ""),
                ("0\n0\n", "data.weights.zero", "")):
            with self.subTest(text):
                self.write("w", text)
                run = self.refused(65, identifier, "train", "d.svm", "m", "--weights", "w")
                self.assertTrue(run.err.startswith(place), run)
                self.assertEqual(self.files(), ["d.svm", "w"])
        self.refused(66, "io.open", "train", "d.svm", "m", "--weights", "none")


# ---- The form of messages.


class MessageTest(ErrorCase):
    def errors(self, run):
        return [line for line in run.lines if re.match(r"[^ ]+:\d+:\d+: error: ", line)]

    def test_the_example_of_the_manual(self):
        self.write("train.svm", b"1 1:1\n-1 1:2\n" * 10 + b"1 1:nan 2:1\n")
        self.write("model.hinge", "old")
        run = self.hinge("train", "train.svm", "model.hinge", code=65)
        self.assertEqual(run.lines[:3], [
            'train.svm:21:5: error: feature value is not a finite number: "nan" [data.value.nonfinite]',
            "   21 | 1 1:nan 2:1",
            "      |     ^~~"])
        self.assertRegex(run.lines[3],
                         r"^train\.svm: help: remove the row, or mend it(; `hinge check train\.svm` .*)?$")
        self.assertEqual(run.lines[4:], ["hinge: 1 error; no model written; model.hinge unchanged"])

    def test_two_errors(self):
        self.write("d.svm", third("1 1:x\n-1 2:1\ncat"))
        run = self.hinge("train", "d.svm", "m", code=65)
        self.assertEqual([line.split(" ")[0] for line in self.errors(run)], ["d.svm:3:5:", "d.svm:5:1:"])
        self.assertEqual(run.lines[-1], "hinge: 2 errors; no model written")

    def test_the_code_is_that_of_the_first_error(self):
        self.write("d.svm", third("1 1:x\n1 4294967297:1"))
        self.hinge("train", "d.svm", "m", code=65)

    def test_more_than_ten_errors(self):
        self.write("d.svm", GOOD + b"1 1:x\n" * 12)
        run = self.hinge("train", "d.svm", "m", code=65)
        self.assertEqual([line.split(" ")[0] for line in self.errors(run)], [f"d.svm:{i}:5:" for i in range(3, 13)])
        self.assertIn("more", run.lines[-2])
        self.assertEqual(run.lines[-1], "hinge: 10 errors; no model written")
        run = self.hinge("train", "d.svm", "m", "--diagnostics", "json", code=65)
        self.assertEqual([json.loads(line)["line"] for line in run.lines], list(range(3, 13)))

    def test_quiet_drops_no_errors(self):
        self.write("d.svm", third("1 1:x"))
        loud, quiet = self.hinge("train", "d.svm", "m", code=65), self.hinge("train", "d.svm", "m", "-q", code=65)
        self.assertEqual(quiet.err, loud.err)

    def test_the_same_for_any_number_of_threads(self):
        lines = [b"1 1:1" if i % 2 else b"-1 1:2 2:3" for i in range(100_000)]
        for i in range(7_000, 100_000, 7_000):
            lines[i] = b"1 1:1 2:bad"
        self.write("d.svm", b"\n".join(lines))
        one = self.hinge("train", "d.svm", "m", "-n", "1", code=65)
        self.assertEqual([line.split(" ")[0] for line in self.errors(one)],
                         [f"d.svm:{7_000 * i + 1}:9:" for i in range(1, 11)])
        for threads in (2, 8):
            self.assertEqual(self.hinge("train", "d.svm", "m", "-n", threads, code=65).err, one.err)

    def test_a_long_line_is_cut_around_the_column(self):
        line = "1 " + " ".join(f"{j}:0.5" for j in range(1, 301))
        line = line.replace(" 150:0.5", " 150:bad")
        self.write("d.svm", third(line))
        run = self.hinge("train", "d.svm", "m", code=65)
        column = line.index("bad") + 1
        self.assertTrue(run.err.startswith(f"d.svm:3:{column}: "), run)
        shown = run.lines[1].split(" | ", 1)[1]
        self.assertLessEqual(len(shown), 60)
        self.assertIn(shown, line)
        caret = run.lines[2].index("^") - run.lines[1].index("|") - 2
        self.assertEqual(shown[caret : caret + 3], "bad")
        self.assertEqual(run.lines[2].strip(" |"), "^~~")

    def test_bytes_before_the_column_are_escaped_too(self):
        self.write("d.svm", third("1 1:1\t2:x"))
        run = self.hinge("train", "d.svm", "m", code=65)
        self.assertEqual(run.lines[1:3], ["    3 | 1 1:1\\x09" + "2:x", "      |            ^"])

    def test_names_are_escaped(self):
        for name, shown in ((b"a\x1b[31m.svm", "a\\x1b[31m.svm"), (b"a\nb.svm", "a\\x0ab.svm"),
                            (b"\xff.svm", "\\xff.svm"), (b"100%n%s.svm", "100%n%s.svm")):
            with self.subTest(name=name):
                self.write(name, third("1 1:x"))
                run = self.hinge("train", name, "m", code=65)
                self.assertPlain(run)
                self.assertTrue(run.err.startswith(f"{shown}:3:5: error: "), run)
                found = json.loads(self.hinge("train", name, "m", "--diagnostics", "json", code=65).err)
                self.assertEqual(found["file"], shown)
        self.assertPlain(self.hinge("train", b"none\x1b\n\xff", code=66))
        self.assertPlain(self.hinge("train", "d.svm", "m", b"--\x1b\n\xff", code=64))
        self.assertPlain(self.hinge("train", "d.svm", "m", "--cost", b"\x1b[31m\xff", code=64))
        self.assertPlain(self.hinge("train", "d.svm", "m", "--precision", b"\x1b[31m\xff", code=64))
        self.assertPlain(self.hinge(b"\x1b[31m\xff", code=64))

    def test_long_words_are_cut(self):
        self.write("d.svm", third("1 1:" + "x" * 10_000))
        self.assertLess(len(self.hinge("train", "d.svm", "m", code=65).err), 1000)

    def test_json_for_errors_without_a_place(self):
        for arguments, code, identifier in ((("train", "none"), 66, "io.open"), (("info", "none"), 66, "io.open"),
                                            (("train", "d.svm", "no/such/m"), 73, "io.create"),
                                            (("predict", "d.svm", "none"), 66, "io.open")):
            with self.subTest(arguments):
                found = json.loads(self.hinge(*arguments, "--diagnostics", "json", code=code).err)
                self.assertEqual(set(found), FIELDS)
                self.assertEqual((found["id"], found["line"], found["column"]), (identifier, 0, 0))

    def test_json_for_usage_errors(self):
        self.write("d.svm", GOOD)
        for arguments in ("--diagnostics json --cost nan", "--cost nan --diagnostics json",
                          "--diagnostics=json --frobnicate"):
            with self.subTest(arguments):
                run = self.hinge("train", "d.svm", "m", *arguments.split(), code=64)
                found = json.loads(run.lines[0])
                self.assertIn(found["id"], ("usage.value", "usage.option"))


if __name__ == "__main__":
    unittest.main()
