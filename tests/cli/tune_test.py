"""tune, and how train -v deals rows out: what is printed, kept and refused."""

import os
import pty
import signal
import time

import support
from support import DATA, TEXT, THREE, CommandCase, to_text


class FoldsTest(CommandCase):
    def test_spread_and_figures(self):
        run = self.hinge("train", "d.svm", "-v", "4")
        self.assertRegex(run.text, r"^cross-validation accuracy \d+\.\d{4} % \(4 folds, 200 rows; "
                                   r"spread over the folds \d+\.\d\d %\)\n$")
        found = self.hinge("train", "d.svm", "-v", "4", "--json").json
        self.assertEqual((found["folds"], len(found["figures"])), (4, 4))
        mean = sum(found["figures"]) / 4
        self.assertClose(mean, found["accuracy"], 0.02)  # folds are of nearly one size
        self.assertClose(found["spread"], (sum((f - mean) ** 2 for f in found["figures"]) / 3) ** 0.5, 1e-12)

    def test_several_costs(self):
        found = self.hinge("train", "d.svm", "-v", "3", "--cost", "0.01,1", "--json").json
        self.assertEqual([cost["cost"] for cost in found["costs"]], [0.01, 1])
        self.assertEqual([model["cost"] for model in found["models"]], [0.01, 1])
        self.assertRegex(self.hinge("train", "d.svm", "-v", "3", "--cost", "0.01,1").text, r"\n +0\.01 .* +-*o-*")

    def test_groups_and_time_order(self):
        self.write("g", "".join(f"shop {i // 10}\n" for i in range(len(DATA))))
        found = self.hinge("train", "d.svm", "-v", "4", "--groups", "g", "--json").json
        self.assertEqual(found["rows"], 200)
        self.assertNotEqual(found["figures"], self.hinge("train", "d.svm", "-v", "4", "--json").json["figures"])
        self.assertEqual(self.hinge("train", "d.svm", "-v", "4", "--time-order", "--json").json["rows"], 160)
        self.write("short", "1\n2\n")
        run = self.hinge("train", "d.svm", "-v", "4", "--groups", "short", code=65)
        self.assertSays(run, r"short: error: 2 lines for 200 rows \[data\.groups\]")

    def test_refused(self):
        self.write("g", "1\n")
        for options, identifier in ((["--groups", "g"], "option"), (["--time-order"], "option"),
                                    (["-v", "3", "--groups", "g", "--time-order"], "option")):
            run = self.hinge("train", "d.svm", *options, code=64)
            self.assertSays(run, rf"hinge.*: error: .* \[usage\.{identifier}\]")

    def test_ctrl_c_keeps_the_folds_that_are_done(self):
        rows = self.hinge("generate", "-", "--like", "dense", "--rows", "20000").out
        self.write("large.svm", rows)
        for command in (["train", "large.svm", "-v", "40", "--gap", "1e-6"],
                        ["tune", "large.svm", "m", "-v", "40", "--gap", "1e-6", "--cost", "1,100"]):
            with self.subTest(command[0]):
                run = self.interrupted(command)
                self.assertEqual(run.code, 130, run)
                if command[0] == "train":
                    self.assertRegex(run.text, r"\(\d+ of 40 folds, \d+ rows")
                    self.assertRegex(run.err, r"hinge: interrupted; \d+ of 40 folds are known")
                else:
                    self.assertRegex(run.text, r"\d+ of 40 folds\n")
                    self.assertRegex(run.err, r"hinge: interrupted; no model written; --cost \d+ was the best so far")
                    self.assertNotIn("m", self.files())

    def interrupted(self, command):
        """Stopped once the line of progress says that some folds are done."""
        ours, its = pty.openpty()
        process = self.start(*command, stderr=its)
        os.close(its)
        seen, deadline = b"", time.monotonic() + 60
        while b"fold 3" not in seen and time.monotonic() < deadline:
            seen += os.read(ours, 4096)
        process.send_signal(signal.SIGINT)
        out = process.stdout.read()
        code = process.wait(30)
        err = b""
        try:
            while some := os.read(ours, 4096):
                err += some
        except OSError:
            pass
        os.close(ours)
        return support.Run(command, code, out, err.replace(b"\r\n", b"\n"))


class TuneTest(CommandCase):
    def test_the_model_is_that_of_the_best_cost(self):
        found = self.hinge("tune", "d.svm", "m", "--cost", "0.001,0.1,10", "--all-folds", "--json").json
        best = max(found["costs"], key=lambda cost: (cost["mean"], -cost["cost"]))
        self.assertEqual(found["cost"], best["cost"])
        self.assertTrue(all(len(cost["figures"]) == 5 for cost in found["costs"]))
        self.hinge("train", "d.svm", "alone", "--cost", str(best["cost"]))
        weights = lambda name: self.hinge("predict", "d.svm", name, "--scores").out
        self.assertEqual(weights("m"), weights("alone"))
        self.hinge("verify", "m", "d.svm")
        self.assertEqual(self.hinge("info", "m", "--json").json["sections"], ["search"])

    def test_table(self):
        run = self.hinge("tune", "d.svm", "m", "--cost", "0.001,0.1,10", "--metric", "auc")
        lines = run.text.splitlines()
        self.assertEqual(lines[0].split(), ["cost", "auc", "spread"])
        self.assertEqual(len(lines), 4)
        self.assertEqual(sum("chosen" in line for line in lines), 1)
        self.assertTrue(all("o" in line[38:70] for line in lines[1:]))
        self.assertSays(run, r"cost [\d.]+: gap .*")

    def test_costs_of_its_own(self):
        found = self.hinge("tune", "d.svm", "m", "--json").json
        self.assertGreater(len(found["costs"]), 4)
        costs = [cost["cost"] for cost in found["costs"]]
        self.assertEqual(costs, sorted(costs))

    def test_metrics(self):
        self.write("t.svm", to_text(THREE))
        for metric, options in (("balanced", []), ("f1", []), ("ap", []), ("logloss", ["--loss", "logistic"])):
            with self.subTest(metric):
                run = self.hinge("tune", "t.svm", "m", "--metric", metric, "--cost", "0.01,1", "--all-folds", "--json", *options)
                sign = -1 if metric == "logloss" else 1
                best = max(run.json["costs"], key=lambda cost: sign * cost["mean"])
                self.assertEqual(run.json["cost"], best["cost"])
        self.write("r.svm", "".join(f"{i / 7} 1:{i} 2:{i * i % 11}\n" for i in range(60)))
        found = self.hinge("tune", "r.svm", "m", "--loss", "squared_epsilon", "--json").json
        self.assertEqual(found["metric"], "rmse")
        self.assertEqual(found["costs"][0]["cost"], 2**-10)

    def test_refused(self):
        for options in (["--metric", "roc"], ["--metric", "rmse"], ["--metric", "logloss"], ["-v", "1"], ["--lambda", "1"],
                        ["--cost", "1", "--path", "1:2:3"]):
            with self.subTest(options):
                self.assertSays(self.hinge("tune", "d.svm", "m", *options, code=64), r"hinge.*: error: .* \[usage\.\w+\]")
        self.hinge("tune", "d.svm", code=64)
        self.hinge("tune", "d.svm", "m.liblinear", code=64)
        self.assertSays(self.hinge("tune", "d.svm", "d.svm", code=64), r".*\[usage\.same-file\]")
        self.write("few.svm", "1 1:1\n-1 1:2\n")
        self.assertSays(self.hinge("tune", "few.svm", "m", code=65), r".*\[data\.folds\]")
        self.assertEqual(self.files(), ["d.svm", "few.svm"])

    def test_columns_of_different_scale_are_named(self):
        self.write("s.svm", "".join(f"{1 - 2 * (i % 2)} 1:{i % 3} 2:{1000 * (i % 5)}\n" for i in range(40)))
        for command in (("train", "s.svm", "m"), ("train", "s.svm", "-v", "2"), ("tune", "s.svm", "m", "--cost", "1")):
            self.assertSays(self.hinge(*command), r".*warning: column 2 reaches 4e\+03, column 1 only 2 \[data\.scale\]")
        self.assertIn("[data.scale]", self.hinge("check", "s.svm").text)
        self.assertNotIn("data.scale", self.hinge("train", "d.svm", "m").err)

    def test_options_reach_every_model(self):
        run = self.hinge("tune", "d.svm", "m", "--cost", "0.01,1", "--loss", "squared_hinge", "--bias", "free", "--class-weight",
                         "balanced", "--json")
        info = self.hinge("info", "m", "--json").json
        self.assertEqual(info["cost"], run.json["cost"])
        self.assertEqual(info["loss"], "squared_hinge")


if __name__ == "__main__":
    support.main()
