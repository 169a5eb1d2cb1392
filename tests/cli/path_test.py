"""Several costs in one run and one file: training, choosing, showing."""

import json
import signal

import support
from support import THREE, CommandCase, to_text

COSTS = [0.01, 0.1, 1, 10]


class PathTest(CommandCase):
    def path(self, *arguments, **how):
        return self.train("--cost", "10,0.1,1,0.01", *arguments, **how)

    def test_models_are_those_trained_alone(self):
        for solver in ("dual", "newton", "focus"):
            found = self.path("--solver", solver, "--gap", "1e-4")
            self.assertEqual([p["cost"] for p in found["path"]], COSTS)
            self.assertEqual(found["status"], "converged")
            self.assertEqual(found["iterations"], sum(p["iterations"] for p in found["path"]))
            for p in found["path"]:
                alone = self.train("--solver", solver, "--gap", "1e-4", "--cost", str(p["cost"]), model="one")
                self.assertClose(p["primal"], alone["primal"], 1e-4)
                self.assertLessEqual(p["relative_gap"], 1e-4)
            self.hinge("verify", "m", "d.svm")

    def test_spellings(self):
        a = self.train("--path", "0.01:10:4", model="a")
        self.assertEqual([p["cost"] for p in a["path"]], COSTS)
        self.path(model="b")
        self.assertEqual(self.read("a"), self.read("b"))
        for arguments in (["--cost", "1,1"], ["--cost", "1,x"], ["--path", "1:2"], ["--path", "2:1:3"],
                          ["--path", "1:2:3", "--kernel", "rbf"]):
            self.assertIn("[usage.value]", self.hinge("train", "d.svm", "m", *arguments, code=64).err)
        for arguments in (["--path", "1:2:3", "--cost", "1"], ["--path", "1:2:3", "--lambda", "1"],
                          ["--cost", "1,2", "--lambda", "1"]):
            self.hinge("train", "d.svm", "m", *arguments, code=64)
        self.hinge("compare", "d.svm", "--cost", "1,2", code=64)
        self.assertNotIn("m", self.files())

    def test_one_is_chosen(self):
        self.path()
        for command in (["predict", "d.svm", "m"], ["evaluate", "d.svm", "m"], ["convert", "m", "out.liblinear"],
                        ["stream", "--resume", "m"]):
            run = self.hinge(*command, code=64, stdin=b"")
            self.assertIn("[model.path]", run.err)
            self.assertIn("0.01, 0.1, 1, 10", run.err)
        self.assertIn("[model.path]", self.hinge("predict", "d.svm", "m", "--cost", "2", code=64).err)
        self.hinge("predict", "d.svm", "m", "--cost", "x", code=64)
        for cost in COSTS:
            chosen = ["--cost", str(cost)]
            for form in ("one", "one.liblinear"):
                self.hinge("convert", "m", form, *chosen)
                self.assertEqual(self.hinge("predict", "d.svm", "m", "--scores", *chosen).out,
                                 self.hinge("predict", "d.svm", form, "--scores").out)
            self.assertEqual(self.hinge("evaluate", "d.svm", "m", "--json", *chosen).json,
                             self.hinge("evaluate", "d.svm", "one", "--json").json)
            self.hinge("verify", "m", "d.svm", *chosen)
        self.hinge("convert", "m", "again")
        self.assertEqual(self.read("again"), self.read("m"))
        self.hinge("convert", "d.svm", "x.hinge", "--cost", "1", code=64)

    def test_tables(self):
        self.path()
        info = self.hinge("info", "m", "--json").json
        self.assertEqual((info["kind"], [m["cost"] for m in info["models"]]), ("path", COSTS))
        self.assertIn("converged", self.hinge("info", "m").text)
        all_ = self.hinge("evaluate", "d.svm", "m", "--all", "--json").json
        accuracy = [m["metrics"]["accuracy"] for m in all_["models"]]
        self.assertEqual(all_["best"], COSTS[accuracy.index(max(accuracy))])
        norms = [m["norm"] for m in all_["models"]]
        self.assertEqual(norms, sorted(norms))
        text = self.hinge("evaluate", "d.svm", "m", "--all").text
        self.assertEqual(len(text.splitlines()), 5)
        self.assertEqual(text.count("best"), 1)
        self.hinge("evaluate", "d.svm", "m", "--all", "--cost", "1", code=64)
        checked = self.hinge("verify", "m", "d.svm", "--json").json
        self.assertTrue(checked["agrees"])
        self.assertEqual([m["cost"] for m in checked["models"]], COSTS)
        self.assertEqual(self.hinge("verify", "m", "d.svm").text.count("agrees"), 4)
        self.train(model="one")
        self.assertEqual(self.hinge("evaluate", "d.svm", "one", "--all").text.count("best"), 1)

    def test_folds(self):
        found = self.hinge("train", "d.svm", "-v", "3", "--cost", "0.001,1", "--gap", "1e-6", "--json").json
        for model in found["models"]:
            alone = self.hinge("train", "d.svm", "-v", "3", "--cost", str(model["cost"]), "--gap", "1e-6", "--json").json
            self.assertClose(model["metrics"]["accuracy"], alone["accuracy"], 0.02)
        self.assertIn("best", self.hinge("train", "d.svm", "-v", "3", "--cost", "0.001,1").text)

    def test_several_classes_trace_and_start(self):
        self.write("three.svm", to_text(THREE))
        for options in ([], ["--solver", "focus"], ["--solver", "pegasos", "--epochs", "3"]):
            found = self.path(*options, "--trace", "t", data="three.svm")
            self.assertEqual({len(p["problems"]) for p in found["path"]}, {3})
            costs = [json.loads(line)["cost"] for line in self.read("t").splitlines()]
            self.assertEqual(sorted(set(costs)), COSTS)
            self.assertEqual(list(dict.fromkeys(costs)), COSTS)  # begun in their order
            self.hinge("verify", "m", "three.svm")
        self.path(data="three.svm")
        warm = self.train("--cost", "11", "--start", "m", data="three.svm", model="w")
        cold = self.train("--cost", "11", data="three.svm", model="w")
        self.assertLess(warm["iterations"], cold["iterations"])
        self.path("--start", "m", "--no-witness", data="three.svm", model="w")

    def test_liblinear_holds_one(self):
        run = self.hinge("train", "d.svm", "m.liblinear", "--cost", "1,2", code=64)
        self.assertIn("[model.format]", run.err)

    def test_rows_of_zeros_have_a_model_a_cost(self):
        self.write("zero.svm", "1\n-1\n1 2:0\n")
        for solver in ("auto", "dual", "newton", "focus", "pegasos"):
            steps = ["--t0", "1"] if solver == "pegasos" else []
            run = self.hinge("train", "zero.svm", "m", "--cost", "0.1,1,10", "--solver", solver, "--json", *steps)
            self.assertEqual([p["cost"] for p in run.json["path"]], [0.1, 1, 10], solver)
            self.assertNotIn("solver.limit", run.err)
            self.assertNotIn("inf", run.err)
            self.hinge("verify", "m", "zero.svm")

    def test_limits(self):
        run = self.hinge("train", "d.svm", "m", "--cost", "1,2,3", "--time-limit", "0")
        self.assertIn("1 of 3 costs", run.err)
        self.hinge("verify", "m", "d.svm")
        self.hinge("train", "d.svm", "m", "--cost", "1,2", "--time-limit", "0", "--require-converged", code=3)
        found = self.path("--max-passes", "2", "--gap", "1e-9")
        self.assertEqual(len(found["path"]), 4)

    def test_an_interrupt_keeps_the_models_so_far(self):
        process = self.start("train", "d.svm", "m", "--path", "1e-3:1e3:1000", "--gap", "1e-7")
        self.assertIn(b"loss hinge", process.stderr.readline())
        for _ in range(3):
            self.assertIn(b"cost 0.001", process.stderr.readline())
        process.send_signal(signal.SIGINT)
        run = self.finish(process)
        self.assertEqual(run.code, 130)
        models = self.hinge("info", "m", "--json").json["models"]
        self.assertIn(f"holds the models of {len(models)} of 1000 costs", run.err)
        self.assertTrue(3 <= len(models) < 1000)
        self.hinge("verify", "m", "d.svm")


if __name__ == "__main__":
    support.main()
