"""What messages say of the outputs, outputs that are no files, and files given in the wrong place.

What faults do to files is in catalogue_test.py.
"""

import os
import subprocess
import unittest

from support import TEXT, CommandCase


class OutputTest(CommandCase):
    def test_the_last_line_tells_what_became_of_the_output(self):
        self.write("old", "an old model")
        self.write("bad.svm", TEXT + "1 1:x\n")
        run = self.hinge("train", "bad.svm", "new", code=65)
        self.assertEqual(run.lines[-1], "hinge: 1 error; no model written")
        run = self.hinge("train", "bad.svm", "old", code=65)
        self.assertEqual(run.lines[-1], "hinge: 1 error; no model written; old unchanged")
        self.assertEqual(self.read("old"), b"an old model")
        self.assertEqual(self.files(), ["bad.svm", "d.svm", "old"])

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
    unittest.main()
