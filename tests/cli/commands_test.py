"""The commands beside train: predict, evaluate, verify, info, generate, split, help and explain."""


import support
from support import DATA, TEXT, THREE, Case, CommandCase, ModelFile, parse_text, to_text

EVALUATE_KEYS = set("rows accuracy error precision recall f1 auc average_precision rejected labels confusion".split())
VERIFY_KEYS = {"primal", "dual", "relative_gap", "stored", "agrees"}
STORED_KEYS = {"primal", "dual", "relative_gap"}
INFO_KEYS = {"kind", "rows", "features", "nonzeros", "labels", "index_base", "seconds"}


class PredictTest(CommandCase):
    def setUp(self):
        super().setUp()
        self.hinge("train", "d.svm", "m", "-B", "0.5")

    def test_labels_and_scores(self):
        lines = self.hinge("predict", "d.svm", "m", "--scores").text.splitlines()
        labels = self.hinge("predict", "d.svm", "m").text.splitlines()
        model = ModelFile(self.dir / "m")
        self.assertEqual(len(lines), len(DATA))
        for (_, x), line, label in zip(DATA, lines, labels):
            said, score = line.split()
            self.assertEqual(said, label)
            self.assertEqual(said, "1" if float(score) > 0 else "-1")
            self.assertAlmostEqual(float(score), model.score(x), delta=1e-12)

    def test_accuracy(self):
        run = self.hinge("predict", "d.svm", "m")
        right = sum(int(said) == label for said, (label, _) in zip(run.text.split(), DATA))
        self.assertSays(run, rf"accuracy {100 * right / 200:.4f} % \({right} of 200\)")
        self.assertEqual(self.hinge("predict", "d.svm", "m", "-q").err, "")

    def test_out(self):
        self.hinge("predict", "d.svm", "m", "labels")
        self.assertEqual(self.read("labels"), self.hinge("predict", "d.svm", "m", "-").out)

    def test_standard_input(self):
        run = self.hinge("predict", "-", "m", stdin=TEXT.encode())
        self.assertEqual(run.out, self.hinge("predict", "d.svm", "m").out)

    def test_model_from_standard_input(self):
        run = self.hinge("predict", "d.svm", "-", stdin=self.read("m"))
        self.assertEqual(run.out, self.hinge("predict", "d.svm", "m").out)

    def test_rows_of_a_different_shape(self):
        self.write("e.svm", "1\n-1 10:1\n")
        self.assertEqual(self.hinge("predict", "e.svm", "m").out.count(b"\n"), 2)


class EvaluateTest(CommandCase):
    def test_measures(self):
        self.hinge("train", "d.svm", "m", "-c", "0.01")
        found = self.hinge("evaluate", "d.svm", "m", "--json").json
        self.assertLessEqual(EVALUATE_KEYS, set(found))
        rows = [line.split() for line in self.hinge("predict", "d.svm", "m", "--scores").text.splitlines()]
        truth = [label == 1 for label, _ in DATA]
        said = [label == "1" for label, _ in rows]
        scores = [float(score) for _, score in rows]
        both = sum(t and s for t, s in zip(truth, said))
        precision, recall = both / sum(said), both / sum(truth)
        wins = sum((a > b) + (a == b) / 2 for a, t in zip(scores, truth) if t for b, u in zip(scores, truth) if not u)
        ranked = [t for _, t in sorted(zip(scores, truth), reverse=True)]
        self.assertEqual(len(set(scores)), len(scores))  # no ties, so ranks are plain
        average = sum(sum(ranked[: i + 1]) / (i + 1) for i, t in enumerate(ranked) if t) / sum(truth)
        accuracy = sum(t == s for t, s in zip(truth, said)) / 200
        expected = {"rows": 200, "accuracy": accuracy, "error": 1 - accuracy, "precision": precision,
                    "recall": recall, "f1": 2 * precision * recall / (precision + recall),
                    "auc": wins / (sum(truth) * (200 - sum(truth))), "average_precision": average, "rejected": 0}
        for key, value in expected.items():
            self.assertAlmostEqual(found[key], value, delta=1e-12, msg=key)
        self.assertEqual(found["labels"], ["-1", "1"])
        count = lambda t, s: sum(a == t and b == s for a, b in zip(truth, said))
        self.assertEqual(found["confusion"], [[count(False, False), count(False, True)],
                                              [count(True, False), count(True, True)]])

    def test_several_classes(self):
        self.write("t.svm", to_text(THREE))
        self.hinge("train", "t.svm", "m")
        found = self.hinge("evaluate", "t.svm", "m", "--json").json
        self.assertEqual(found["labels"], ["2", "5", "11"])
        self.assertEqual(sum(map(sum, found["confusion"])), len(THREE))
        self.assertClose(found["accuracy"], sum(found["confusion"][k][k] for k in range(3)) / len(THREE), 1e-12)

    def test_text_standard_input_and_unseen_labels(self):
        self.hinge("train", "d.svm", "m")
        text = self.hinge("evaluate", "d.svm", "m").text
        for word in ("accuracy", "error", "precision", "recall", "F1", "ROC AUC", "average precision"):
            self.assertIn(word, text)
        self.assertEqual(self.hinge("evaluate", "-", "m", stdin=TEXT.encode()).text, text)
        run = self.hinge("evaluate", "-", "m", "--json", stdin=b"1 1:1\n4 1:1\n-1 2:1\n")
        self.assertSays(run, r"hinge: warning: 1 .* 4.* \[data\.label\.unseen\]")
        self.assertEqual(run.json["labels"], ["-1", "1", "4"])
        self.assertGreaterEqual(run.json["error"], 1 / 3 - 1e-12)


class VerifyTest(CommandCase):
    def test_json(self):
        trained = self.train()
        found = self.hinge("verify", "m", "d.svm", "--json").json
        self.assertLessEqual(VERIFY_KEYS, set(found))
        self.assertLessEqual(STORED_KEYS, set(found["stored"]))
        self.assertIs(found["agrees"], True)
        for key in STORED_KEYS:
            self.assertEqual(found["stored"][key], trained[key])
            self.assertClose(found[key], trained[key], 1e-9)

    def test_text(self):
        self.train()
        run = self.hinge("verify", "m", "d.svm")
        self.assertRegex(run.text, "recomputed +primal .*, bound .*, gap .*\nstored +primal .*, bound .*, gap ")
        self.assertEqual(self.hinge("verify", "m", "-", stdin=TEXT.encode()).out, run.out)

    def test_without_witness(self):
        self.train("--no-witness")
        self.assertFalse([name for name in ModelFile(self.dir / "m").arrays if name.startswith("witness")])
        self.assertIn("no bound", self.hinge("verify", "m", "d.svm", code=3).text)
        found = self.hinge("verify", "m", "d.svm", "--json", code=3).json
        self.assertEqual((found["agrees"], found["proved"]), (True, False))
        self.assertIsNone(found["dual"])
        self.assertIsNone(found["relative_gap"])
        proved = self.assertVerifies("--prove", "--gap", "1e-4")
        self.assertLessEqual(proved["dual"], proved["primal"])
        best = self.train("--gap", "1e-8", model="best")
        self.assertLessEqual(proved["dual"], best["primal"])
        self.assertGreaterEqual(proved["dual"], best["dual"] * (1 - 1e-4))

    def test_weights_do_not_depend_on_the_witness(self):
        self.train("--no-witness", model="without")
        self.train(model="with")
        self.assertEqual(ModelFile(self.dir / "without").weights(), ModelFile(self.dir / "with").weights())

    def test_other_data(self):
        self.train()
        lines = TEXT.splitlines(keepends=True)
        others = {
            "a row less": "".join(lines[:-1]),
            "a row more": TEXT + lines[0],
            "other order": "".join(reversed(lines)),
            "one value": TEXT.replace(lines[7], lines[7].replace(":0.", ":0.9", 1), 1),
            "one label": TEXT.replace(lines[7], {"1": "-1", "-1": "1"}[lines[7].split()[0]] + " "
                                      + lines[7].split(" ", 1)[1], 1),
        }
        for name, text in others.items():
            with self.subTest(name):
                self.assertNotEqual(text, TEXT)
                self.write("o.svm", text)
                run = self.hinge("verify", "m", "o.svm", code=65)
                self.assertSays(run, r".*error: .* \[verify\.data\]")
                self.assertEqual(run.out, b"")

    def test_other_weights(self):
        self.write("w", "2\n" * 200)
        self.write("v", "2\n" * 199 + "3\n")
        self.train("--weights", "w")
        self.hinge("verify", "m", "d.svm", "--weights", "w")
        self.assertSays(self.hinge("verify", "m", "d.svm", code=65), r".* \[verify\.data\]")
        self.assertSays(self.hinge("verify", "m", "d.svm", "--weights", "v", code=65), r".* \[verify\.data\]")
        self.train(model="n")
        self.assertSays(self.hinge("verify", "n", "d.svm", "--weights", "w", code=65), r".* \[verify\.data\]")

    def test_the_same_rows_written_differently(self):
        self.train()
        self.write("e.svm", TEXT.replace("\n", " # comment\r\n"))
        self.assertVerifies(data="e.svm")

    def test_class_weights_and_lambda_are_remembered(self):
        self.train("--class-weight", "balanced", "--lambda", "0.003", "-B", "2")
        self.assertVerifies()


class InfoTest(CommandCase):
    def test_data(self):
        found = self.hinge("info", "-n", "2", "d.svm", "--json").json
        self.assertLessEqual(INFO_KEYS, set(found))
        self.assertEqual(found["kind"], "dataset")
        self.assertEqual((found["rows"], found["features"]), (200, 10))
        positive = sum(label == 1 for label, _ in DATA)
        self.assertEqual(found["labels"], {"1": positive, "-1": 200 - positive})
        self.assertIn("load", found["seconds"])

    def test_data_from_standard_input_and_as_text(self):
        self.assertEqual(self.hinge("info", "-", "--json", stdin=TEXT.encode()).json["rows"], 200)
        self.assertRegex(self.hinge("info", "d.svm").text, r"rows +200\n")

    def test_model(self):
        trained = self.train("-c", "3")
        found = self.hinge("info", "m", "--json").json
        self.assertEqual(found["kind"], "model")
        for key in ("classes", "solver", "status", "cost", "primal", "dual", "relative_gap", "features"):
            self.assertEqual(found[key], trained[key], key)
        self.assertRegex(self.hinge("info", "m").text, r"kind +model\n")
        self.assertNotIn("problems", found)

    def test_model_of_several_classes(self):
        self.write("three.svm", to_text(THREE))
        trained = self.hinge("train", "three.svm", "m", "--json").json
        found = self.hinge("info", "m", "--json").json
        self.assertEqual(found["problems"], [{k: p[k] for k in ("class", "primal", "dual", "relative_gap")} for p in trained["problems"]])
        text = self.hinge("info", "m").text
        self.assertRegex(text, r"class +primal +bound +gap")
        for problem in trained["problems"]:
            self.assertRegex(text, rf"\n +{problem['class']} +{problem['primal']:.8g} +{problem['dual']:.8g} +{problem['relative_gap']:.2g} *\n")

    def test_model_that_was_stopped(self):
        """What was learned of every class; of one of which nothing was, that it is never predicted."""
        self.write("three.svm", to_text(THREE))
        run = self.hinge("train", "three.svm", "m", "--json", "--gap", "1e-9", "--max-passes", "1")
        self.assertIn("1e-09 was asked for, which 0 of 3 classes reached [solver.limit]", run.err)
        self.assertIn("0 of 3 classes", run.json["why"])
        self.write("z", "solver_type L2R_L1LOSS_SVC_DUAL\nnr_class 3\nlabel 1 2 3\nnr_feature 1\nbias -1\nw\n-1 0 -2\n")
        self.write("r.svm", "1 1:1\n3 1:-1\n")
        self.hinge("predict", "r.svm", "z", "labels")
        self.assertEqual(self.read("labels").split(), [b"1", b"3"])

    def test_one_class_is_fine_to_look_at(self):
        self.write("o.svm", "1 1:1\n1 1:2\n")
        self.assertEqual(self.hinge("info", "o.svm", "--json").json["labels"], {"1": 2})


class GenerateTest(Case):
    def test_shapes(self):
        shapes = (("ccat", 47236), ("cov1", 54), ("real-sim", 20958), ("news20", 1355191), ("dense", None))
        for like, features in shapes:
            with self.subTest(like=like):
                self.hinge("generate", "g.svm", "--like", like, "--rows", "300")
                found = self.hinge("info", "g.svm", "--json").json
                self.assertEqual(found["rows"], 300)
                self.assertEqual(len(found["labels"]), 2)
                if features:
                    self.assertLessEqual(found["features"], features)
                data = parse_text(self.read("g.svm").decode())
                self.assertEqual(sum(len(x) for _, x in data), found["nonzeros"])
                self.assertTrue(all(list(x) == sorted(x) and all(x.values()) for _, x in data))

    def test_generate_nothing(self):
        for option in ("--rows", "--features"):
            for nothing in ("0", "00"):
                run = self.hinge("generate", "g.svm", option, nothing, code=64)
                self.assertIn("[usage.value]", run.err)
        self.assertNotIn("g.svm", self.files())

    def test_the_same_bytes_for_the_same_options(self):
        def make(*more):
            return self.hinge("generate", "-", "--like", "ccat", "--rows", "500", *more).out

        one = make("--threads", "1")
        self.assertEqual(one.count(b"\n"), 500)
        self.assertEqual(make("--threads", "3"), one)
        self.assertEqual(make("--seed", "1"), one)
        self.assertNotEqual(make("--seed", "2"), one)
        self.hinge("generate", "g.svm", "--like", "ccat", "--rows", "500")
        self.assertEqual(self.read("g.svm"), one)

    def test_it_can_be_learned(self):
        self.hinge("generate", "g.svm", "--like", "ccat", "--rows", "2000")
        self.hinge("split", "g.svm", "train.svm", "test.svm", "--test", "0.25")
        self.hinge("train", "train.svm", "m")
        self.assertGreater(self.hinge("evaluate", "test.svm", "m", "--json").json["accuracy"], 0.7)


class SplitTest(CommandCase):
    def parts(self, *more):
        self.hinge("split", "d.svm", "a", "b", "--force", *more)
        return self.read("a").decode().splitlines(), self.read("b").decode().splitlines()

    def test_every_row_goes_to_one_part_in_its_order(self):
        train, test = self.parts("--test", "0.25")
        place = {line: i for i, line in enumerate(TEXT.splitlines())}
        self.assertEqual(sorted(train + test), sorted(place))
        for part in (train, test):
            order = [place[line] for line in part]
            self.assertEqual(order, sorted(order))

    def test_stratified(self):
        _, test = self.parts("--test", "0.25")
        for label in (1, -1):
            rows = sum(y == label for y, _ in DATA)
            drawn = sum(line.split()[0] == str(label) for line in test)
            self.assertAlmostEqual(drawn, 0.25 * rows, delta=0.5 + 1e-9)

    def test_default_and_seed(self):
        first = self.parts()
        self.assertAlmostEqual(len(first[1]), 20, delta=1)
        self.assertEqual(self.parts("--test", "0.1", "--seed", "1"), first)
        self.assertNotEqual(self.parts("--seed", "2"), first)

    def test_comments_and_missing_newline(self):
        self.write("d.svm", "# head\n" + TEXT[:-1] + " # tail")
        train, test = self.parts()
        self.assertEqual(len(train) + len(test), 200)
        self.assertTrue(self.read("a").endswith(b"\n") and self.read("b").endswith(b"\n"))

    def test_refused(self):
        for arguments in (("d.svm", "d.svm", "b"), ("d.svm", "a", "d.svm"), ("d.svm", "a", "a"), ("d.svm", "a", "./a")):
            with self.subTest(arguments):
                self.assertSays(self.hinge("split", *arguments, code=64), r".*error: .* \[usage\.same-file\]")
        for share in ("0", "1", "-0.1", "nan", "x", "2"):
            with self.subTest(share):
                self.assertSays(self.hinge("split", "d.svm", "a", "b", "--test", share, code=64),
                                r".*error: .* \[usage\.value\]")
        self.write("bad.svm", TEXT + "cat 1:1\n")
        self.assertSays(self.hinge("split", "bad.svm", "a", "b", code=65), r"bad\.svm:201:1: error: .* \[data\.label\]")
        self.assertEqual(self.files(), ["bad.svm", "d.svm"])
        self.assertEqual(self.read("d.svm").decode(), TEXT)


class HelpTest(Case):
    COMMANDS = "train tune predict evaluate verify generate split info explain".split()

    def test_help(self):
        for command in self.COMMANDS:
            with self.subTest(command):
                run = self.hinge(command, "--help")
                self.assertIn("Example: hinge " + command, run.text)
                self.assertEqual(run.err, "")
        overview = self.hinge("--help").text
        for command in self.COMMANDS:
            self.assertIn(command, overview)

    def test_train_help_names_every_option_with_default_and_range(self):
        text = self.hinge("train", "--help").text
        for option in ("--cost", "--lambda", "--gap", "--solver", "--bias", "--class-weight", "--weights", "--threads",
                       "--time-limit", "--max-passes", "--precision", "--index-base", "--strict", "--reject",
                       "--no-witness", "--diagnostics", "--seed", "--trace", "--require-converged", "--quiet",
                       "--json"):
            self.assertIn(option, text)
        self.assertIn("default 0.001", text)
        self.assertIn("finite number > 0", text)

    def test_version(self):
        self.assertRegex(self.hinge("--version").text, r"^hinge \d+\.\d+\.\d+\n$")

    def test_no_escape_sequences(self):
        self.assertNotIn("\x1b", self.hinge("--help").text + self.hinge("train", "no-such-file", code=66).err)

    def test_explain(self):
        listed = {}
        for line in self.hinge("explain").text.splitlines():
            identifier, code, _ = line.split(None, 2)
            listed[identifier] = int(code)
        self.assertGreater(len(listed), 30)
        self.assertEqual(listed["data.value.nonfinite"], 65)
        for identifier, code in listed.items():
            with self.subTest(identifier):
                text = self.hinge("explain", identifier).text
                self.assertGreaterEqual(len(text.splitlines()), 3, text)  # id and code, meaning, remedy
                self.assertTrue(text.startswith(identifier))
                self.assertIn("warning" if code == 0 else str(code), text.splitlines()[0])

    def test_explain_what_is_not_there(self):
        run = self.hinge("explain", "data.value.nan", code=64)
        self.assertIn("data.value.nonfinite", run.err)
        self.hinge("explain", "\x1b[31m", code=64)


if __name__ == "__main__":
    support.main()
