"""What messages say of the outputs, outputs that are no files, and files given in the wrong place.

What faults do to files is in catalogue_test.py.
"""

import os
import subprocess

import support
from support import TEXT, CommandCase


class OutputTest(CommandCase):
    def refused(self, code, identifier, *command):
        before = {name: self.read(name) for name in self.files()}
        run = self.hinge(*command, code=code)
        self.assertSays(run, rf".*error: .+ \[{identifier}\]")
        self.assertEqual({name: self.read(name) for name in self.files()}, before)

    def test_the_last_line_tells_what_became_of_the_output(self):
        self.write("old", "an old model")
        self.write("bad.svm", TEXT + "1 1:x\n")
        run = self.hinge("train", "bad.svm", "new", code=65)
        self.assertEqual(run.lines[-1], "hinge: 1 error; no model written")
        run = self.hinge("train", "bad.svm", "old", code=65)
        self.assertEqual(run.lines[-1], "hinge: 1 error; no model written; old unchanged")
        self.assertEqual(self.read("old"), b"an old model")
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
