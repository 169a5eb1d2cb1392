"""`hinge compare`: the table, the JSON, the figure, and how it ends."""

import json
import signal
import subprocess
import xml.etree.ElementTree as xml

import support
from support import THREE, CommandCase, SIGNALS, cpu_seconds, make_rows, to_text, unprivileged, waiting

KEYS = {"data", "rows", "features", "nonzeros", "classes", "cost", "gap", "threads", "runs"}
RUN_KEYS = set("solver status seconds data_passes rows_touched iterations primal dual relative_gap objective_rows "
               "search_rows objective_seconds search_seconds mean_active mean_search relative_to_ocas trace".split())
RATIO_KEYS = set("seconds iterations mean_active mean_search objective_seconds search_seconds".split())
COLUMNS = ["solver", "status", "seconds", "slower", "passes", "iterations", "gap", "primal", "active %", "search %"]
SVG = "{http://www.w3.org/2000/svg}"
BOTH = ("--solvers", "dual,pegasos", "--cost", "0.1", "--gap", "0.01")  # soon done by either


class CompareCase(CommandCase):
    def compare(self, *arguments, **how):
        return self.hinge("compare", "d.svm", *arguments, **how)

    def figure(self, name="f.svg"):
        """The panels of the figure: {name: points of each line}."""
        root = xml.fromstring(self.read(name))
        self.assertEqual(root.tag, SVG + "svg")
        panels = {}
        for panel in root.iter(SVG + "g"):
            if panel.get("id") != "legend":
                panels[panel.get("id")] = [[tuple(map(float, p.split(","))) for p in line.get("points").split()]
                                           for line in panel.iter(SVG + "polyline")]
        return root, panels


class CompareTest(CompareCase):
    def test_json(self):
        run = self.compare("--json", *BOTH)
        self.assertEqual(run.out.count(b"\n"), 1)
        found = run.json
        self.assertLessEqual(KEYS, set(found))
        self.assertEqual((found["data"], found["cost"], found["gap"], found["rows"]), ("d.svm", 0.1, 0.01, 200))
        self.assertEqual([r["solver"] for r in found["runs"]], ["dual", "pegasos"])
        for r in found["runs"]:
            self.assertLessEqual(RUN_KEYS, set(r))
            self.assertEqual(r["status"], "converged")
            self.assertLessEqual(r["relative_gap"], 0.01)
            self.assertClose(r["relative_gap"], (r["primal"] - r["dual"]) / r["primal"], 1e-9)
            self.assertClose(r["data_passes"], r["rows_touched"] / 200, 1e-12)
            self.assertGreater(r["seconds"], 0)
            self.assertEqual(r["objective_rows"], 0)  # neither is a cutting plane method
            self.assertIsNone(r["mean_active"])
            self.assertIsNone(r["mean_search"])
            self.assertIsNone(r["relative_to_ocas"])  # which did not run

    def test_runs_are_those_of_train(self):
        for r in self.compare("--json", *BOTH).json["runs"]:
            alone = self.train("--solver", r["solver"], *BOTH[2:], "--trace", "t", model="m-" + r["solver"])
            for key in ("primal", "dual", "iterations", "rows_touched", "data_passes", "status"):
                self.assertEqual(r[key], alone[key])
            lines = [json.loads(line) for line in self.read("t").splitlines()]
            self.assertEqual(len(r["trace"]), len(lines))
            for ours, theirs in zip(r["trace"], lines):
                self.assertEqual(list(ours), list(theirs))
                self.assertEqual({k: v for k, v in ours.items() if "seconds" not in k},
                                 {k: v for k, v in theirs.items() if "seconds" not in k})

    def test_traces_are_monotone(self):
        for r in self.compare("--json", *BOTH).json["runs"]:
            self.assertGreater(len(r["trace"]), 0)
            for before, after in zip(r["trace"], r["trace"][1:]):
                for key in ("seconds", "iteration", "data_passes", "dual"):
                    self.assertLessEqual(before[key], after[key])
                self.assertGreaterEqual(before["primal"], after["primal"])
            self.assertLessEqual(r["trace"][-1]["seconds"], r["seconds"] + 1e-3)

    def test_table(self):
        run = self.compare(*BOTH)
        head, *rows, verdict = run.text.splitlines()
        self.assertEqual(head.split("  ")[0].strip(), "solver")
        self.assertEqual([c.strip() for c in head.split("  ") if c.strip()], COLUMNS)
        self.assertEqual([r.split()[:2] for r in rows], [["dual", "converged"], ["pegasos", "converged"]])
        self.assertEqual({len(r) for r in rows}, {len(head)})  # aligned
        self.assertIn("1.00", [r.split()[3] for r in rows])
        self.assertRegex(verdict, r"^(dual|pegasos) was first to gap 0\.01: \S+ s, \S+ passes")
        self.assertEqual(run.err, "")

    def test_table_of_one(self):
        head, row, verdict = self.compare("--solvers", "dual").text.splitlines()
        self.assertRegex(verdict, r"^dual reached gap 0\.001: \S+ s, \S+ passes$")

    def test_limit(self):
        run = self.compare("--solvers", "pegasos,dual", "--max-passes", "1", "--gap", "1e-9")
        rows = run.text.splitlines()[1:-1]
        self.assertEqual([r.split()[:2] + r.split()[3:4] for r in rows],
                         [["pegasos", "limit", "-"], ["dual", "limit", "-"]])
        self.assertRegex(run.text.splitlines()[-1], r"^none reached gap 1e-09; \w+ came closest: \S+ after \S+ s$")
        for name in ("pegasos", "dual"):
            self.assertSays(run, rf"hinge: warning: {name}: stopped by a limit .* \[solver\.limit\]")
        self.assertEqual(self.compare("--max-passes", "1", "--gap", "1e-9", "-q").err, "")
        self.assertEqual(self.compare("--time-limit", "0", "--json").json["runs"][0]["status"], "limit")

    def test_warnings_about_the_data_come_once(self):
        run = self.compare(*BOTH, "--class-weight", "7=2")
        self.assertEqual(run.err.count("[usage.class-weight]"), 1)

    def test_options_of_training(self):
        self.write("w", "2\n" * 200)
        for options in (["--lambda", "0.01"], ["-c", "0.5", "-B", "1"], ["-w1", "2"], ["--weights", "w"], ["-n", "1"],
                        ["--precision", "f64"], ["-e", "1"], ["--seed", "3"], ["--batch", "5"], ["--cpu", "scalar"]):
            gap = [] if "-e" in options else ["--gap", "0.1"]
            found = self.compare("--solvers", "dual,pegasos", *gap, *options, "--json").json
            self.assertEqual([r["status"] for r in found["runs"]], ["converged"] * 2, options)
        found = self.compare("--lambda", "0.01", "--gap", "0.1", "--json").json
        self.assertClose(found["cost"], 0.5, 1e-14)

    def test_other_goals(self):
        run = self.compare("--solvers", "dual,pegasos,active", "--gap-per-row", "0.02", "--json", "--svg", "f.svg").json
        self.assertEqual(run["goals"], {"gap_per_row": 0.02})
        self.assertEqual(run["gap"], 0)
        for r in run["runs"]:
            self.assertEqual(r["status"], "converged")
            self.assertLessEqual((r["primal"] - r["dual"]) / 200, 0.02)
        last = self.compare("--solvers", "dual", "--gap-absolute", "4", "--target", "7").text.splitlines()[-1]
        self.assertRegex(last, r"^dual reached a primal within 4 of the bound, or a primal of 7: \S+ s, \S+ passes$")
        last = self.compare("--solvers", "dual", "--target", "1e-3").text.splitlines()[-1]
        self.assertRegex(last, r"^none reached a primal of 0\.001; dual came closest: gap \S+ after \S+ s$")

    def test_mistakes_end_where_no_goal_was_named(self):
        runs = self.compare("--solvers", "pegasos,dual", "--update", "mistake", "--json").json["runs"]
        self.assertEqual([r["status"] for r in runs], ["limit", "converged"])
        self.compare("--solvers", "pegasos", "--update", "mistake", "--gap", "0.1", code=64)

    def test_from_standard_input(self):
        run = self.hinge("compare", "-", *BOTH, "--json", stdin=self.read("d.svm"))
        self.assertEqual(run.json["data"], "-")

    def test_several_classes(self):
        self.write("t.svm", to_text(THREE))
        found = self.hinge("compare", "t.svm", "--json", *BOTH, "--svg", "f.svg").json
        self.assertEqual(found["classes"], 3)
        for r in found["runs"]:
            self.assertEqual({t["problem"] for t in r["trace"]}, {0, 1, 2})
            last = {t["problem"]: t["relative_gap"] for t in r["trace"]}
            self.assertClose(max(last.values()), r["relative_gap"], 1e-6)
        _, panels = self.figure()
        self.assertEqual([len(lines) for lines in panels.values()], [2, 2])


class OcasTest(CompareCase):
    def test_relative_to_ocas(self):
        ocas, dual = self.compare("--solvers", "ocas,dual", "--json").json["runs"]
        self.assertEqual(set(ocas["relative_to_ocas"]), RATIO_KEYS)
        self.assertEqual({ocas["relative_to_ocas"][k] for k in ("seconds", "iterations", "mean_active")}, {1})
        self.assertClose(ocas["mean_active"], ocas["objective_rows"] / ocas["iterations"], 1e-12)
        self.assertIsNone(dual["relative_to_ocas"]["mean_active"])
        self.assertClose(dual["relative_to_ocas"]["seconds"], dual["seconds"] / ocas["seconds"], 1e-12)
        self.assertIn("relative to ocas", self.compare("--solvers", "ocas,dual").text)


class FigureTest(CompareCase):
    def test_one_line_a_solver_and_panel(self):
        for solvers in ("dual", "pegasos,dual"):
            self.compare("--svg", "f.svg", *BOTH[2:], "--solvers", solvers)
            root, panels = self.figure()
            self.assertEqual(list(panels), ["seconds", "passes"])
            for lines in panels.values():
                self.assertEqual(len(lines), len(solvers.split(",")))
                for points in lines:
                    self.assertEqual(points, sorted(points))  # to the right
                    heights = [y for _, y in points]
                    self.assertEqual(heights, sorted(heights))  # and down
            words = ["".join(t.itertext()) for t in root.iter(SVG + "text")]
            for word in (*solvers.split(","), "d.svm", "seconds of training", "passes over the data",
                         "gap asked for: 0.01", "200 rows, 10 features, C = 0.1"):
                self.assertTrue(any(word in w for w in words), word)

    def test_needs_nothing_from_outside(self):
        self.compare("--svg", "f.svg", *BOTH)
        text = self.read("f.svg").decode("ascii")
        for word in ("href", "url(", "<script", "<style", "@import"):
            self.assertNotIn(word, text)

    def test_names_are_escaped(self):
        self.write("<&>\x01.svm", self.read("d.svm"))
        run = self.hinge("compare", "<&>\x01.svm", *BOTH, "--svg", "f.svg", "--json")
        self.assertEqual(run.json["data"], "<&>\\x01.svm")
        root, _ = self.figure()
        self.assertIn("<&>\\x01.svm", "".join(root.itertext()))

    def test_to_standard_output(self):
        run = self.compare("--svg", "-", *BOTH)
        self.assertEqual(xml.fromstring(run.out).tag, SVG + "svg")
        self.assertIn("was first to gap 0.01", run.lines[-1])  # the table is on stderr

    def test_not_both_on_standard_output(self):
        run = self.compare("--svg", "-", "--json", code=64)
        self.assertSays(run, r"hinge compare: error: --json needs standard output .* \[usage\.option\]")

    def test_cannot_be_written(self):
        for name, code in (("no/f.svg", 73), (".", 73), ("d.svm", 64)):
            run = self.compare("--svg", name, *BOTH, code=code)
            self.assertEqual(run.out, b"")  # known before any work
        (self.dir / "closed").mkdir(mode=0o555)
        self.compare("--svg", "closed/f.svg", *BOTH, code=77, **unprivileged(self))
        self.assertEqual(self.files(), ["closed", "d.svm"])

    def test_full_disk_leaves_the_table(self):
        run = self.compare("--svg", "/dev/full", *BOTH, code=74)
        self.assertIn("was first to", run.text)
        self.assertEqual(run.lines[-1], "hinge: 1 error; the figure was not written")


class UsageTest(CompareCase):
    def refused(self, *arguments, says):
        run = self.compare(*arguments, code=64)
        self.assertEqual(len(run.lines), 2, run)
        self.assertRegex(run.lines[0], rf"^hinge compare: error: .*{says}.* \[usage\.(value|option)\]$")
        self.assertEqual(run.out, b"")

    def test_solvers(self):
        self.refused("--solvers", "dula", says=r'--solvers: expected one of auto, dual.*"dula"; did you mean dual\?')
        self.refused("--solvers", "dual,", says='--solvers: expected one of .*got ""')
        self.refused("--solvers", "", says="--solvers: expected")
        self.refused("--solvers", "dual,dual", says="--solvers: dual is there twice")
        self.refused("--solvers", "auto,dual,auto", says="--solvers: auto is there twice")
        self.refused("--solvers", "dual,2", says="LIBLINEAR's -s 2 is")
        self.refused("--solvers", "dual", "--solvers", "pegasos", says="--solvers")

    def test_other_options(self):
        self.refused("--gap", "0", says="--gap: expected")
        self.refused("--gap", "0.1", "-e", "1", says="excludes")
        self.refused("--cost", "1", "--lambda", "1", says="excludes")
        self.refused("--solver", "dual", "-x", says=r"-x|--solver")
        self.refused("--solvers", "dual", "--epochs", "3",
                     says="--epochs: it belongs to pegasos, not among --solvers")
        self.refused("--solvers", "dual,pegasos", "--kernel", "rbf", says="dual takes no kernels")

    def test_bad_data(self):
        self.write("bad.svm", "1 1:x\n")
        run = self.hinge("compare", "bad.svm", code=65)
        self.assertEqual(run.lines[-1], "hinge: 1 error; nothing compared")
        self.write("one.svm", "1 1:1\n1 1:2\n")
        self.hinge("compare", "one.svm", code=65)
        self.hinge("compare", "none.svm", code=66)

    def test_a_failure_keeps_the_runs_before_it(self):
        run = self.compare("--solvers", "dual,pegasos", "--batch", "1000", "--json", code=64)
        self.assertEqual([r["solver"] for r in run.json["runs"]], ["dual"])
        self.assertEqual(run.lines[-1], "hinge: 1 error; 1 of 2 solvers have a result")


class InterruptTest(CompareCase):
    def setUp(self):
        super().setUp()
        self.write("hard.svm", to_text(make_rows(300, 20, noise=1)))

    def test_ends_with_what_there_is(self):
        for number, code in SIGNALS.items():
            with self.subTest(number.name):
                process = self.start("compare", "hard.svm", "--solvers", "dual,pegasos", "-c", "1e9", "--gap", "1e-15",
                                     "--json", "--svg", "f.svg")
                self.wait(lambda: cpu_seconds(process) > 0.3, process, "it has raced for a while")
                process.send_signal(number)
                run = self.finish(process)
                self.assertEqual(run.code, code, run)
                self.assertEqual([(r["solver"], r["status"]) for r in run.json["runs"]], [("dual", "interrupted")])
                self.assertEqual(run.lines[-1], "hinge: interrupted; 1 of 2 solvers have a result")
                _, panels = self.figure()
                self.assertEqual([len(lines) for lines in panels.values()], [1, 1])

    def test_while_reading(self):
        process = self.start("compare", "-", stdin=subprocess.PIPE)
        process.stdin.write(self.read("d.svm"))
        process.stdin.flush()
        self.wait(lambda: waiting(process), process, "it waits for more input")
        process.send_signal(signal.SIGINT)
        run = self.finish(process)
        self.assertEqual(run.code, 130, run)
        self.assertEqual(run.out, b"")


if __name__ == "__main__":
    support.main()
