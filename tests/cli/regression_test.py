"""Regression: rows with real targets in place of classes, from text to predictions, beside LIBLINEAR and in exact arithmetic."""

import json
import math
import pathlib
import random
import shutil
import subprocess
import sys
import unittest

import support
from support import Case, table

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import check_exact

LOSSES = ("epsilon_insensitive", "squared_epsilon")
PROGRAMS = ("liblinear-train", "liblinear-predict")
MISSING = [name for name in PROGRAMS if shutil.which(name) is None]


def make_targets(rows=120, features=6, seed=1, scale=1.0):
    """Rows (target, {column: value}) of a linear rule with noise; the last one is empty."""
    draw = random.Random(seed)
    plane = [draw.gauss(0, 1) for _ in range(features)]
    data = []
    for _ in range(rows):
        x = {j + 1: round(draw.gauss(0, 1), 4) for j in range(features) if draw.random() < 0.8}
        score = sum(plane[j - 1] * v for j, v in x.items())
        data.append((round(scale * (score + 0.4 + 0.3 * draw.gauss(0, 1)), 6), x))
    return [*data, (scale * 0.5, {})]


def to_text(data):
    return "".join(" ".join([repr(t), *(f"{j}:{v}" for j, v in x.items())]) + "\n" for t, x in data)


def objective(data, weights, bias, loss, cost, epsilon, regularised=True):
    total = sum(w * w for w in weights) / 2 + (bias * bias / 2 if regularised else 0)
    for target, x in data:
        missed = max(0.0, abs(sum(weights[j - 1] * v for j, v in x.items()) + bias - target) - epsilon)
        total += cost * (missed if loss == LOSSES[0] else missed**2)
    return total


def read_liblinear(path):
    lines = pathlib.Path(path).read_text().split("\n")
    return lines[0].split()[1], lines, [float(line) for line in lines[lines.index("w") + 1 :] if line.strip()]


@table([(f"{loss}, {solver}, bias {bias}, epsilon {epsilon}", loss, solver, bias, epsilon)
        for loss in LOSSES for solver in ("dual", "newton") for bias in ("none", "2", "free") for epsilon in ("0", "0.3")])
class Trained(Case):
    def check(self, case):
        _, loss, solver, bias, epsilon = case
        data = make_targets()
        path = self.write("train", to_text(data))
        run = self.hinge("train", "train", "m", "--loss", loss, "--solver", solver, "-B", bias, "-p", epsilon,
                         "--gap", "1e-6", "--json")
        report = json.loads(run.out)
        self.assertEqual((report["status"], report["loss"], report["epsilon"]), ("converged", loss, float(epsilon)))
        self.assertEqual(report["classes"], [])
        self.assertLessEqual(report["relative_gap"], 1e-6)
        findings = check_exact.check(str(self.dir / "m"), str(self.dir / "train"))
        self.assertEqual([f.false for f in findings], [[]])
        self.assertIn(b"agrees", self.hinge("verify", "m", "train").out)
        scores = [float(line) for line in self.hinge("predict", "train", "m").out.decode().split("\n")[:-1]]
        self.assertEqual(len(scores), len(data))
        metrics = json.loads(self.hinge("evaluate", "train", "m", "--json").out)
        targets = [t for t, _ in data]
        mean = sum(targets) / len(targets)
        squares = sum((s - t) ** 2 for s, t in zip(scores, targets))
        self.assertAlmostEqual(metrics["rmse"], math.sqrt(squares / len(targets)), 12)
        self.assertAlmostEqual(metrics["mae"], sum(abs(s - t) for s, t in zip(scores, targets)) / len(targets), 12)
        self.assertAlmostEqual(metrics["r2"], 1 - squares / sum((t - mean) ** 2 for t in targets), 12)
        self.assertGreater(metrics["correlation"], 0.9)
        self.assertIn(b"RMSE", self.hinge("evaluate", "train", "m").out)


@table([(f"{loss} {scale:g}", loss, scale) for loss in LOSSES for scale in (1e-8, 1e-3, 1.0, 1e5, 1e12)])
class Scales(Case):
    """Targets of any size; the exact checker has the last word."""

    def check(self, case):
        _, loss, scale = case
        for seed in range(6):
            draw = random.Random(f"{loss} {scale} {seed}")
            self.write("train", to_text(make_targets(draw.randint(2, 40), draw.randint(1, 8), seed, scale)))
            options = ["--loss", loss, "-p", repr(scale * draw.choice((0, 0.1))), "-B", draw.choice(("none", "1", "free")),
                       "-c", repr(10 ** draw.uniform(-3, 2)), "--precision", draw.choice(("f32", "f64"))]
            run = self.hinge("train", "train", "m", *options, "--time-limit", "5")
            findings = check_exact.check(str(self.dir / "m"), str(self.dir / "train"))
            self.assertEqual([f.false for f in findings], [[]], options)
            self.assertEqual(run.code, 0)


@unittest.skipIf(MISSING, f"not installed (package liblinear-tools): {' '.join(MISSING)}")
@table([(f"-s {number}, bias {bias}", number, loss, bias)
        for number, loss in ((11, LOSSES[1]), (12, LOSSES[1]), (13, LOSSES[0])) for bias in (-1, 1)])
class Liblinear(Case):
    def run_theirs(self, *command):
        subprocess.run([*map(str, command)], cwd=self.dir, check=True, stdout=subprocess.DEVNULL, timeout=60)

    def check(self, case):
        _, number, loss, bias = case
        data = make_targets(seed=number)
        self.write("train", to_text(data))
        self.run_theirs("liblinear-train", "-q", "-s", number, "-c", 0.7, "-p", 0.2, "-B", bias, "-e", 1e-8, "train", "theirs")
        name, _, numbers = read_liblinear(self.dir / "theirs")
        weights, constant = (numbers[:-1], numbers[-1]) if bias == 1 else (numbers, 0.0)
        best = objective(data, weights, constant, loss, 0.7, 0.2)
        report = json.loads(self.hinge("train", "train", "ours", "-s", number, "-c", 0.7, "-p", 0.2, "-B", bias,
                                       "--gap", "1e-7", "--json", "--precision", "f64").out)
        self.assertEqual(report["loss"], loss)
        self.assertLess(report["primal"], best * (1 + 1e-6))
        self.assertGreater(report["primal"], best * (1 - 2e-3))  # theirs ends after 1000 epochs
        # Their model, read here; and ours, read there.
        self.run_theirs("liblinear-predict", "train", "theirs", "by-them")
        by_us = [float(s) for s in self.hinge("predict", "train", "theirs").out.split()]
        for ours, theirs in zip(by_us, pathlib.Path(self.dir / "by-them").read_text().split()):
            self.assertAlmostEqual(ours, float(theirs), 4)
        self.hinge("train", "train", "text", "-s", number, "-c", 0.7, "-p", 0.2, "-B", bias, "--gap", "1e-7", "--precision", "f64",
                   "--model-format", "liblinear")
        self.assertIn(read_liblinear(self.dir / "text")[0], ("L2R_L2LOSS_SVR", "L2R_L1LOSS_SVR_DUAL"))
        self.run_theirs("liblinear-predict", "train", "text", "by-them")
        by_us = [float(s) for s in self.hinge("predict", "train", "ours").out.split()]
        for ours, theirs in zip(by_us, pathlib.Path(self.dir / "by-them").read_text().split()):
            self.assertAlmostEqual(ours, float(theirs), 4)


class Ways(Case):
    """What else training has: weights, paths, starts, checkpoints, folds, and what it refuses."""

    def setUp(self):
        super().setUp()
        self.write("train", to_text(make_targets()))

    def test_weights_are_repeated_rows(self):
        data = make_targets(40)
        self.write("once", to_text(data))
        self.write("weights", "".join("3\n" if i % 2 else "1\n" for i in range(len(data))))
        self.write("often", to_text([row for i, row in enumerate(data) for _ in range(3 if i % 2 else 1)]))
        primals = [json.loads(self.hinge("train", name, "m", "--loss", LOSSES[1], "--gap", "1e-8", "--json", *more).out)["primal"]
                   for name, more in (("once", ("--weights", "weights")), ("often", ()))]
        self.assertAlmostEqual(primals[0] / primals[1], 1, 7)

    def test_path_and_start(self):
        self.hinge("train", "train", "m", "--loss", LOSSES[0], "-c", "0.01,0.1,1", "--gap", "1e-6")
        self.assertIn(b"RMSE", self.hinge("evaluate", "train", "m", "--all").out)
        self.hinge("verify", "m", "train")
        for solver in ("dual", "newton"):
            report = json.loads(self.hinge("train", "train", "again", "--loss", LOSSES[0], "--start", "m", "--solver", solver,
                                           "--gap", "1e-6", "--json").out)
            self.assertEqual(report["status"], "converged")

    def test_checkpoint(self):
        options = ("--loss", LOSSES[0], "-p", "0.05", "--solver", "dual", "--gap", "1e-9")
        self.hinge("train", "train", "whole", *options)
        self.hinge("train", "train", "m", *options, "--max-passes", "20", "--checkpoint", "c", "--every", "1e-9")
        self.hinge("train", "train", "m", "--resume", "c")
        self.assertEqual(self.read("whole"), self.read("m"))

    def test_pegasos(self):
        for loss in LOSSES:
            best = json.loads(self.hinge("train", "train", "m", "--loss", loss, "--gap", "1e-7", "--json").out)["primal"]
            for options in ((), ("-B", "1"), ("-B", "free"), ("--batch", "10"), ("--gap", "0.02"),
                            ("--projection", "on", "--sampling", "replace"), ("--start", "m", "--update", "margin")):
                run = self.hinge("train", "train", "p", "--loss", loss, "--solver", "pegasos", "--json", "--quiet", *options)
                report = json.loads(run.out)
                if "-B" not in options:
                    self.assertGreater(report["primal"], best * (1 - 1e-6))
                    self.assertLess(report["primal"], best * 1.1)
                if "--gap" in options:
                    self.assertEqual((report["status"], report["relative_gap"] <= 0.02), ("converged", True))
                self.assertEqual([f.false for f in check_exact.check(str(self.dir / "p"), str(self.dir / "train"))], [[]])
                self.assertIn(b"agrees", self.hinge("verify", "p", "train").out)

    def test_pegasos_goes_on_from_a_checkpoint(self):
        for loss in LOSSES:
            options = ("--loss", loss, "--solver", "pegasos", "--epochs", "30", "-B", "free")
            self.hinge("train", "train", "whole", *options)
            self.hinge("train", "train", "m", *options, "--max-passes", "10", "--checkpoint", "c", "--every", "1e-9")
            self.hinge("train", "train", "m", "--resume", "c")
            self.assertEqual(self.read("whole"), self.read("m"))

    def test_folds(self):
        self.assertIn(b"cross-validation RMSE", self.hinge("train", "train", "-s", "11", "-v", "4").out)

    def test_whole_numbers_are_targets_too(self):
        self.write("whole", "3 1:1\n-2 1:-1\n7 1:2.5\n")
        self.hinge("train", "whole", "m", "--loss", LOSSES[1])
        self.assertEqual(len(self.hinge("predict", "whole", "m").out.split()), 3)
        self.hinge("verify", "m", "whole")

    def test_one_target_is_enough(self):
        self.write("same", "2.5 1:1\n2.5 1:-1\n")
        self.hinge("train", "same", "m", "--loss", LOSSES[0], "-B", "free", "-p", "0")
        self.assertEqual([float(s) for s in self.hinge("predict", "same", "m").out.split()], [2.5, 2.5])

    def test_refusals(self):
        for options, words in (
                (("--loss", LOSSES[0], "--class-weight", "balanced"), "--class-weight"),
                (("--loss", LOSSES[0], "--reject"), "--reject"),
                (("--loss", LOSSES[0], "--solver", "pegasos", "--epochs", "2", "--update", "mistake"), "--update mistake"),
                (("--loss", LOSSES[1], "--solver", "focus"), "focus"),
                (("--loss", LOSSES[1], "-p", "-1"), "epsilon"),
                (("-p", "0.5"), "epsilon"),
                (("-s", "11", "--loss", "hinge"), "--loss")):
            run = self.hinge("train", "train", "m", *options, code=64)
            self.assertIn(words, run.err, options)
        run = self.hinge("train", "train", "m", code=65)
        self.assertIn("squared_epsilon", run.err)  # what real labels are for


if __name__ == "__main__":
    support.main()
