"""`hinge train --solver` cpa, ocas, ocas3, active and focus: each proves what it says, on small data and on real data.

HINGE_SHARED_DATA is the folder of the real data sets (NAME-train.svm.xz); without it they are skipped. HINGE_LONG=1
takes all of them; else a small one must do.
"""

import itertools
import json
import lzma
import os
import pathlib
import shutil

import support
from support import DATA, LONG, THREE, Case, CommandCase, ModelFile, make_rows, recompute, table, to_text

SOLVERS = ["cpa", "ocas", "ocas3", "active", "focus"]
VARIANTS = [
    "", "--gap 1e-6", "--bias 1", "--class-weight 1=2", "--weights w", "--planes 2 --gap 0.01", "--planes 5", "--mu 0.5",
    "--mu 1", "--cost 0.001", "--cost 100", "--lambda 0.01", "--precision f64",
    "--bias 0.5 --class-weight 1=2 --planes 8 --mu 0.2 --gap 1e-4",
]


@table([(f"{s} {v or 'plain'}", s, v) for s in SOLVERS for v in VARIANTS])
class VariantTest(CommandCase):
    def check(self, row):
        _, solver, variant = row
        weights = [1 + i % 3 for i in range(len(DATA))]
        self.write("w", "".join(f"{w}\n" for w in weights))
        options = ["-s", solver, *variant.split()]
        found = self.train(*options)
        self.assertEqual((found["solver"], found["status"]), (solver, "converged"))
        self.assertGreater(found["iterations"], 0)
        costs = None
        if "--class-weight" in options:
            costs = [2.0 if label == 1 else 1.0 for label, _ in DATA]
        if "--weights" in options:
            costs = weights
        if "f64" not in options:
            again = recompute(ModelFile(self.dir / "m"), DATA, costs)
            self.assertClose(again.primal, found["primal"], 1e-9)
            self.assertClose(again.dual, found["dual"], 1e-9)
            self.assertTrue(all(0 <= a <= u for a, u in zip(again.alphas, again.upper)))
        gap = float(options[options.index("--gap") + 1]) if "--gap" in options else 1e-3
        self.assertLessEqual(found["relative_gap"], gap)
        self.assertVerifies(*(o for o in options if o in ("--weights", "w")))
        # The same optimum as another solver finds.
        other = variant.split()
        for name in ("--planes", "--mu", "--gap"):
            if name in other:
                del other[other.index(name):other.index(name) + 2]
        best = self.train(*other, "-s", "dual", "--gap", "1e-8", model="best")
        self.assertLessEqual(found["dual"], best["primal"] * (1 + 1e-12))
        self.assertLessEqual(found["primal"] * (1 - gap), best["primal"])
        self.assertGreaterEqual(found["primal"], best["dual"] * (1 - 1e-12))
        # Nothing about the machine shows in the model.
        plain = self.model_bytes(*options)
        for how in (["-n", "1"], ["-n", "2"], ["--cpu", "scalar"], ["--trace", "t"]):
            self.assertEqual(self.model_bytes(*options, *how), plain)


@table([(s,) for s in SOLVERS])
class PlanesTest(CommandCase):
    def check(self, row):
        """Everything that needs no table of its own, for one solver."""
        self.solver = row[0]
        for part in (self.several_classes, self.wide_rows, self.start, self.trace, self.limits, self.cross_validation):
            with self.subTest(part.__name__):
                part()

    def go(self, *arguments, **how):
        return self.train("-s", self.solver, *arguments, **how)

    def several_classes(self):
        self.write("three.svm", to_text(THREE))
        found = self.go("--gap", "1e-4", data="three.svm")
        self.assertEqual(len(found["problems"]), 3)
        for k in range(3):
            again = recompute(ModelFile(self.dir / "m"), THREE, problem=k)
            self.assertClose(again.primal, found["problems"][k]["primal"], 1e-9)
            self.assertClose(again.dual, found["problems"][k]["dual"], 1e-9)
            self.assertLessEqual(found["problems"][k]["relative_gap"], 1e-4)
        self.assertVerifies(data="three.svm")
        best = self.train("-s", "dual", "--gap", "1e-7", data="three.svm", model="best")
        for ours, theirs in zip(found["problems"], best["problems"]):
            self.assertClose(ours["primal"], theirs["primal"], 2e-4)

    def wide_rows(self):
        """More columns than rows: planes are kept by their rows."""
        wide = make_rows(60, 100, seed=5)
        self.write("wide.svm", to_text(wide))
        found = self.go("--gap", "1e-4", "--bias", "1", data="wide.svm")
        again = recompute(ModelFile(self.dir / "m"), wide)
        self.assertClose(again.primal, found["primal"], 1e-9)
        self.assertClose(again.dual, found["dual"], 1e-9)
        best = self.train("-s", "dual", "--gap", "1e-7", "--bias", "1", data="wide.svm", model="best")
        self.assertClose(found["primal"], best["primal"], 1.1e-4)

    def start(self):
        best = self.train("--gap", "1e-7", model="best")
        cold = self.go("--gap", "1e-4")
        warm = self.go("--gap", "1e-4", "--start", "best")
        self.assertLess(warm["iterations"], cold["iterations"])
        self.assertLessEqual(warm["primal"], best["primal"] * (1 + 1e-9))
        self.assertGreaterEqual(warm["dual"], best["dual"] * (1 - 1e-9))
        # Its proof counts only on the same data; its point always.
        self.write("other.svm", to_text(DATA[:150]))
        other = self.go("--gap", "1e-4", "--start", "best", data="other.svm")
        self.assertEqual(other["status"], "converged")
        self.assertVerifies(data="other.svm")
        # From a model with other options, in place, and from LIBLINEAR's.
        self.go("--cost", "0.01", model="m")
        self.assertEqual(self.go("--start", "m")["status"], "converged")
        self.hinge("convert", "best", "best.liblinear")
        self.assertLessEqual(self.go("--start", "best.liblinear")["primal"], best["primal"] * (1 + 1e-3))
        self.go("--bias", "1", model="biased")
        self.assertEqual(self.go("--bias", "1", "--start", "biased")["status"], "converged")
        run = self.hinge("train", "d.svm", "m", "-s", self.solver, "--start", "biased", code=None)
        self.assertIn("[model.start]", run.err)

    def trace(self):
        self.go("--gap", "1e-5", "--trace", "t")
        records = [json.loads(line) for line in self.read("t").splitlines()]
        self.assertGreater(len(records), 3)
        for a, b in itertools.pairwise(records):
            self.assertLessEqual(b["primal"], a["primal"])
            self.assertGreaterEqual(b["dual"], a["dual"])
            self.assertGreater(b["iteration"], a["iteration"])
        self.assertTrue(all(r["dual"] <= r["primal"] * (1 + 1e-12) for r in records))

    def limits(self):
        for options in (["--time-limit", "0"], ["--max-passes", "4"]):
            run = self.hinge("train", "d.svm", "m", "--json", "-s", self.solver, "--gap", "1e-9", *options)
            self.assertEqual(run.json["status"], "limit")
            self.assertIn("[solver.limit]", run.err)
            self.assertVerifies()

    def cross_validation(self):
        run = self.hinge("train", "d.svm", "-s", self.solver, "-v", "4")
        self.assertIn("cross-validation accuracy", run.text)


class OptionsTest(CommandCase):
    def test_only_cutting_planes_have_them(self):
        for solver in ([], ["-s", "dual"], ["-s", "pegasos"]):
            for option in (["--planes", "10"], ["--mu", "0.1"]):
                run = self.hinge("train", "d.svm", "m", *solver, *option, code=64)
                self.assertIn("[usage.value]", run.err)
                self.assertIn(option[0], run.err)
                self.assertNotIn("m", self.files())

    def test_memory_follows_the_planes_there_are(self):
        used = self.train("--solver", "ocas", "--planes", "10000")["peak_memory_bytes"]
        self.assertLess(used, 100e6)
        few = self.train("--solver", "ocas", "--gap", "1e-6", "--planes", "1000", model="a")
        self.assertEqual(few["status"], "converged")

    def test_two_planes_that_crawl_are_found_out(self):
        rows = [(-1, -9.2, -177.8), (1, 93.0, -145.8), (1, -127.5, -173.1), (1, -139.5, 145.3), (-1, -125.7, -35.5)]
        self.write("five.svm", "".join(f"{y:+d} 1:{a} 2:{b}\n" for y, a, b in rows))
        for bias in ("1", "free"):
            found = self.train("--solver", "ocas", "--planes", "2", "--cost", "1000", "--gap", "1e-9", "--bias", bias,
                               "--time-limit", "20", data="five.svm")
            self.assertEqual(found["status"], "limit")
            self.assertIn("at its pace", found["why"])

    def test_values(self):
        for option in (["--planes", "1"], ["--planes", "0"], ["--planes", "10001"], ["--planes", "x"], ["--mu", "0"],
                       ["--mu", "1.1"], ["--mu", "-0.1"], ["--mu", "nan"], ["--epochs", "3"], ["--t0", "3"],
                       ["--kernel", "rbf"]):
            for solver in ("ocas", "focus"):
                run = self.hinge("train", "d.svm", "m", "-s", solver, *option, code=64)
                self.assertIn("[usage.", run.err)
                self.assertNotIn("m", self.files())


# ---- Real data.

FOLDER = os.environ.get("HINGE_SHARED_DATA", "")
DIGITS = 2e-7  # the optimum is published with so many digits, relative

# Optimum of 1/2|w|^2 + sum hinge, and the gap that is asked of each solver in reasonable time.
SETS = [
    ("a9a", 11_433.8077, {"cpa": 1e-3}, 1e-4),
    ("w8a", 6_604.8866, {"cpa": 1e-3}, 1e-4),
    ("ccat", 3_053.4433, {"cpa": 1e-3}, 1e-4),
    ("imdb", 5_205.641, {}, 1e-3),
    ("news20", 1_491.197, {}, 1e-2),
    ("covtype", 304_202.375, {"cpa": 0.2, "focus": 1e-3}, 1e-2),
]


class RealCase(Case):
    def unpack(self, name):
        source = pathlib.Path(FOLDER, name + "-train.svm.xz")
        if not FOLDER or not source.is_file():
            self.skipTest(f"{source.name} is not there; HINGE_SHARED_DATA is " + (FOLDER or "not set"))
        with lzma.open(source) as packed, open(self.dir / "text.svm", "wb") as plain:
            shutil.copyfileobj(packed, plain, 1 << 20)
        self.hinge("convert", "text.svm", "data.hinge")  # loads faster, ten times
        return "data.hinge"

    def train_and_verify(self, data, *options):
        found = self.hinge("train", data, "m", *options, "--json").json
        self.assertEqual(found["status"], "converged")
        checked = self.hinge("verify", "m", data, "--json").json
        self.assertTrue(checked["agrees"])
        return found


@table(SETS)
class OptimumTest(RealCase):
    def check(self, known):
        name, optimum, gaps, usual = known
        if not LONG and name != "a9a":
            self.skipTest("at length: make test-all")
        data = self.unpack(name)
        for solver in SOLVERS:
            with self.subTest(solver):
                gap = gaps.get(solver, usual)
                found = self.train_and_verify(data, "-s", solver, "--gap", gap)
                self.assertLessEqual(found["relative_gap"], gap)
                self.assertLessEqual(found["dual"], optimum * (1 + DIGITS))
                self.assertGreaterEqual(found["primal"], optimum * (1 - DIGITS))
                self.assertLessEqual(found["primal"], optimum * (1 + DIGITS) / (1 - gap))


class DigitsTest(RealCase):
    def test_one_against_the_rest(self):
        data = self.unpack("digits")
        gap = 1e-3
        best = self.train_and_verify(data, "-c", "0.01", "--gap", "1e-5", "-s", "dual")["problems"]
        for solver in SOLVERS if LONG else ["focus"]:
            with self.subTest(solver):
                found = self.train_and_verify(data, "-s", solver, "-c", "0.01", "--gap", gap)
                self.assertEqual(found["classes"], list("0123456789"))
                for ours, theirs in zip(found["problems"], best):
                    self.assertLessEqual(ours["relative_gap"], gap)
                    self.assertLessEqual(ours["dual"], theirs["primal"])
                    self.assertGreaterEqual(ours["primal"], theirs["dual"])
                    self.assertLessEqual(ours["primal"] * (1 - gap), theirs["primal"])


if __name__ == "__main__":
    support.main()
