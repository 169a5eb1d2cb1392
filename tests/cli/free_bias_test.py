"""--bias free (-R): an intercept that is not regularised.

Real data as in real_data_test.py; the comparison with LIBSVM, which always has such a bias, needs svm-train (package
libsvm-tools).
"""

import itertools
import math
import re
import shutil
import subprocess
import unittest

from real_data_test import RealCase
import support
from support import DATA, LONG, THREE, CommandCase, ModelFile, make_rows, table, to_text

SOLVERS = ("dual", "newton", "cpa", "ocas", "ocas3", "active", "focus")
PEER = "svm-train"


def objective(weights, bias, data, cost=1.0):
    """P(w, b), the bias not in |w|^2; labels are 1 and others."""
    loss = math.fsum(
        max(0.0, 1 - (1 if label == 1 else -1) * (math.fsum(weights.get(j, 0.0) * v for j, v in x.items()) + bias))
        for label, x in data)
    return math.fsum(w * w for w in weights.values()) / 2 + cost * loss


class OptionTest(CommandCase):
    def test_ways_to_say_it(self):
        free = self.model_bytes("--bias", "free")
        for arguments in (("-B", "free"), ("-R",), ("--free-bias",), ("-B", "1", "-R"), ("-R", "-B", "1"),
                          ("-R", "-B", "-1"), ("-B", "7", "-R")):
            self.assertEqual(self.model_bytes(*arguments), free, arguments)
        self.assertNotEqual(self.model_bytes("-B", "1"), free)

    def test_rounds_that_repeat(self):
        """Dual descent went round in circles here, at a gap of 1.6 %."""
        self.write("r.svm", "1 1:-9\n-1\n-1 1:4\n-1 1:-2\n")
        self.hinge("train", "r.svm", "m", "-s", "dual", "-B", "free", "--gap", "1e-4", "--require-converged")

    def test_refused(self):
        for arguments, word in (
                (("train", "d.svm", "x", "--bias", "free", "--kernel", "rbf"), "--bias"),
                (("train", "d.svm", "x", "-R", "--kernel", "poly"), "--bias"),
                (("train", "d.svm", "x", "--bias", "Free"), "free"),
                (("train", "d.svm", "x", "--bias", "freee"), "free"),
                (("stream", "x", "--lambda", "0.1", "--bias", "free"), "--bias")):
            run = self.hinge(*arguments, code=64)
            self.assertIn("[usage.value]", run.err, arguments)
            self.assertIn(word, run.err, arguments)
            self.assertNotIn("x", self.files())

    def test_info_and_file(self):
        self.train("-R")
        self.assertEqual(self.hinge("info", "m", "--json").json["bias"], "free")
        self.assertRegex(self.hinge("info", "m").text, r"(?m)^bias +free$")
        options = ModelFile(self.dir / "m").options
        self.assertEqual((options["free_bias"], options["bias_feature"]), (True, 1))
        self.train("-B", "1", model="n")
        self.assertNotIn("free_bias", ModelFile(self.dir / "n").options)  # as before there was one

    def test_files_that_make_no_sense(self):
        self.train("-R")
        model = ModelFile(self.dir / "m")
        said = model.metadata["options"]
        for old, new in (('"bias_feature":1.0', '"bias_feature":0.0'), ('"bias_feature":1.0', '"bias_feature":2.0'),
                         ('"free_bias":true', '"free_bias":1'), ('"free_bias":true', '"free_bias":"yes"')):
            self.assertIn(old, said)

            def edit(header, text=said.replace(old, new)):
                header["__metadata__"]["options"] = text

            self.write("bad", model.to_bytes(edit))
            run = self.hinge("predict", "d.svm", "bad", code=80)
            self.assertIn("model.", run.err)


class ModelTest(CommandCase):
    """What is written, read and proved."""

    def check_model(self, data, *arguments, gap="1e-6"):
        """The primal, with the bias not in |w|^2, and the dual, with its sum, as the file has them."""
        found = self.train("--bias", "free", "--gap", gap, *arguments)
        self.assertEqual(found["status"], "converged")
        self.assertTrue(self.hinge("verify", "m", "d.svm", "--json").json["agrees"])
        model = ModelFile(self.dir / "m")
        bias = model.arrays["bias"][0]
        self.assertClose(objective(model.weights(), bias, data, model.options["cost"]), found["primal"], 1e-6)
        alpha = model.alphas([model.options["cost"]] * len(data))
        total = math.fsum(a if label == 1 else -a for a, (label, _) in zip(alpha, data))
        self.assertLessEqual(abs(total), 1e-12 * math.fsum(alpha))
        return found["primal"], bias

    def test_every_solver(self):
        optima = []
        for solver in SOLVERS:
            gap = "1e-3" if solver in ("cpa", "active") else "1e-6"
            optima.append((self.check_model(DATA, "-s", solver, gap=gap)[0], float(gap)))
        for primal, gap in optima:
            self.assertClose(primal, optima[0][0], 2 * gap)

    def test_threads(self):
        for solver in ("dual", "newton", "focus"):
            one = self.model_bytes("-R", "-s", solver, "-n", "1")
            self.assertEqual(self.model_bytes("-R", "-s", solver, "-n", "4"), one)

    def test_a_shift(self):
        """100 on a feature of all rows is the bias' business."""
        at_home, _ = self.check_model(DATA, "--precision", "f64")
        moved = [(label, {**x, 3: x.get(3, 0.0) + 100}) for label, x in DATA]
        self.write("d.svm", to_text(moved))
        away, _ = self.check_model(moved, "--precision", "f64", "-s", "focus")
        self.assertClose(at_home, away, 2e-6)

    def test_to_liblinear_and_back(self):
        self.train("-R", "--gap", "1e-6")
        self.hinge("convert", "m", "m.liblinear")
        self.assertIn(b"\nbias 1\n", self.read("m.liblinear"))
        self.hinge("convert", "m.liblinear", "back")
        scores = []
        for model in ("m", "m.liblinear", "back"):
            self.hinge("predict", "d.svm", model, "p", "--scores")
            scores.append(self.read("p"))
        self.assertEqual(scores[0], scores[1])
        self.assertEqual(scores[0], scores[2])

    def test_several_classes(self):
        self.write("e.svm", to_text(THREE))
        found = self.train("-R", "--gap", "1e-5", data="e.svm")
        self.assertEqual(found["status"], "converged")
        self.assertTrue(self.hinge("verify", "m", "e.svm", "--json").json["agrees"])
        model = ModelFile(self.dir / "m")
        for k, label in enumerate(model.labels):
            data = [(1 if row == label else 0, x) for row, x in THREE]
            primal = objective(model.weights(k), model.arrays["bias"][k], data)
            self.assertClose(primal, found["problems"][k]["primal"], 1e-6)

    def test_huge_indices(self):
        data = [(label, {400_000_000 * j: v for j, v in x.items()}) for label, x in make_rows(80, 9)]
        self.write("d.svm", to_text(data))
        for solver in ("dual", "newton", "focus"):
            self.check_model(data, "-s", solver)

    def test_starts(self):
        for solver in ("ocas", "focus"):
            self.train("-R", "-s", solver, "--gap", "1e-6", model="good")
            found = self.train("-R", "-s", solver, "--gap", "1e-5", "--start", "good")
            self.assertEqual(found["status"], "converged")
            self.assertLessEqual(found["iterations"], 3)
        run = self.hinge("train", "d.svm", "x", "-s", "ocas", "--start", "good", code=None)
        self.assertNotEqual(run.code, 0)  # it has a bias, and this training has none
        self.train("-B", "2", "-s", "ocas", model="number")
        found = self.train("-R", "-s", "ocas", "--gap", "1e-5", "--start", "number")
        self.assertEqual(found["status"], "converged")

    def test_limits_are_honest(self):
        """Cut off anywhere, what is said is what the model proves."""
        for solver, passes in itertools.product(SOLVERS, (1, 3, 10)):
            run = self.hinge("train", "d.svm", "m", "-R", "-s", solver, "--gap", "1e-12", "--max-passes", passes,
                             "--json", code=None)
            self.assertIn(run.code, (0, 2), run)
            self.assertEqual(run.json["status"], "limit")
            self.assertTrue(self.hinge("verify", "m", "d.svm", "--json").json["agrees"])


@unittest.skipIf(shutil.which(PEER) is None, f"not installed (package libsvm-tools): {PEER}")
class LibsvmTest(RealCase):
    ROWS = 2000

    def libsvm(self, data):
        """The weights and the bias that svm-train finds, and the dual value it prints."""
        done = subprocess.run([PEER, "-t", "0", "-c", "1", "-e", "1e-5", data, "libsvm"], cwd=self.dir, check=True,
                              capture_output=True, text=True, timeout=120)
        dual = -float(re.search(r"obj = (\S+),", done.stdout)[1])
        lines = iter(self.read("libsvm").decode().splitlines())
        head = dict(line.split(None, 1) for line in itertools.takewhile(lambda line: line != "SV", lines))
        sign = 1 if head["label"].split()[0] == "1" else -1
        weights = {}
        for line in lines:
            coefficient, *features = line.split()
            for feature in features:
                j, value = feature.split(":")
                weights[int(j)] = weights.get(int(j), 0.0) + sign * float(coefficient) * float(value)
        return weights, -sign * float(head["rho"]), dual

    def test_the_same_optimum(self):
        whole = self.unpack("a9a-train")
        lines = self.read(whole).decode().splitlines()[:self.ROWS]
        self.write("part.svm", "\n".join(lines) + "\n")
        data = []
        for line in lines:
            label, *features = line.split()
            data.append((int(label), {int(j): float(v) for j, v in (f.split(":") for f in features)}))
        weights, bias, dual = self.libsvm("part.svm")
        theirs = objective(weights, bias, data)
        self.assertClose(theirs, dual, 1e-4)
        for solver in ("dual", "newton", "ocas", "ocas3", "focus"):
            ours = self.hinge("train", "part.svm", "m", "-R", "-s", solver, "--gap", "1e-5", "--json").json
            self.assertClose(ours["primal"], theirs, 1e-4, solver)
            self.assertClose(ours["dual"], dual, 1e-4, solver)
            self.assertLessEqual(ours["dual"], theirs * (1 + 1e-9), solver)
            model = ModelFile(self.dir / "m")
            self.assertClose(objective(model.weights(), model.arrays["bias"][0], data), ours["primal"], 1e-6, solver)


@table([("a9a", None), ("w8a", None), ("ccat", None), ("covtype", 60_000)])
class RealTest(RealCase):
    """The gap is reached, and no bias that is regularised, however little, does better."""

    def check(self, row):
        name, rows = row
        if not LONG and name != "a9a":
            self.skipTest("at length: make test-all")
        data = self.unpack(name + "-train")
        if rows is not None:
            with open(self.dir / data) as whole, open(self.dir / "part.svm", "w") as part:
                part.writelines(itertools.islice(whole, rows))
            data = "part.svm"
        self.hinge("convert", data, "rows.hinge")
        number = self.hinge("train", "rows.hinge", "n", "-B", "100", "-s", "focus", "--gap", "1e-4", "--json").json
        self.assertEqual(number["status"], "converged")
        for solver in ("auto", "focus"):
            if solver == "focus" and name == "ccat":
                continue  # seconds
            found = self.hinge("train", "rows.hinge", "m", "--bias", "free", "-s", solver, "--gap", "1e-5",
                               "--json").json
            self.assertEqual(found["status"], "converged", solver)
            self.assertLessEqual(found["relative_gap"], 1e-5, solver)
            self.assertLessEqual(found["primal"], number["primal"] / (1 - 1e-5), solver)
            self.assertLessEqual(found["dual"], number["primal"], solver)
            self.assertVerifies(found, "rows.hinge")


if __name__ == "__main__":
    support.main()
