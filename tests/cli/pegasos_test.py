"""`hinge train --solver pegasos`: every variant proves what it says, and says what it did."""

import itertools
import json

import support
from support import DATA, THREE, CommandCase, ModelFile, recompute, table, to_text

VARIANTS = [
    "", "--iterate last", "--iterate average", "--iterate suffix", "--iterate random", "--iterate best-of:4",
    "--batch 7", "--batch all", "--projection on", "--sampling replace", "--sampling order", "--rescale off",
    "--steps 1", "--steps 333", "--epochs 1", "--t0 50", "--gap 0.3", "--gap 0.05 --check-every 2",
    "--batch 20 --projection on --sampling replace --iterate average --rescale off --epochs 30",
    "--bias 1 --class-weight 1=2 --lambda 0.01 --projection on", "--update mistake", "--delta 0.05",
    "--update mistake --batch 7 --iterate last", "--update mistake --epochs 40 --bias 1",
]


@table([(v or "plain", v) for v in VARIANTS])
class VariantTest(CommandCase):
    def check(self, row):
        options = ["-s", "pegasos", *row[1].split()]
        found = self.train(*options)
        self.assertEqual(found["solver"], "pegasos")
        self.assertEqual(found["status"], "converged" if "--gap" in options else "limit")
        costs = [2.0 if label == 1 else 1.0 for label, _ in DATA] if "--class-weight" in options else None
        again = recompute(ModelFile(self.dir / "m"), DATA, costs)
        self.assertClose(again.primal, found["primal"], 1e-9)
        self.assertClose(again.dual, found["dual"], 1e-9)
        self.assertTrue(all(0 <= a <= u for a, u in zip(again.alphas, again.upper)))
        self.assertLessEqual(found["dual"], found["primal"])
        self.assertVerifies()
        # Nothing about the machine shows in the model.
        plain = self.model_bytes(*options)
        for how in (["-n", "1"], ["-n", "3"], ["--cpu", "scalar"]):
            self.assertEqual(self.model_bytes(*options, *how), plain)
        # Where nothing is drawn, the seed does not matter.
        self.train(*options, "--seed", "2", model="other")
        same = ModelFile(self.dir / "other").arrays["weights"] == ModelFile(self.dir / "m").arrays["weights"]
        self.assertEqual(same, "--sampling order" in row[1] or "--batch all" in row[1])


class PegasosTest(CommandCase):
    def test_twenty_epochs_and_no_complaint(self):
        run = self.hinge("train", "d.svm", "m", "-s", "pegasos", "--json")
        self.assertEqual(run.json["iterations"], 20 * 200)
        self.assertNotIn("warning", run.err)

    def test_a_gap_that_is_missed_is_reported(self):
        run = self.hinge("train", "d.svm", "m", "-s", "pegasos", "--gap", "1e-9", "--epochs", "3")
        self.assertIn("[solver.limit]", run.err)
        self.hinge("train", "d.svm", "m", "-s", "pegasos", "--gap", "1e-9", "--epochs", "3", "--require-converged",
                   code=3)

    def test_to_be_required_a_gap_must_be_asked_for(self):
        run = self.hinge("train", "d.svm", "m", "-s", "pegasos", "--require-converged", code=64)
        self.assertIn("--gap", run.err)

    def test_trace_has_a_record_an_epoch(self):
        self.train("-s", "pegasos", "--epochs", "6", "--trace", "t")
        records = [json.loads(line) for line in self.read("t").splitlines()]
        self.assertEqual([r["iteration"] for r in records], [200 * k for k in range(1, 7)])
        self.assertTrue(all(0 < r["dual"] <= r["primal"] for r in records))

    def test_with_a_gap_the_trace_has_the_best_so_far(self):
        self.train("-s", "pegasos", "--epochs", "30", "--gap", "1e-9", "--trace", "t")
        records = [json.loads(line) for line in self.read("t").splitlines()]
        self.assertGreater(len(records), 10)
        for a, b in itertools.pairwise(records):
            self.assertLessEqual(b["primal"], a["primal"])
            self.assertGreaterEqual(b["dual"], a["dual"])

    def test_trace_changes_nothing(self):
        self.train(model="start")
        drawn = [["--iterate", "random", "--steps", "3", "--seed", str(seed)] for seed in range(8)]
        for options in ([], ["--iterate", "last"], ["--iterate", "average"], ["--iterate", "random"], ["--batch", "9"],
                        ["--cost", "1e-5"], ["--gap", "0.01"], ["--iterate", "best-of:3"],
                        ["--start", "start", "--t0", "1", "--epochs", "6"], *drawn):
            plain = self.model_bytes("-s", "pegasos", *options)
            self.assertEqual(self.model_bytes("-s", "pegasos", *options, "--trace", "t"), plain)

    def test_the_published_point_is_there(self):
        # One step on all rows from w = 0: w = (1/lambda) times the mean of y x.
        self.train("-s", "pegasos", "--batch", "all", "--steps", "1", "--iterate", "last", "--rescale", "off",
                   "--lambda", "0.1")
        weights = dict(ModelFile(self.dir / "m").weights(0))
        for j in range(1, 11):
            mean = sum((1 if label == 1 else -1) * x.get(j, 0) for label, x in DATA) / len(DATA)
            self.assertAlmostEqual(weights.get(j, 0.0), mean / 0.1, places=5)

    def test_several_classes(self):
        self.write("three.svm", to_text(THREE))
        found = self.train("-s", "pegasos", "--epochs", "30", data="three.svm")
        self.assertEqual(len(found["problems"]), 3)
        for k in range(3):
            again = recompute(ModelFile(self.dir / "m"), THREE, problem=k)
            self.assertClose(again.primal, found["problems"][k]["primal"], 1e-9)
            self.assertClose(again.dual, found["problems"][k]["dual"], 1e-9)
        self.assertVerifies(data="three.svm")

    def test_start(self):
        best = self.train("--gap", "1e-6", model="best")
        cold = self.train("-s", "pegasos", "--epochs", "1")
        warm = self.train("-s", "pegasos", "--epochs", "1", "--start", "best")
        self.assertLess(warm["primal"], cold["primal"])
        self.assertGreaterEqual(warm["dual"], best["dual"] * (1 - 1e-9))
        # In place, and from a model of LIBLINEAR's.
        self.train("-s", "pegasos", "--epochs", "1", "--start", "m", model="m")
        self.hinge("convert", "best", "best.liblinear")
        again = self.train("-s", "pegasos", "--epochs", "1", "--start", "best.liblinear")
        self.assertClose(again["primal"], warm["primal"], 1e-12)

    def test_start_counts_features_as_its_own_data_did(self):
        zero = [(label, {j - 1: v for j, v in x.items()}) for label, x in DATA]
        self.write("zero.svm", to_text(zero))
        best = self.train("--gap", "1e-6", data="zero.svm", model="best")
        # Rows without the first feature do not say themselves that they count from 0.
        later = [(label, {j: v for j, v in x.items() if j > 0}) for label, x in zero]
        self.write("later.svm", to_text(later))
        go_on = ["-s", "pegasos", "--epochs", "1", "--start", "best", "--t0", "100000", "--rescale", "off"]
        plain = self.train(*go_on, data="later.svm")
        self.assertEqual(self.train(*go_on, "--index-base", "0", data="later.svm")["primal"], plain["primal"])
        self.assertLess(plain["primal"], 2 * best["primal"])
        run = self.hinge("train", "later.svm", "m", *go_on, "--index-base", "1", code=64)
        self.assertIn("[model.start]", run.err)

    def test_a_trace_does_not_replace_the_start(self):
        self.train(model="best")
        before = self.read("best")
        self.hinge("train", "d.svm", "m", "-s", "pegasos", "--start", "best", "--trace", "best", code=64)
        self.assertEqual(self.read("best"), before)

    def test_numbers_too_large_to_count_to(self):
        most = "18446744073709551615"
        for options in (["--check-every", most], ["--check-every", "9223372036854775808"]):
            self.assertEqual(self.train("-s", "pegasos", *options)["iterations"], 4000)
        for options in (["--epochs", most], ["--steps", most], ["--epochs", most, "--check-every", most]):
            run = self.hinge("train", "d.svm", "m", "-s", "pegasos", *options, "--time-limit", "0.1")
            self.assertIn("[solver.limit]", run.err)
            self.assertVerifies()

    def test_start_that_does_not_fit(self):
        self.write("three.svm", to_text(THREE))
        self.train(data="three.svm", model="three")
        self.train("--bias", "1", model="biased")
        for arguments, id_ in ((["--start", "three"], "model.start"), (["--start", "biased"], "model.start"),
                               (["--start", "d.svm"], "model.")):
            run = self.hinge("train", "d.svm", "m", "-s", "pegasos", *arguments, code=None)
            self.assertNotEqual(run.code, 0)
            self.assertIn(id_, run.err)
            self.assertIn("no model written", run.err)
        self.hinge("train", "d.svm", "m", "-s", "pegasos", "--start", "nowhere", code=66)
        self.train(model="plain")
        self.train("--no-witness", model="bare")
        run = self.hinge("train", "d.svm", "m", "--start", "bare", code=64)
        self.assertIn("[model.start]", run.err)
        self.train("--start", "plain")
        self.hinge("train", "d.svm", "m", "-s", "pegasos", "--start", "plain", "--t0", "0", code=64)
        self.hinge("train", "d.svm", "-s", "pegasos", "--start", "plain", "-v", "3", code=64)

    def test_options_that_do_not_go_together(self):
        for options in (["--epochs", "3"], ["-s", "dual", "--batch", "3"], ["-s", "pegasos", "--epochs", "3", "--steps", "4"],
                        ["-s", "pegasos", "--batch", "201"], ["-s", "pegasos", "--iterate", "best-of:0"],
                        ["-s", "pegasos", "--iterate", "best-of:1001"], ["-s", "pegasos", "--delta", "0"],
                        ["-s", "dual", "--update", "mistake"], ["--update", "mistake"], ["-s", "dual", "--delta", "0.1"],
                        ["-s", "pegasos", "--update", "mistakes"],
                        ["-s", "pegasso"], ["-s", "pegasos", "--sampling", "replaced"]):
            run = self.hinge("train", "d.svm", "m", *options, code=64)
            self.assertIn("[usage.value]", run.err)
            self.assertNotIn("m", self.files())

    def test_delta_is_best_of(self):
        """ln 20 = 2.996: three draws, one of which is good with probability 0.95."""
        drawn = self.model_bytes("-s", "pegasos", "--iterate", "best-of:3")
        self.assertEqual(self.model_bytes("-s", "pegasos", "--delta", "0.05"), drawn)
        self.assertNotEqual(self.model_bytes("-s", "pegasos", "--delta", "0.04"), drawn)
        self.hinge("train", "d.svm", "m", "-s", "pegasos", "--delta", "0.05", "--iterate", "last", code=64)

    def test_mistakes_promise_no_gap(self):
        run = self.hinge("train", "d.svm", "m", "-s", "pegasos", "--update", "mistake", "--gap", "0.01", code=64)
        self.assertIn("--epochs", run.err)
        run = self.hinge("train", "d.svm", "m", "-s", "pegasos", "--update", "mistake", "--gap", "0.01", "--epochs", "200")
        self.assertIn("[solver.limit]", run.err)
        self.assertVerifies()
        self.assertEqual(self.hinge("info", "m", "--json").json["update"], "mistake")
        self.assertEqual(self.train("-s", "pegasos", "--gap", "0.01", "--epochs", "200")["status"], "converged")

    def test_cross_validation(self):
        run = self.hinge("train", "d.svm", "-s", "pegasos", "-v", "4")
        self.assertIn("cross-validation accuracy", run.text)

    def test_time_limit(self):
        run = self.hinge("train", "d.svm", "m", "--json", "-s", "pegasos", "--epochs", "1000000000",
                         "--time-limit", "0.2")
        found = run.json
        self.assertEqual(found["status"], "limit")
        self.assertIn("[solver.limit]", run.err)
        self.assertLess(found["relative_gap"], 0.1)
        self.assertVerifies()


if __name__ == "__main__":
    support.main()
