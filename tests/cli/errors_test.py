"""The form of messages, and bad input that is no row of the catalogue (catalogue_test.py)."""

import json
import re

import support
from support import GOOD, OLD_MODEL, ErrorCase, table, unprivileged

FIELDS = {"severity", "id", "file", "line", "column", "offset", "message", "help"}


def third(line):
    """Two good lines, then this one."""
    return GOOD + line.encode() + b"\n"


# ---- Options.

BAD_OPTIONS = [  # name, arguments after `train d.svm m`, id, what the message says
    *((f"LIBLINEAR -s {n}", f"-s {n}", "usage.value", loss) for n, loss in (
        (4, "each against the rest: -s 3 with the hinge"), (5, "-s 2 is the same loss"), (6, "-s 0 is the same loss"),
        (21, "one-class SVM; hinge learns from rows of at least two"))),
    ("loss", "--loss log", "usage.value", "--loss: expected one of hinge, squared_hinge, logistic"),
    ("loss and -s 1", "-s 1 --loss hinge", "usage.option", "one of LIBLINEAR's numbers"),
    ("cost and lambda", "--cost 1 --lambda 1", "usage.option", "--lambda"),
    ("gap and tolerance", "--gap 0.1 -e 0.1", "usage.option", ""),
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
        self.check_bad_option(arguments.split(), identifier, says)


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
    ("evaluate d.svm m --all --curve c", "usage.option"),
    ("evaluate d.svm m --json --curve -", "usage.option"),
    ("predict d.svm m --csv --json", "usage.option"),
    ("predict d.svm m --csv --scores", "usage.option"),
    ("predict d.svm m --json -b 1", "usage.option"),
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


# ---- Inputs that cannot be used.


class InputTest(ErrorCase):
    def refused(self, code, identifier, *command, says="", **how):
        run = self.hinge(*command, code=code, **how)
        self.assertRegex(run.lines[0], rf"^[^ ]+: error: .*{says}.* \[{re.escape(identifier)}\]$")
        self.assertExplained(identifier)
        return run

    def test_a_folder_of_a_pattern(self):
        """The folders that can be listed are not the whole data set."""
        nobody = unprivileged(self)
        for name in ("open", "shut"):
            (self.dir / name).mkdir()
            self.write(f"{name}/part", GOOD)
        (self.dir / "shut").chmod(0)
        self.addCleanup((self.dir / "shut").chmod, 0o700)
        self.refused(77, "io.permission", "train", "*/par*", "m", says="cannot list .*: Permission denied", **nobody)

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


# ---- The form of messages.


class MessageTest(ErrorCase):
    def errors(self, run):
        return [line for line in run.lines if re.match(r"[^ ]+:\d+:\d+: error: ", line)]

    def test_the_example_of_the_manual(self):
        self.write("train.svm", b"1 1:1\n-1 1:2\n" * 10 + b"1 1:nan 2:1\n")
        self.write("model.hinge", OLD_MODEL)
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
    support.main()
