"""LIBLINEAR's models read, and ours written for LIBLINEAR: both programs must say the same of every row.

Needs the programs liblinear-train and liblinear-predict (package liblinear-tools).
"""

import math
import random
import shutil
import subprocess
import unittest

import support
from support import OLD_MODEL, THREE, Case, CommandCase, ModelFile, make_rows, table, to_text

PROGRAMS = ("liblinear-train", "liblinear-predict")
MISSING = [name for name in PROGRAMS if shutil.which(name) is None]


def needs_liblinear(test):
    return unittest.skipIf(MISSING, f"not installed (package liblinear-tools): {' '.join(MISSING)}")(test)


def liblinear(folder, *command):
    subprocess.run([*map(str, command)], cwd=folder, check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, timeout=60)


def sparse_rows(classes, seed, rows=300, features=40):
    """Rows with a few features each, labelled by a linear rule; the first row has the first label."""
    data = make_rows(rows, features, seed=seed, classes=classes, noise=0.2)
    keep = random.Random(seed)
    return [(label, {j: v for j, v in x.items() if keep.random() < 0.3 or j == 1}) for label, x in data]


def unseen_text(classes, seed):
    """Other rows, some without features, some with features no training row had."""
    data = sparse_rows(classes, seed + 1000)
    text = to_text(data) + f"{classes[0]}\n{classes[-1]}\n"
    return text + f"{classes[0]} 41:1 50:-2\n{classes[-1]} 1:0.5 40:1 1000:3\n{classes[0]} 100000:1\n"


CLASSES = {
    "plus and minus": (1, -1),
    "minus first": (-1, 1),
    "one first": (1, 2),
    "two first": (2, 1),
    "zero first": (0, 3),
    "three first": (3, 0),
    "three classes": (5, -2, 3),
    "ten classes": (4, 9, 2, 0, 7, 1, 8, 3, 6, 5),
}
BIASES = {"": (), " and a bias": ("-B", "1"), " and a bias of 0.3": ("-B", "0.3")}
PAIRS = [(name + bias, CLASSES[name], BIASES[bias]) for name in CLASSES for bias in BIASES]


@needs_liblinear
@table(PAIRS)
class TheirModels(Case):
    """Every solver of LIBLINEAR's that classifies."""

    def check(self, case):
        _, classes, bias = case
        self.write("train", to_text(sparse_rows(classes, 1)))
        self.write("test", unseen_text(classes, 1))
        for solver in range(8):
            with self.subTest(solver=solver):
                liblinear(self.dir, "liblinear-train", "-q", "-s", solver, *bias, "train", "m")
                if solver == 4 and len(classes) == 2:
                    run = self.hinge("predict", "test", "m", code=80)
                    self.assertIn("MCSVM_CS model of two classes", run.err)
                    continue
                liblinear(self.dir, "liblinear-predict", "test", "m", "theirs")
                self.hinge("predict", "test", "m", "ours")
                self.assertEqual(self.read("ours"), self.read("theirs"))


@needs_liblinear
@table(PAIRS)
class OurModels(Case):
    def check(self, case):
        _, classes, bias = case
        self.write("train", to_text(sparse_rows(classes, 2)))
        self.write("test", unseen_text(classes, 2))
        self.hinge("train", "train", "native", *bias)
        self.hinge("train", "train", "m.liblinear", *bias)
        self.hinge("predict", "test", "native", "from native")
        self.hinge("predict", "test", "m.liblinear", "from text")
        liblinear(self.dir, "liblinear-predict", "test", "m.liblinear", "theirs")
        self.assertEqual(self.read("from native"), self.read("theirs"))
        self.assertEqual(self.read("from text"), self.read("theirs"))
        self.hinge("predict", "test", "native", "a", "--scores")
        self.hinge("predict", "test", "m.liblinear", "b", "--scores")
        self.assertEqual(self.read("a"), self.read("b"))  # bit for bit


class FormatTest(CommandCase):
    """What the program does about formats; needs no LIBLINEAR."""

    def head(self, name):
        return self.read(name)[:12]

    def test_the_name_or_the_option_decides(self):
        self.train(model="m.liblinear")
        self.assertEqual(self.head("m.liblinear"), b"solver_type ")
        self.train("--model-format", "liblinear", model="m")
        self.assertEqual(self.read("m"), self.read("m.liblinear"))
        self.train("--model-format", "native", model="n.liblinear")
        self.assertEqual(ModelFile(self.dir / "n.liblinear").labels, [1, -1])
        self.train(model="plain")
        self.assertEqual(self.read("plain"), self.read("n.liblinear"))
        run = self.hinge("train", "d.svm", "x", "--model-format", "pmml", code=64)
        self.assertIn("--model-format", run.err)

    def test_a_written_model(self):
        self.train("-B", "2", model="m.liblinear")
        lines = self.read("m.liblinear").decode().split("\n")
        self.assertEqual(lines[:6], ["solver_type L2R_L1LOSS_SVC_DUAL", "nr_class 2", "label 1 -1", "nr_feature 10",
                                     "bias 2", "w"])
        self.train("-B", "2", model="native")
        native = ModelFile(self.dir / "native")
        self.assertEqual([float(line) for line in lines[6:16]], list(native.weights().values()))
        self.assertEqual(float(lines[16]) * 2, native.arrays["bias"][0])
        self.assertEqual(lines[17:], [""])

    def test_several_classes(self):
        self.write("e.svm", to_text(THREE))
        self.train(data="e.svm", model="m.liblinear")
        self.assertIn(b"\nnr_class 3\nlabel 2 5 11\n", self.read("m.liblinear"))
        found = self.hinge("evaluate", "e.svm", "m.liblinear", "--json").json
        self.assertEqual(found["labels"], ["2", "5", "11"])
        self.assertGreater(found["accuracy"], 0.8)

    def refused(self, word, *arguments, data="d.svm"):
        run = self.hinge("train", data, "m.liblinear", "--time-limit", "1000000", *arguments, code=64)
        self.assertSays(run, r"hinge: error: LIBLINEAR's format cannot hold this model: .*\[model\.format\]")
        self.assertIn(word, run.err)
        self.assertIn("no model written", run.err)
        self.assertNotIn("m.liblinear", self.files())

    def test_what_liblinear_cannot_say(self):
        self.refused("rejects", "--reject")
        self.refused("from 0", "--index-base", "0")
        self.write("zero.svm", "1 0:1\n-1 1:1\n")
        self.refused("from 0", data="zero.svm")
        self.write("long.svm", "5000000000 1:1\n-1 1:2\n")
        self.refused("5000000000", data="long.svm")
        self.write("empty.svm", "1\n-1\n")
        self.refused("0 features", data="empty.svm")

    def test_an_old_model_stays(self):
        self.write("m.liblinear", OLD_MODEL)
        run = self.hinge("train", "d.svm", "m.liblinear", "--reject", code=64)
        self.assertIn("m.liblinear unchanged", run.err)
        self.assertEqual(self.read("m.liblinear"), OLD_MODEL)

    def test_info(self):
        self.train("-B", "0.5", model="m.liblinear")
        found = self.hinge("info", "m.liblinear", "--json").json
        self.assertEqual(found["kind"], "model")
        self.assertEqual(found["classes"], ["1", "-1"])
        self.assertEqual((found["features"], found["bias"]), (10, 0.5))
        self.assertEqual(found["solver"], "liblinear:L2R_L1LOSS_SVC_DUAL")
        for key in ("status", "cost", "primal", "dual", "relative_gap", "trained_on"):
            self.assertIsNone(found[key], key)
        self.assertIn("L2R_L1LOSS_SVC_DUAL", self.hinge("info", "m.liblinear").text)

    def test_verify_says_why_not(self):
        self.train(model="m.liblinear")
        run = self.hinge("verify", "m.liblinear", "d.svm", code=65)
        self.assertSays(run, r"hinge: error: the model does not say what it was trained on \[verify\.data\]")

    def test_from_standard_input(self):
        self.train(model="m.liblinear")
        self.hinge("predict", "d.svm", "m.liblinear", "a")
        self.hinge("predict", "d.svm", "-", "b", stdin=self.read("m.liblinear"))
        self.assertEqual(self.read("a"), self.read("b"))

    def test_onto_standard_output(self):
        self.train(model="m.liblinear")
        run = self.hinge("train", "d.svm", "-", "--model-format", "liblinear")
        self.assertEqual(run.out, self.read("m.liblinear"))

    def test_a_bad_model_is_shown(self):
        self.train(model="m.liblinear")
        text = self.read("m.liblinear").decode().split("\n")
        text[7] = "nan "
        self.write("bad", "\n".join(text))
        for command in (("predict", "d.svm", "bad"), ("evaluate", "d.svm", "bad"), ("info", "bad")):
            run = self.hinge(*command, code=80)
            self.assertEqual(run.lines[:3], ['bad:8:1: error: a weight is not a finite number: "nan" [model.content]',
                                             "    8 | nan ", "      | ^~~"])


def probabilities(text):
    """The labels of the first line, and of each row what is predicted and how likely each is."""
    lines = text.decode().splitlines()
    words = [line.split() for line in lines[1:]]
    assert lines[0].startswith("labels ")
    return lines[0].split()[1:], [row[0] for row in words], [[float(p) for p in row[1:]] for row in words]


@needs_liblinear
@table([("two classes", (1, -1)), ("minus first", (-1, 1)), ("three classes", (5, -2, 3))])
class Probabilities(Case):
    """-b 1 of both programs, with the models of both."""

    def check(self, case):
        _, classes = case
        self.write("train", to_text(sparse_rows(classes, 1)))
        self.write("test", unseen_text(classes, 1))
        self.hinge("train", "train", "ours.liblinear", "-s", "0", "--gap", "1e-6")
        for solver in (0, 6, 7):
            liblinear(self.dir, "liblinear-train", "-q", "-s", solver, "train", f"theirs{solver}")
        for model in ("ours.liblinear", "theirs0", "theirs6", "theirs7"):
            liblinear(self.dir, "liblinear-predict", "-b", "1", "test", model, "a")
            self.hinge("predict", "test", model, "b", "-b", "1")
            labels, predicted, theirs = probabilities(self.read("a"))
            self.assertEqual(probabilities(self.read("b"))[:2], (labels, predicted))
            for ours, row in zip(probabilities(self.read("b"))[2], theirs):
                self.assertClose(sum(ours), 1, 1e-12)
                for p, q in zip(ours, row):
                    self.assertAlmostEqual(p, q, delta=2e-6 * max(1, q))
            self.hinge("predict", "test", model, "b", "-b", "1")  # over what it was
            self.hinge("predict", "test", model, "b", "-b", "0")
            liblinear(self.dir, "liblinear-predict", "test", model, "a")
            self.assertEqual(self.read("b"), self.read("a"))

    def test_of_another_loss(self):
        self.write("train", to_text(sparse_rows((1, -1), 1)))
        for options in (["-s", "3"], ["-s", "2"], ["--kernel", "rbf"]):
            self.hinge("train", "train", "m", *options)
            run = self.hinge("predict", "train", "m", "out", "-b", "1", code=64)
            self.assertIn("only a model of the logistic loss has probabilities", run.err)
            self.assertNotIn("out", self.files())
        self.hinge("predict", "train", "m", "-b", "2", code=64)
        self.hinge("predict", "train", "m", "-b", "1", "--scores", code=64)


@needs_liblinear
@table([("primal", 0), ("dual", 7)])
class SameMinimum(Case):
    """The logistic loss: LIBLINEAR's objective is not below our bound, and no farther above it than it was asked for."""

    def check(self, case):
        _, solver = case
        text = to_text(sparse_rows((1, -1), 1))
        self.write("train", text)
        for cost in ("0.03", "1", "30"):
            liblinear(self.dir, "liblinear-train", "-q", "-s", solver, "-e", "1e-7", "-c", cost, "train", "m")
            lines = self.read("m").decode().splitlines()
            first = 1 if lines[2].split()[1] == "1" else -1
            weights = [first * float(line) for line in lines[lines.index("w") + 1:]]
            loss = sum(math.log1p(math.exp(-y * sum(weights[j - 1] * v for j, v in x.items())))
                       for y, x in support.parse_text(text))
            theirs = sum(w * w for w in weights) / 2 + float(cost) * loss
            for ours in ("dual", "newton"):
                found = self.hinge("train", "train", "ours", "--loss", "logistic", "-s", ours, "-c", cost, "--gap", "1e-9",
                                   "--precision", "f64", "--force", "--json").json
                self.assertGreaterEqual(theirs, found["dual"] * (1 - 1e-14))
                self.assertLessEqual(theirs, found["primal"] * (1 + 1e-6))


if __name__ == "__main__":
    support.main()
