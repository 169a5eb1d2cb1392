"""What messages say of the outputs, outputs that are no files, and files given in the wrong place.

What faults do to files is in catalogue_test.py.
"""

import os
import subprocess

import support
from support import OLD_MODEL, TEXT, CommandCase


class OutputTest(CommandCase):
    def refused(self, code, identifier, *command):
        before = {name: self.read(name) for name in self.files()}
        run = self.hinge(*command, code=code)
        self.assertSays(run, rf".*error: .+ \[{identifier}\]")
        self.assertEqual({name: self.read(name) for name in self.files()}, before)

    def test_the_last_line_tells_what_became_of_the_output(self):
        self.write("old", OLD_MODEL)
        self.write("bad.svm", TEXT + "1 1:x\n")
        run = self.hinge("train", "bad.svm", "new", code=65)
        self.assertEqual(run.lines[-1], "hinge: 1 error; no model written")
        run = self.hinge("train", "bad.svm", "old", code=65)
        self.assertEqual(run.lines[-1], "hinge: 1 error; no model written; old unchanged")
        self.assertEqual(self.read("old"), OLD_MODEL)
        self.assertEqual(self.files(), ["bad.svm", "d.svm", "old"])

    def test_dev_stdout_is_a_stream(self):
        """Also where it is a file: that belongs to whoever opened it."""
        self.hinge("train", "d.svm", "old")
        expected = self.hinge("predict", "d.svm", "old").out
        for name in ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "-"):
            with self.subTest(name), (self.dir / "log").open("wb") as log:
                log.write(b"before\n")
                log.flush()
                self.hinge("predict", "d.svm", "old", name, stdout=log)
                log.write(b"after\n")
                log.flush()
                self.assertEqual(self.read("log"), b"before\n" + expected + b"after\n")
        self.assertEqual(self.files(), ["d.svm", "log", "old"])

    def test_output_is_the_cache(self):
        self.refused(64, "usage.same-file", "train", "d.svm", "d.svm.cache", "--cache")
        self.refused(64, "usage.same-file", "convert", "d.svm", "d.svm.cache", "--cache")

    def test_convert_what_cannot_be(self):
        self.refused(64, "usage.option", "convert", "d.svm", "d.svm.gz")
        self.refused(64, "usage.option", "convert", "d.svm", "d.liblinear")
        self.refused(64, "usage.value", "convert", "d.svm", "d.x", "--to", "liblinear")
        self.hinge("train", "d.svm", "old")
        self.refused(64, "usage.value", "convert", "old", "d.x", "--to", "binary")
        self.refused(64, "usage.option", "convert", "old", "d.x", "--precision", "f64")

    def test_text_keeps_its_digits(self):
        self.write("t.svm", "1 1:0.123456789012\n-1 2:16777217\n")
        self.hinge("convert", "t.svm", "u.svm", "-q")
        self.assertEqual(self.read("u.svm"), self.read("t.svm"))

    def test_pipes_are_streams(self):
        for arguments, content in ((("train", "d.svm", "pipe"), self.model_bytes()),
                                   (("generate", "pipe", "--rows", "50"),
                                    self.hinge("generate", "-", "--rows", "50").out)):
            with self.subTest(arguments):
                (self.dir / "pipe").unlink(missing_ok=True)
                os.mkfifo(self.dir / "pipe")
                reader = subprocess.Popen(["cat", "pipe"], cwd=self.dir, stdout=subprocess.PIPE)
                self.addCleanup(reader.communicate)
                self.addCleanup(reader.kill)
                process = self.start(*arguments)
                run = self.finish(process, timeout=10)
                self.assertEqual(run.code, 0, run)
                self.assertEqual(reader.stdout.read(), content)


# What a file of each kind may hold.
ROWS = "# two rows\n1 1:1 3:0.5\n-1 2:1\n"
PREDICTIONS = "1\n-1 0.25\nnone\n"
TRACE = '{"seconds":0.1,"primal":2}\n'
PREDICTED_CSV = "label,score\n1,0.5\n"
PREDICTED_JSON = '{"label":"1","score":0.5}\n'
CURVES = "curve,class,threshold,x,y,rows\nroc,1,inf,0,0,0\n"
FIGURE = '<svg xmlns="http://www.w3.org/2000/svg"></svg>\n'
NOTES = "Rows came from the shop, see there.\n"
TABLE = "1,0.5,2\n-1,0.25,1\n"
LATE = "1\n" * 100_000 + "1 2:1\n"  # the only feature comes late

# Commands, what OUT is written as, and so what it may replace.
WRITERS = (("train d.svm -o OUT", OLD_MODEL), ("train d.svm other --trace OUT", TRACE),
           ("train d.svm other --checkpoint OUT", None), ("predict d.svm m OUT", PREDICTIONS),
           ("convert m OUT", OLD_MODEL), ("convert d.svm OUT --to binary", None), ("convert d.hinge OUT --to text", None),
           ("generate OUT --rows 5", ROWS), ("split d.svm OUT rest --test 0.5", None),
           ("split d.svm rest OUT --test 0.5", None), ("compare d.svm --solvers dual --svg OUT", FIGURE),
           ("stream --lambda 0.1 OUT", OLD_MODEL), ("stream --lambda 0.1 --predictions OUT", PREDICTIONS),
           ("evaluate d.svm m --curve OUT", CURVES))


class ReplaceTest(CommandCase):
    """No command replaces a file of another kind than it writes."""

    def setUp(self):
        super().setUp()
        self.hinge("train", "d.svm", "m")
        self.hinge("convert", "d.svm", "d.hinge", "-q")

    def out(self, command, content, code, *more):
        for name in ("other", "rest", "OUT"):
            (self.dir / name).unlink(missing_ok=True)
        before = content.encode() if isinstance(content, str) else content
        self.write("OUT", before)
        run = self.hinge(*command.split(), *more, code=code, stdin=TEXT.encode())
        if code:
            self.assertEqual(self.read("OUT"), before, run)
        return run

    def test_every_kind_over_every_kind(self):
        binary = self.read("d.hinge")
        for command, own in WRITERS:
            for content in (ROWS, OLD_MODEL, PREDICTIONS, TRACE, FIGURE, CURVES, NOTES, TABLE, LATE, binary):
                with self.subTest(command, content=content[:20]):
                    own_kind = content == own or (content is binary and "--to binary" in command)
                    run = self.out(command, content, 0 if own_kind else 73)
                    if not own_kind:
                        self.assertSays(run, r"hinge: error: cannot write (.+ to )?OUT: it is .+ \[io\.replace\]")
            with self.subTest(command):
                self.out(command, "", 0)
                self.out(command, ROWS, 0, "--force")

    def test_forms_of_predictions(self):
        for written in ("", "--csv", "--json"):
            for content in (PREDICTIONS, PREDICTED_CSV, PREDICTED_JSON):
                self.out(f"predict d.svm m OUT {written}", content, 0)
        for content in (PREDICTED_CSV, PREDICTED_JSON, CURVES):
            self.out("generate OUT --rows 5", content, 73)

    def test_text_of_text(self):
        """convert *.svm, of two files: the second is no copy of the first yet."""
        run = self.out("convert d.svm OUT", ROWS, 73)
        self.assertSays(run, r"hinge: error: cannot write OUT: it is libsvm text already \[io\.replace\]")
        self.out("convert d.svm OUT", ROWS, 0, "--force")
        self.out("convert d.hinge OUT", ROWS, 73)  # it may be what d.hinge was made of
        self.out("convert d.hinge OUT --to binary", self.read("d.hinge"), 73)
        self.out("split d.svm OUT other", ROWS, 73)
        self.out("split d.svm OUT other", ROWS, 0, "--force")

    def test_what_only_looks_like_ours(self):
        header = b'{"__metadata__":{"format":"pt"},"w":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}}'
        tensors = len(header).to_bytes(8, "little") + header
        self.assertIn("a file of another kind", self.out("train d.svm -o OUT", tensors, 73).err)
        for text in ("numpy\nscipy\n", "#!/bin/sh\nls\n"):
            self.out("predict d.svm m OUT", text, 73)

    def test_a_forgotten_redirection(self):
        run = self.hinge("stream", "--lambda", "0.1", "d.svm", code=73)
        self.assertSays(run, r"hinge: help: rows are read from standard input: < d\.svm")
        self.assertEqual(self.read("d.svm"), TEXT.encode())

    def test_devices_and_links(self):
        self.hinge("train", "d.svm", "/dev/null")
        (self.dir / "link").symlink_to("d.svm")
        self.hinge("generate", "link2", "--rows", "5")
        self.assertEqual(self.hinge("predict", "d.svm", "m", "link", code=64).code, 64)
        self.write("rows", ROWS)
        (self.dir / "to_rows").symlink_to("rows")
        self.hinge("train", "d.svm", "-o", "to_rows", code=73)
        self.assertEqual(self.read("rows"), ROWS.encode())


class ShardsTest(CommandCase):
    """Several DATA are one data set, as a shell's pattern gives them."""

    def setUp(self):
        super().setUp()
        lines = TEXT.splitlines(keepends=True)
        self.shards = ["part-1.svm", "part-2.svm", "part-3.svm"]
        for k, name in enumerate(self.shards):
            self.write(name, "".join(lines[k * len(lines) // 3 : (k + 1) * len(lines) // 3]))
        self.hinge("train", "d.svm", "whole")

    def test_they_are_read_in_order(self):
        for command in (("-o", "m"), ("m",), ("--cost", "1", "m"), ("--output=m",)):
            with self.subTest(command):
                (self.dir / "m").unlink(missing_ok=True)
                self.hinge("train", *self.shards, *command)
                self.assertEqual(self.read("m"), self.read("whole"))
        self.hinge("train", *self.shards, "m")  # it is a model now
        self.hinge("train", "part-1.svm", "part-[23].svm", "m")
        self.assertEqual(self.read("m"), self.read("whole"))
        self.hinge("verify", "m", *self.shards)
        self.hinge("verify", "m", *reversed(self.shards), code=65)
        self.assertIn("bad_rows", self.hinge("check", *self.shards, "--json").text)
        self.hinge("compare", *self.shards, "--solvers", "dual")
        self.hinge("train", *self.shards, "-v", "2")

    def test_data_is_no_model(self):
        before = {name: self.read(name) for name in self.files()}
        for last in ("part-2.svm", "part-[2].svm"):
            run = self.hinge("train", "part-1.svm", last, code=64)
            self.assertIn(f"give -o MODEL: {last} is no model, and was taken for DATA", run.err)
        self.write("part-4.svm", "")
        before["part-4.svm"] = b""
        self.hinge("train", "part-1.svm", "part-4.svm", code=64)  # a part may be empty
        self.hinge("train", "part-1.svm", "part-2.svm", "part-3.svm", code=64)
        self.hinge("train", "part-1.svm", "part-2.svm", "-o", "part-3.svm", code=73)
        self.hinge("train", "part-1.svm", "part-2.svm", "-o", "part-1.svm", code=64)
        self.hinge("train", "part-1.svm", "-", "-o", "m", code=66, stdin=TEXT.encode())
        self.assertEqual({name: self.read(name) for name in self.files()}, before)

    def test_one_cache(self):
        for _ in range(2):
            self.hinge("train", *self.shards, "-o", "m", "--cache")
            self.assertEqual(self.read("m"), self.read("whole"))
        self.assertEqual([name for name in self.files() if name.endswith(".cache")], ["part-1.svm.cache"])


class WrongFileTest(CommandCase):
    def setUp(self):
        super().setUp()
        self.hinge("train", "d.svm", "m")

    def test_not_a_model(self):
        self.assertSays(self.hinge("predict", "m", "d.svm", code=80), r"d\.svm: error: .* \[model\.magic\]")
        self.assertSays(self.hinge("verify", "d.svm", "m", code=80), r"d\.svm: error: .* \[model\.magic\]")
        self.assertSays(self.hinge("predict", "d.svm", "none", code=66), r"hinge: error: .* \[io\.open\]")
        self.assertSays(self.hinge("predict", "d.svm", ".", code=66), r"hinge: error: .* \[io\.not-a-file\]")

    def test_model_given_as_data_through_a_pipe(self):
        run = self.hinge("train", "-", "n", stdin=self.read("m"), code=65)
        self.assertSays(run, r"<stdin>: error: .*looks like.* \[data\.encoding\]")


if __name__ == "__main__":
    support.main()
