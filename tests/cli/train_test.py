"""`hinge train`: what it learns, from which spellings of options and data, and that the bytes are always the same."""

import json
import math
import os
import random
import re
import shutil
import subprocess

import support
from support import DATA, OLD_MODEL, TEXT, THREE, CommandCase, ModelFile, joined, recompute, table, to_text

TRAIN_KEYS = set("status solver rows features nonzeros classes cost lambda primal dual relative_gap iterations "
                 "data_passes rows_touched seconds peak_memory_bytes threads model problems".split())
SECONDS_KEYS = {"load", "prepare", "solve", "certify", "save", "total"}
PROBLEM_KEYS = {"class", "primal", "dual", "relative_gap", "iterations", "seconds"}
TRACE_KEYS = set("seconds iteration data_passes primal dual relative_gap active_rows planes step".split())


class TrainTest(CommandCase):
    def test_json(self):
        found = self.train()
        self.assertLessEqual(TRAIN_KEYS, set(found))
        self.assertLessEqual(SECONDS_KEYS, set(found["seconds"]))
        stages = [found["seconds"][key] for key in SECONDS_KEYS - {"total"}]
        self.assertGreaterEqual(min(stages), 0)
        self.assertLessEqual(sum(stages), found["seconds"]["total"])
        self.assertEqual(found["status"], "converged")
        self.assertEqual(found["solver"], "auto:dual")
        self.assertEqual((found["rows"], found["features"]), (200, 10))
        self.assertEqual(found["nonzeros"], sum(len(x) for _, x in DATA))
        self.assertEqual(found["classes"], ["1", "-1"])
        self.assertEqual(found["cost"], 1)
        self.assertClose(found["lambda"], 1 / 200, 1e-15)
        self.assertEqual(found["model"], "m")
        self.assertLessEqual(found["relative_gap"], 1e-3)
        self.assertClose(found["relative_gap"], (found["primal"] - found["dual"]) / found["primal"], 1e-9)
        self.assertEqual(len(found["problems"]), 1)
        self.assertLessEqual(PROBLEM_KEYS, set(found["problems"][0]))
        self.assertEqual(found["problems"][0]["class"], "1")
        self.assertEqual(found["problems"][0]["primal"], found["primal"])
        self.assertGreater(found["peak_memory_bytes"], 0)
        self.assertGreaterEqual(found["threads"], 1)
        self.assertGreater(found["data_passes"], 0)

    def test_lanes(self):
        """A model is a function of data, options and lanes; these follow the threads asked for."""
        self.hinge("generate", "many.svm", "--like", "dense", "--rows", "12000", "--features", "50")
        models = {}
        for threads, lanes in (("1", None), ("2", None), ("3", None), ("1", "2"), ("2", "2"), ("2", "1"), ("2", "5")):
            options = ["-s", "dual", "-c", "0.01", "-n", threads, *(["--lanes", lanes] if lanes else [])]
            found = self.hinge("train", "many.svm", "m", *options, "--force", "--json").json
            self.assertEqual(found["lanes"], int(lanes or ("1" if threads == "1" else "2")))
            self.assertLessEqual(found["relative_gap"], 1e-3)
            self.hinge("convert", "m", "m.liblinear", "--force")
            weights = self.read("m.liblinear")
            self.assertEqual(models.setdefault(found["lanes"], weights), weights, (threads, lanes))
        self.assertEqual(len(set(models.values())), 3)
        self.hinge("verify", "m", "many.svm")

    def test_json_is_one_line_on_stdout(self):
        run = self.hinge("train", "d.svm", "m", "--json")
        self.assertEqual(run.out.count(b"\n"), 1)
        self.assertTrue(run.out.endswith(b"}\n"))

    def test_without_json_stdout_is_empty_and_the_last_line_tells_the_gap(self):
        run = self.hinge("train", "d.svm", "m")
        self.assertEqual(run.out, b"")
        number = r"[0-9.e+-]+"
        self.assertRegex(run.lines[-1], f"^gap {number} \\(primal {number}, bound {number}\\) after {number} s: "
                                        f"load {number}, solve {number}, check {number}$")

    def test_default_model_name_is_in_the_current_folder(self):
        (self.dir / "deep").mkdir()
        self.write("deep/x.svm", TEXT)
        self.assertEqual(self.hinge("train", "deep/x.svm", "--json").json["model"], "x.svm.model")
        self.assertEqual(self.files(), ["d.svm", "deep", "x.svm.model"])

    def test_standard_input_has_no_default_model_name(self):
        self.hinge("train", "-", stdin=TEXT.encode(), code=64)

    def test_from_standard_input(self):
        self.hinge("train", "-", "m", stdin=TEXT.encode())
        self.assertEqual(self.read("m"), self.model_bytes())

    def test_to_standard_output(self):
        run = self.hinge("train", "d.svm", "-")
        self.assertEqual(run.out, self.model_bytes())

    def test_through_pipes(self):
        run = self.hinge("train", "-", "-", stdin=TEXT.encode())
        self.assertEqual(run.out, self.model_bytes())

    def test_quiet(self):
        self.assertEqual(self.hinge("train", "d.svm", "m", "-q").err, "")

    def test_certificate_follows_from_the_definition(self):
        found = self.train()
        again = recompute(ModelFile(self.dir / "m"), DATA)
        self.assertTrue(all(0 <= a <= u for a, u in zip(again.alphas, again.upper)))
        self.assertClose(found["primal"], again.primal, 1e-9)
        self.assertClose(found["dual"], again.dual, 1e-9)
        self.assertLess(0, again.dual)
        self.assertLessEqual(again.dual, again.primal)

    def test_gap(self):
        for gap in ("1", "0.1", "1e-3", "1e-6", "1e-9"):
            with self.subTest(gap=gap):
                self.assertLessEqual(self.train("--gap", gap)["relative_gap"], float(gap))

    def test_other_goals(self):
        best = self.train("--gap", "1e-9")["primal"]
        for solver in ("auto", "newton", "active", "pegasos"):
            with self.subTest(solver):
                found = self.train("-s", solver, "--gap-absolute", "2.5", "--require-converged")
                self.assertLessEqual(found["primal"] - found["dual"], 2.5)
                self.assertGreater(found["relative_gap"], 1e-3)  # none was asked for
                self.assertEqual(found["goals"], {"gap_absolute": 2.5})
                found = self.train("-s", solver, "-c", "3", "--gap-per-row", "0.02", "--require-converged")
                self.assertLessEqual((found["primal"] - found["dual"]) / (3 * 200), 0.02)
                self.assertEqual(found["goals"], {"gap_per_row": 0.02})
                found = self.train("-s", solver, "--target", str(1.1 * best), "--require-converged")
                self.assertLessEqual(found["primal"], 1.1 * best)
                self.assertEqual(self.hinge("info", "m", "--json").json["goals"], {"target": 1.1 * best})
                self.hinge("verify", "m", "d.svm")
        self.assertNotIn("goals", self.train("--gap", "0.1"))
        self.assertNotIn("goals", self.hinge("info", "m", "--json").json)

    def test_the_first_goal_that_is_reached_ends_a_run(self):
        for first in (["--gap", "0.05"], ["--gap-absolute", "4"], ["--gap-per-row", "0.02"]):
            with self.subTest(first):
                alone = self.train(*first, model="alone")
                others = {"--gap": "1e-12", "--gap-absolute": "1e-9", "--gap-per-row": "1e-12"}
                del others[first[0]]
                several = self.train(*first, *[word for goal in others.items() for word in goal], model="several")
                for key in ("status", "primal", "dual", "iterations", "rows_touched"):
                    self.assertEqual(several[key], alone[key])

    def test_goals_that_are_not_reached(self):
        run = self.hinge("train", "d.svm", "m", "--gap-absolute", "1e-9", "--gap-per-row", "1e-12", "--max-passes", "3",
                         "--json", "--require-converged", code=3)
        self.assertEqual(run.json["status"], "limit")
        self.assertSays(run, r"hinge: warning: stopped by a limit at gap \S+; a primal within 1e-09 of the bound, or a "
                             r"primal within 1e-12 C rows of the bound was asked for \[solver\.limit\]")
        best = self.train("--gap", "1e-9")
        run = self.hinge("train", "d.svm", "m", "--target", 0.99 * best["dual"], "--json", "--require-converged", code=3)
        self.assertRegex(run.json["why"], r"^no point has a primal of \S+: the bound is \S+$")
        self.assertSays(run, r"hinge: warning: .*: no point has a primal of .* \[solver\.stalled\]")
        self.assertLess(run.json["data_passes"], best["data_passes"])
        self.hinge("verify", "m", "d.svm")

    def test_goals_of_each_class_and_of_each_cost(self):
        self.write("three.svm", to_text(THREE))
        found = self.train("--gap-per-row", "0.03", "--require-converged", data="three.svm")
        self.assertEqual(len(found["problems"]), 3)
        for problem in found["problems"]:
            self.assertLessEqual((problem["primal"] - problem["dual"]) / found["rows"], 0.03)
        found = self.train("-c", "0.1,1,10", "--gap-per-row", "0.01", "--require-converged")
        for entry in found["path"]:
            self.assertEqual(entry["status"], "converged")
            self.assertLessEqual((entry["primal"] - entry["dual"]) / (entry["cost"] * 200), 0.01)
        self.assertEqual(self.hinge("info", "m", "--json").json["goals"], {"gap_per_row": 0.01})
        self.hinge("verify", "m", "d.svm")

    def test_goals_out_of_range(self):
        for name in ("--gap-absolute", "--gap-per-row", "--target"):
            for value in ("0", "-1", "nan", "inf", "x"):
                with self.subTest(name=name, value=value):
                    self.assertIn(f"{name}: expected a finite number > 0",
                                  self.hinge("train", "d.svm", "m", f"{name}={value}", code=64).err)
        for name in ("--gap", "--gap-absolute", "--gap-per-row"):
            run = self.hinge("train", "d.svm", "m", "--kernel", "sigmoid", name, "0.5", code=64)
            self.assertIn(f"{name}: this kernel is no inner product", run.err)
        self.hinge("train", "d.svm", "m", "--kernel", "sigmoid", "--target", "1e6", "--require-converged")

    def test_cost_and_lambda(self):
        by_cost = self.train("--cost", "0.5", "--gap", "1e-8", model="by-cost")
        by_lambda = self.train("--lambda", "0.01", "--gap", "1e-8", model="by-lambda")  # C = 1/(0.01 * 200)
        self.assertClose(by_lambda["cost"], 0.5, 1e-14)
        self.assertClose(by_cost["lambda"], 0.01, 1e-14)
        self.assertClose(by_cost["primal"], by_lambda["primal"], 2e-8)

    def test_bias_is_a_constant_feature(self):
        extended = [(label, {**x, 11: 2.0}) for label, x in DATA]
        self.write("e.svm", to_text(extended))
        by_option = self.train("--bias", "2", "--gap", "1e-8")
        by_hand = self.train("--gap", "1e-8", data="e.svm", model="e")
        self.assertClose(by_option["primal"], by_hand["primal"], 2e-8)
        model, hand = ModelFile(self.dir / "m"), ModelFile(self.dir / "e")
        self.assertAlmostEqual(model.arrays["bias"][0], 2 * hand.weights()[11], delta=1e-2)
        self.assertClose(recompute(model, DATA).primal, by_option["primal"], 1e-9)
        self.assertVerifies()

    def test_class_weights_are_row_weights(self):
        self.write("w", "".join("2.5\n" if label == 1 else "0.5\n" for label, _ in DATA))
        by_class = self.train("--class-weight", "1=2.5", "--class-weight", "-1=0.5", "--gap", "1e-8", model="c")
        by_row = self.train("--weights", "w", "--gap", "1e-8", model="r")
        self.assertClose(by_class["primal"], by_row["primal"], 2e-8)
        self.assertClose(by_class["lambda"], by_row["lambda"], 1e-12)
        self.assertVerifies(model="c")
        self.assertVerifies("--weights", "w", model="r")

    def test_balanced_class_weights(self):
        count = sum(label == 1 for label, _ in DATA)
        factors = f"1={200 / (2 * count)!r}", f"-1={200 / (2 * (200 - count))!r}"
        balanced = self.train("--class-weight", "balanced", "--gap", "1e-8")
        by_hand = self.train("--class-weight", factors[0], "--class-weight", factors[1], "--gap", "1e-8")
        self.assertClose(balanced["primal"], by_hand["primal"], 2e-8)

    def test_row_weights_are_repetitions(self):
        counts = [i % 3 for i in range(len(DATA))]  # 0: as if the row were not there
        self.write("w", "".join(f"{n}\n" for n in counts))
        self.write("e.svm", to_text([row for row, n in zip(DATA, counts) for _ in range(n)]))
        weighted = self.train("--weights", "w", "--gap", "1e-8")
        repeated = self.train("--gap", "1e-8", data="e.svm", model="e")
        self.assertClose(weighted["primal"], repeated["primal"], 2e-8)
        self.assertClose(recompute(ModelFile(self.dir / "m"), DATA, counts).primal, weighted["primal"], 1e-9)

    def test_row_weights_of_one_change_nothing_but_the_origin(self):
        self.write("w", "1\n" * len(DATA))
        weighted, plain = self.train("--weights", "w"), self.train(model="n")
        for key in ("primal", "dual", "cost", "lambda", "iterations"):
            self.assertEqual(weighted[key], plain[key])
        self.assertEqual(ModelFile(self.dir / "m").weights(), ModelFile(self.dir / "n").weights())

    def test_trace(self):
        found = self.train("--trace", "t", "--gap", "1e-6")
        records = [json.loads(line) for line in self.read("t").splitlines()]
        self.assertGreater(len(records), 1)
        for record in records:
            self.assertLessEqual(TRACE_KEYS, set(record))
        for before, after in zip(records, records[1:]):
            self.assertLessEqual(before["seconds"], after["seconds"])
            self.assertLessEqual(before["iteration"], after["iteration"])
            self.assertLessEqual(before["data_passes"], after["data_passes"])
            self.assertGreaterEqual(before["primal"], after["primal"])  # best so far
            self.assertLessEqual(before["dual"], after["dual"])
        self.assertClose(records[-1]["primal"], found["primal"], 1e-9)
        self.assertLessEqual(records[-1]["relative_gap"], 1e-6)

    def test_trace_changes_nothing(self):
        self.assertSame("--trace", "t")

    def test_rows_without_features(self):
        self.write("s.svm", "1 1:1\n-1\n1\n-1 1:-1\n")
        self.assertEqual(self.train(data="s.svm", model="s")["rows"], 4)
        self.assertVerifies(model="s", data="s.svm")

    def test_cross_validation(self):
        found = self.hinge("train", "d.svm", "-v", "5", "--json").json
        self.assertLessEqual({"rows", "accuracy", "error", "confusion"}, set(found))
        self.assertEqual((found["rows"], sum(map(sum, found["confusion"]))), (200, 200))
        self.assertGreater(found["accuracy"], 0.8)  # a tenth of the labels are wrong
        said = self.hinge("train", "d.svm", "-v", "5", "-n", "1").text
        self.assertIn(f"{100 * found['accuracy']:.4f} %", said)
        self.assertEqual(self.files(), ["d.svm"])  # no model

    def test_precision(self):
        self.write("s.svm", "1 1:0.1\n-1 1:-0.3\n")
        self.train("--precision", "f64", data="s.svm", model="double")
        self.train("--precision", "f32", data="s.svm", model="float")
        self.train(data="s.svm", model="default")
        self.assertEqual(self.read("float"), self.read("default"))
        self.assertNotEqual(self.read("double"), self.read("float"))
        self.assertEqual(ModelFile(self.dir / "double").data["precision"], "f64")
        self.assertVerifies(model="double", data="s.svm")

    def test_seed_changes_the_path_not_the_answer(self):
        one, two = self.train("--seed", "1", "--gap", "1e-7"), self.train("--seed", "2", "--gap", "1e-7", model="n")
        self.assertClose(one["primal"], two["primal"], 2e-7)
        self.assertSame("--seed", "1")
        self.train("--seed", 2**64 - 1)

    def test_a_link_to_a_model_stays_a_link(self):
        self.write("real", OLD_MODEL)
        (self.dir / "link").symlink_to("real")
        self.hinge("train", "d.svm", "link")
        self.assertTrue((self.dir / "link").is_symlink())
        self.assertEqual(self.read("real"), self.model_bytes())


class SeveralClassesTest(CommandCase):
    def setUp(self):
        super().setUp()
        self.write("t.svm", to_text(THREE))

    def test_one_against_the_rest(self):
        found = self.train("--gap", "1e-6", data="t.svm")
        self.assertEqual(found["classes"], ["2", "5", "11"])
        self.assertEqual([p["class"] for p in found["problems"]], found["classes"])
        self.assertClose(found["primal"], sum(p["primal"] for p in found["problems"]), 1e-12)
        self.assertClose(found["dual"], sum(p["dual"] for p in found["problems"]), 1e-12)
        self.assertEqual(found["relative_gap"], max(p["relative_gap"] for p in found["problems"]))
        model = ModelFile(self.dir / "m")
        for k, problem in enumerate(found["problems"]):
            again = recompute(model, THREE, problem=k)
            self.assertClose(problem["primal"], again.primal, 1e-9)
            self.assertClose(problem["dual"], again.dual, 1e-9)
        self.assertVerifies(data="t.svm")

    def test_the_largest_score_wins(self):
        self.train(data="t.svm")
        model = ModelFile(self.dir / "m")
        lines = self.hinge("predict", "t.svm", "m", "--scores").text.splitlines()
        for (_, x), line in zip(THREE, lines):
            said, *scores = line.split()
            scores = [float(s) for s in scores]
            for k, score in enumerate(scores):
                self.assertAlmostEqual(score, model.score(x, k), delta=1e-12)
            self.assertEqual(int(said), model.labels[scores.index(max(scores))])

    def test_each_class_is_the_binary_problem_against_the_rest(self):
        several = self.train("--gap", "1e-8", data="t.svm")
        for problem in several["problems"]:
            self.write("b.svm", to_text([(1 if str(label) == problem["class"] else -1, x) for label, x in THREE]))
            self.assertClose(self.train("--gap", "1e-8", data="b.svm", model="b")["primal"], problem["primal"], 2e-8)

    def test_reject(self):
        self.train("--reject", data="t.svm")
        lines = self.hinge("predict", "t.svm", "m", "--scores").text.splitlines()
        refused = 0
        for line in lines:
            said, *scores = line.split()
            self.assertEqual(said == "none", max(map(float, scores)) <= 0, line)
            refused += said == "none"
        found = self.hinge("evaluate", "t.svm", "m", "--json").json
        self.assertEqual(found["rejected"], refused)
        right = sum(line.split()[0] == str(label) for line, (label, _) in zip(lines, THREE))
        self.assertClose(found["accuracy"], right / len(THREE), 1e-12)

    def test_trace_names_the_problem(self):
        self.train("--trace", "t", data="t.svm")
        records = [json.loads(line) for line in self.read("t").splitlines()]
        self.assertEqual({r["problem"] for r in records}, {0, 1, 2})


# LIBLINEAR's way to say it, and ours. Both give the same bytes.
SPELLINGS = [
    ("-c", "-c 0.5", "--cost 0.5"),
    ("-e", "-e 0.01", "--gap 0.0001"),
    ("-e default", "-e 0.1", ""),
    ("-B number", "-B 1", "--bias 1"),
    ("-B negative is none", "-B -1", "--bias none"),
    ("-s 3", "-s 3", "--solver auto"),
    ("-s 1", "-s 1", "--loss squared_hinge"),
    ("-s 2", "-s 2", "--solver auto --loss squared_hinge"),
    ("-s 0", "-s 0", "--loss logistic"),
    ("-s 7", "-s 7", "--solver auto --loss logistic"),
    ("-q", "-q", "--quiet"),
    ("-n", "-n 2", "--threads 2"),
    ("-w", "-w1 2", "--class-weight 1=2"),
    ("-w negative label", "-w-1 3", "--class-weight -1=3"),
    ("-w both", "-w1 2 -w-1 3", "--class-weight -1=3 --class-weight 1=2"),
    ("-w label with a plus", "-w+1 2", "--class-weight 1=2"),
    ("all together", "-s 3 -c 2 -e 0.05 -B 1 -w1 2 -w-1 0.5 -n 2 -q",
     "--cost 2 --gap 0.0005 --bias 1 --class-weight 1=2 --class-weight -1=0.5"),
    ("attached value", "-c0.5", "--cost=0.5"),
]


@table(SPELLINGS)
class LiblinearTest(CommandCase):
    def check(self, row):
        _, theirs, ours = row
        self.assertEqual(self.model_bytes(*theirs.split()), self.model_bytes(*ours.split()))


class LossTest(CommandCase):
    """The squared hinge, from the command line to the file and back."""

    loss, of_liblinear = "squared_hinge", b"L2R_L2LOSS_SVC"

    @staticmethod
    def of_margin(z):
        return max(0.0, 1 - z) ** 2

    def primal(self, weights):
        """Its primal value, from the rows."""
        loss = sum(self.of_margin(y * sum(weights.get(j, 0.0) * v for j, v in x.items()))
                   for y, x in support.parse_text(support.TEXT))
        return sum(w * w for w in weights.values()) / 2 + loss

    def test_every_solver_and_what_says_it(self):
        for solver in ("auto", "dual", "newton"):
            found = self.train("--loss", self.loss, "--gap", "1e-9", "-s", solver, "--precision", "f64")
            self.assertEqual(found["loss"], self.loss)
            self.assertLessEqual(found["relative_gap"], 1e-9)
            model = support.ModelFile(self.dir / "m")
            weights = {int(j): w for j, w in model.weights().items()}
            self.assertClose(self.primal(weights), found["primal"], 1e-9)
            self.assertEqual(model.metadata["section.loss"], self.loss)
            self.assertEqual(self.hinge("info", "m", "--json").json["loss"], self.loss)
            self.assertVerifies()
        self.assertEqual(self.train()["loss"], "hinge")
        self.assertNotIn("sections", support.ModelFile(self.dir / "m").metadata)

    def test_pegasos_says_what_it_found(self):
        optimum = self.train("--loss", self.loss, "--gap", "1e-9", "--precision", "f64")["primal"]
        for options in ("", "--batch 7", "--batch all --epochs 60", "--projection on", "--update mistake", "--iterate last",
                        "--iterate best-of:3", "--sampling replace", "--gap 0.05", "-c 100", "--bias 1", "--bias free",
                        "--class-weight 1=3", "--rescale off"):
            with self.subTest(options):
                found = self.train("--loss", self.loss, "-s", "pegasos", "--precision", "f64", *options.split())
                if not options.startswith(("-c", "--bias", "--class")):
                    weights = {int(j): w for j, w in support.ModelFile(self.dir / "m").weights().items()}
                    self.assertClose(self.primal(weights), found["primal"], 1e-9)
                    self.assertLessEqual(found["dual"], optimum)
                    self.assertGreaterEqual(found["primal"], optimum * (1 - 1e-8))
                self.assertTrue(0 < found["dual"] <= found["primal"])
                self.assertVerifies()
                bits = self.read("m")
                self.train("--loss", self.loss, "-s", "pegasos", "--precision", "f64", *options.split(), "-n", "3",
                           "--cpu", "scalar")
                self.assertEqual(self.read("m"), bits)

    def test_the_log_begins_with_it(self):
        for options, loss in ((["--loss", self.loss], self.loss), (["-s", "2"], "squared_hinge"),
                              (["-s", "3"], "hinge"), ([], "hinge")):
            first = self.hinge("train", "d.svm", "m", *options).err.splitlines()[0]
            self.assertTrue(first.startswith(f"loss {loss}: 1/2|w|^2 + C sum "), first)
        self.assertEqual(self.hinge("train", "d.svm", "m", "-q").err, "")

    def test_who_does_not_take_it(self):
        for solver in ("cpa", "ocas", "ocas3", "active", "focus"):
            run = self.hinge("train", "d.svm", "m", "-s", solver, "--loss", self.loss, code=64)
            self.assertRegex(run.err, f"--loss {self.loss}: .* dual, newton")
        for solver in ("auto", "pegasos"):
            run = self.hinge("train", "d.svm", "m", "-s", solver, "--kernel", "rbf", "--loss", self.loss, code=64)
            self.assertIn("with a kernel the loss is the hinge", run.err)
        run = self.hinge("train", "d.svm", "m", "-s", "3", "--loss", self.loss, code=64)
        self.assertIn("one of LIBLINEAR's numbers", run.err)

    def test_another_loss_is_another_problem(self):
        """Starts cross from one loss to the other, checkpoints do not."""
        self.train("--loss", self.loss, "--gap", "1e-6", model="square")
        self.train("--gap", "1e-6", model="straight")
        for begin, *loss in (("straight", "--loss", self.loss), ("square",)):
            for solver in ("dual", "newton"):
                found = self.train("--start", begin, "-s", solver, "--gap", "1e-6", *loss, model="after")
                self.assertEqual(found["status"], "converged")
                self.assertVerifies(model="after")
        self.train("--loss", self.loss, "--checkpoint", "k", "--every", "1e-9", "-s", "newton", "--max-passes", "5",
                   model="m")
        run = self.hinge("train", "d.svm", "m", "--resume", "k", "--loss", "hinge", code=80)
        self.assertIn("loss", run.err)
        self.hinge("train", "d.svm", "m", "--resume", "k", "-s", "newton")
        self.assertEqual(self.hinge("info", "m", "--json").json["loss"], self.loss)

    def test_paths_weights_and_classes(self):
        self.write("three.svm", support.to_text(support.THREE))
        for options in (("--cost", "0.01,1,100"), ("--bias", "free"), ("--bias", "0.7", "-w2", "3")):
            self.hinge("train", "three.svm", "m", "--loss", self.loss, "--gap", "1e-7", "--force", *options)
            self.hinge("verify", "m", "three.svm")

    def test_liblinear_and_back(self):
        self.train("--loss", self.loss, "-B", "1", model="m.liblinear")
        self.assertTrue(self.read("m.liblinear").startswith(b"solver_type %s\n" % self.of_liblinear))
        self.hinge("convert", "m.liblinear", "back")
        self.hinge("convert", "back", "again.liblinear")
        self.assertEqual(self.read("m.liblinear"), self.read("again.liblinear"))


class LogisticTest(LossTest):
    """The same of the logistic loss."""

    loss, of_liblinear = "logistic", b"L2R_LR"

    @staticmethod
    def of_margin(z):
        return math.log1p(math.exp(-z))

    def test_margins_and_costs_of_any_size(self):
        """|z| of a thousand and more, and costs from 1e-6 to 1e6, overflow nothing."""
        self.write("far.svm", "".join(f"{y} 1:{y * v} 2:{v % 7}\n" for v in range(1, 900, 7) for y in (1, -1)))
        self.write("noisy.svm", "".join(f"{y} 1:{v * 1000} 2:{v % 5}\n" for v in range(-9, 9) for y in (1, -1)))
        for data in ("far.svm", "noisy.svm"):
            for cost in ("1e-6", "1", "1e6"):
                for solver in ("dual", "newton"):
                    found = self.train("--loss", "logistic", "--cost", cost, "-s", solver, "--gap", "1e-5",
                                       "--time-limit", "20", data=data)
                    self.assertEqual(found["status"], "converged", (data, cost, solver))
                    self.assertVerifies(data=data)


class OptionsBeforeData(CommandCase):
    def test_as_liblinear_scripts_write_them(self):
        self.hinge("train", "-s", "3", "-c", "2", "-w1", "2", "-q", "d.svm", "m")
        self.assertEqual(self.read("m"), self.model_bytes("-c", "2", "-w1", "2"))

    def test_class_weights_end_before_the_data(self):
        for weights in ("--class-weight 1=3", "--class-weight=1=3", "--class-weight 1=3 --class-weight -1=0.5"):
            self.hinge("train", *weights.split(), "d.svm", "m")
            self.assertEqual(self.read("m"), self.model_bytes(*weights.split()))


# Another way to write TEXT that must give the same model byte for byte; more of them in catalogue_test.py.
SAME_DATA = [
    ("values with a plus sign", TEXT.replace(":0", ":+0")),
    ("values with an exponent", joined(lambda line: " ".join(t + "e0" if ":" in t else t for t in line.split()))),
]


@table(SAME_DATA)
class SameDataTest(CommandCase):
    def check(self, row):
        self.write("e.svm", row[1])
        self.assertSame(data="e.svm")


class InputTest(CommandCase):
    def test_several_files_are_one_data_set_in_name_order(self):
        lines = TEXT.splitlines(keepends=True)
        self.write("part-b.svm", "".join(lines[50:120]))
        self.write("part-a.svm", "".join(lines[:50]))
        self.write("part-c.svm", "".join(lines[120:])[:-1])
        self.assertSame(data="part-*.svm")
        self.assertSame(data="part-[a-c].svm")
        self.assertSame(data="part-?.svm")

    def test_a_file_without_final_newline_does_not_run_into_the_next(self):
        lines = TEXT.splitlines()
        for i, line in enumerate(lines[:20]):
            self.write(f"part-{i:02}", line)
        self.write("part-99", "\n".join(lines[20:]))
        self.assertSame(data="part-*")

    def test_a_file_whose_name_looks_like_a_pattern(self):
        self.write("odd[1].svm", TEXT)
        self.assertSame(data="odd[1].svm")

    def test_an_empty_file_among_several(self):
        self.write("part-a", "")
        self.write("part-b", TEXT)
        self.write("part-c", "# nothing\n")
        self.assertSame(data="part-*")

    def test_named_pipe(self):
        os.mkfifo(self.dir / "pipe")
        process = self.start("train", "pipe", "m")
        with open(self.dir / "pipe", "w") as pipe:
            pipe.write(TEXT)
        self.assertEqual(self.finish(process).code, 0)
        self.assertEqual(self.read("m"), self.model_bytes())


class DeterminismTest(CommandCase):
    def setUp(self):
        super().setUp()
        self.hinge("generate", "g.svm", "--like", "ccat", "--rows", "2000")  # several chunks of text

    def model_of(self, *arguments, data="g.svm"):
        return self.model_bytes(*arguments, data=data)

    def test_again(self):
        self.assertEqual(self.model_of(), self.model_of())

    def test_threads(self):
        one = self.model_of("--threads", "1")
        for threads in (0, 2, 3, 8):
            with self.subTest(threads=threads):
                self.assertEqual(self.model_of("--threads", threads), one)

    def test_threads_with_several_classes_and_bias(self):
        self.write("three.svm", to_text(THREE))
        one = self.model_of("--threads", "1", "-B", "1", data="three.svm")
        for threads in (2, 3, 8):
            with self.subTest(threads=threads):
                self.assertEqual(self.model_of("--threads", threads, "-B", "1", data="three.svm"), one)

    def test_predictions(self):
        self.model_of()
        one = self.hinge("predict", "g.svm", "bytes.model", "--scores", "-n", "1").out
        for threads in (2, 3, 8):
            self.assertEqual(self.hinge("predict", "g.svm", "bytes.model", "--scores", "-n", threads).out, one)


class FindCostTest(CommandCase):
    """-C, in LIBLINEAR's words."""

    def test_prints_each_cost_and_the_best(self):
        lines = self.hinge("train", "d.svm", "-C", "-s", "2").out.decode().splitlines()
        trials = [re.fullmatch(r"log2c= *(-?[0-9.]+)\trate=([0-9.]+)", line) for line in lines[:-1]]
        costs = [float(trial[1]) for trial in trials]
        rates = [float(trial[2]) for trial in trials]
        self.assertEqual(costs, [costs[0] + k for k in range(len(costs))])
        self.assertLessEqual(costs[-1], 10)
        found = re.fullmatch(r"Best C = ([0-9.e-]+)  CV accuracy = ([0-9.]+)%", lines[-1])
        best = rates.index(max(rates))
        self.assertClose(float(found[1]), 2 ** costs[best], 1e-5)
        self.assertEqual(float(found[2]), rates[best])
        self.assertFalse((self.dir / "d.svm.model").exists())

    def test_json_and_where_it_begins(self):
        found = self.hinge("train", "d.svm", "-C", "-c", "64", "-v", "3", "--json").json
        self.assertEqual([trial["cost"] for trial in found["trials"]], [64, 128, 256, 512, 1024])
        self.assertEqual(found["folds"], 3)
        self.assertEqual(found["accuracy"], max(trial["accuracy"] for trial in found["trials"]))
        self.assertIn(found["cost"], [trial["cost"] for trial in found["trials"]])

    def test_what_it_does_not_take(self):
        self.train()
        for options in (["-c", "1,2"], ["--lambda", "1"], ["--path", "1:2:3"], ["-i", "m"], ["--checkpoint", "c"],
                        ["-c", "2000"]):
            self.hinge("train", "d.svm", "-C", *options, code=64)

    def test_the_best_cost_of_liblinear(self):
        """Both find costs that predict as well."""
        if not shutil.which("liblinear-train"):
            self.skipTest("not installed (package liblinear-tools)")
        theirs = subprocess.run(["liblinear-train", "-C", "-s", "2", "d.svm"], cwd=self.dir, capture_output=True, text=True,
                                timeout=60, check=True).stdout
        rate = float(re.search(r"CV accuracy = ([0-9.]+)%", theirs)[1])
        ours = self.hinge("train", "d.svm", "-C", "-s", "2").out.decode()
        self.assertClose(float(re.search(r"CV accuracy = ([0-9.]+)%", ours)[1]), rate, 0.04)
        first = float(re.search(r"log2c= *(-?[0-9.]+)", theirs)[1])
        self.assertEqual(float(re.search(r"log2c= *(-?[0-9.]+)", ours)[1]), first)


    def test_regression(self):
        """LIBLINEAR tries the same epsilons, begins at the same costs, and finds as good a pair."""
        draw = random.Random(5)
        rows = [[draw.gauss(0, 1) for _ in range(3)] for _ in range(120)]
        self.write("r.svm", "".join(f"{x[0] - 2 * x[1] + 0.3 * draw.gauss(0, 1):.3f} 1:{x[0]:.3f} 2:{x[1]:.3f} 3:{x[2]:.3f}\n"
                                    for x in rows))
        largest = max(abs(float(line.split()[0])) for line in (self.dir / "r.svm").read_text().splitlines())

        def parsed(text):
            lines = text.splitlines()
            trials = [re.fullmatch(r"log2c= *(-?[0-9.]+)\tp= *([0-9.]+)\tMean squared error=([0-9.e+-]+)", line) for line in lines]
            best = [re.fullmatch(r"Best C = ([0-9.e+-]+) Best p = ([0-9.e+-]+)  CV MSE = ([0-9.e+-]+)", line) for line in lines]
            return ([tuple(map(float, t.groups())) for t in trials if t], [tuple(map(float, b.groups())) for b in best if b][0])

        def firsts(trials):
            """The first cost of each epsilon."""
            return [trial[:2] for k, trial in enumerate(trials) if k == 0 or trials[k - 1][1] != trial[1]]

        for options, count in (((), 20), (("-p", "0.7"), None), (("-c", "1", "-p", "0.7"), None)):
            trials, best = parsed(self.hinge("train", "r.svm", "-C", "-s", "11", *options).text)
            steps = 19 if count else int(0.7 / (largest / 20))
            self.assertEqual([p for _, p in firsts(trials)], [float(f"{largest * k / 20:.2f}") for k in range(steps, -1, -1)])
            self.assertEqual(best[2], min(trial[2] for trial in trials))
            self.assertIn((round(math.log2(best[0]), 2), round(best[1], 2), best[2]), trials)
            self.assertLess(best[2], 0.15)
            if shutil.which("liblinear-train"):
                theirs = subprocess.run(["liblinear-train", "-C", "-s", "11", *options, "r.svm"], cwd=self.dir,
                                        capture_output=True, text=True, timeout=120, check=True).stdout
                trials_there, best_there = parsed(theirs)
                self.assertEqual(firsts(trials_there), firsts(trials))
                self.assertClose(best_there[2], best[2], 0.1)
        found = self.hinge("train", "r.svm", "-C", "-s", "13", "-p", "0.3", "-v", "3", "--json").json
        self.assertIn({name: found[name] for name in ("cost", "epsilon", "squared_error")}, found["trials"])
        self.assertLessEqual(found["trials"][0]["epsilon"], 0.3)
        self.assertEqual(found["trials"][-1]["epsilon"], 0)


class StartNameTest(CommandCase):
    def test_a_model_of_liblinear_is_a_start(self):
        """Of smooth losses, which have dual variables for any scores, with every solver."""
        for number, free in (("2", "-B none"), ("2", "-B free"), ("0", "-B 1"), ("0", "-B free")):
            self.hinge("train", "d.svm", "begin.liblinear", "-s", number, *free.split(), "--gap", "1e-3")
            alone = self.train("--loss", "squared_hinge" if number == "2" else "logistic", *free.split(), "--gap", "1e-6")
            for solver in ("auto", "dual", "newton"):
                found = self.train("--loss", "squared_hinge" if number == "2" else "logistic", *free.split(), "-s", solver,
                                   "--gap", "1e-6", "-i", "begin.liblinear")
                self.assertEqual(found["status"], "converged")
                self.assertClose(found["primal"], alone["primal"], 2e-6)
                self.assertVerifies()
            some = ["--loss", "squared_hinge" if number == "2" else "logistic", *free.split(), "-s", "dual", "--gap", "2e-3"]
            self.assertLessEqual(self.train(*some, "-i", "begin.liblinear")["data_passes"], self.train(*some)["data_passes"])

    def test_i_is_start(self):
        self.train("-s", "focus")
        self.hinge("train", "d.svm", "n", "-s", "focus", "-i", "m")
        self.hinge("train", "d.svm", "o", "-s", "focus", "--start", "m")
        self.assertEqual((self.dir / "n").read_bytes(), (self.dir / "o").read_bytes())


if __name__ == "__main__":
    support.main()
