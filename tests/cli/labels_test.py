"""Rows labelled with names of classes, or with real targets: all commands, on binary data sets made here."""

import array
import json

from support import Container, ErrorCase, main

ROWS = [("cat", {1: 1.0, 2: 0.5}), ("dog", {1: -1.0, 2: 2.0}), ("cat", {1: 2.0, 3: 1.0}), ("dog", {2: 1.0, 3: -1.0}),
        ("a bird", {3: 3.0}), ("cat", {1: 1.5}), ("dog", {1: -0.5, 2: 1.0}), ("a bird", {3: 2.0, 2: 0.1})]


def data_set(rows, names=None):
    """A binary data set: of names, or, without a list of them, of real targets."""
    file = Container.__new__(Container)
    file.metadata = {"format": "hinge.dataset", "version": "3", "written_by": "hinge 0.1.0", "features": "3", "index_base": "1"}
    file.shapes = {}
    offsets, columns, values = [0], [], []
    for _, x in rows:
        for column in sorted(x):
            columns.append(column - 1)
            values.append(x[column])
        offsets.append(len(columns))
    arrays = {"offsets": ("U64", offsets)}
    if names is None:
        arrays["targets"] = ("F64", [label for label, _ in rows])
    else:
        encoded = [name.encode() for name in names]
        arrays["labels"] = ("I64", [names.index(label) for label, _ in rows])
        arrays["names.ends"] = ("U64", [sum(map(len, encoded[:k + 1])) for k in range(len(names))])
    arrays["columns"] = ("U32", columns)
    arrays["values"] = ("F32", values)
    if names is not None:
        arrays["names"] = ("U8", b"".join(encoded))
    letters = {"U8": "B", "U32": "I", "U64": "Q", "I64": "q", "F32": "f", "F64": "d"}
    file.arrays = {name: array.array(letters[kind], values) for name, (kind, values) in arrays.items()}
    file.types = {name: kind for name, (kind, _) in arrays.items()}
    return file.to_bytes()


NAMES = ["a bird", "cat", "dog"]


class NamedClasses(ErrorCase):
    def setUp(self):
        super().setUp()
        self.write("d.hinge", data_set(ROWS, NAMES))

    def test_the_whole_way(self):
        found = self.hinge("train", "d.hinge", "m", "--json", "--gap", "1e-6").json
        self.assertEqual(found["classes"], NAMES)
        self.assertEqual([problem["class"] for problem in found["problems"]], NAMES)
        said = self.hinge("predict", "d.hinge", "m", "p").err
        self.assertIn("accuracy 100.0000 % (8 of 8)", said)
        expected = "".join('"a bird"\n' if label == "a bird" else label + "\n" for label, _ in ROWS)
        self.assertEqual(self.read("p").decode(), expected)
        metrics = self.hinge("evaluate", "d.hinge", "m", "--json").json
        self.assertEqual((metrics["accuracy"], metrics["labels"]), (1, NAMES))
        self.assertRegex(self.hinge("evaluate", "d.hinge", "m").text, r"true \\ said +a bird +cat +dog\n +a bird +2 +0 +0\n")
        self.assertTrue(self.hinge("verify", "m", "d.hinge", "--json").json["proved"])
        self.assertEqual(self.hinge("info", "m", "--json").json["classes"], NAMES)
        self.assertIn("a bird", self.hinge("info", "m").text)
        self.assertEqual(self.hinge("info", "d.hinge", "--json").json["labels"], {"a bird": 2, "cat": 3, "dog": 3})
        self.assertEqual(self.hinge("check", "d.hinge", "--json").json["labels"], {"a bird": 2, "cat": 3, "dog": 3})
        self.hinge("train", "d.hinge", "-v", "2")
        self.hinge("compare", "d.hinge", "--solvers", "dual", "--json")

    def test_probabilities(self):
        self.hinge("train", "d.hinge", "m", "--loss", "logistic")
        for _ in range(2):  # and over what it was
            self.hinge("predict", "d.hinge", "m", "p", "-b", "1")
        lines = self.read("p").decode().splitlines()
        self.assertEqual(lines[0], 'labels "a bird" cat dog')
        for line, (label, _) in zip(lines[1:], ROWS):
            likely = [float(word) for word in line.split()[-3:]]
            self.assertEqual(NAMES[likely.index(max(likely))], label)

    def test_two_classes(self):
        rows = [(label, x) for label, x in ROWS if label != "a bird"]
        self.write("two.hinge", data_set(rows, ["dog", "cat"]))  # in whatever order
        self.hinge("train", "two.hinge", "m")
        self.assertEqual(self.hinge("predict", "two.hinge", "m", "-").text, "".join(f"{label}\n" for label, _ in rows))
        self.assertEqual(self.hinge("predict", "d.hinge", "m", "-", "--scores").text.split()[0], "cat")

    def test_predictions_replace_predictions_only(self):
        self.hinge("train", "d.hinge", "m")
        for options in ([], ["--scores"], []):
            self.hinge("predict", "d.hinge", "m", "p", *options)
        for other in ("cat\nfish\n", "a list of names\n", "cat 7 x\n", "1 1:1\n"):
            self.write("p", other)
            self.assertIn("[io.replace]", self.hinge("predict", "d.hinge", "m", "p", code=73).err)
            self.assertEqual(self.read("p").decode(), other)
        self.hinge("predict", "d.hinge", "m", "p", "--force")
        self.write("p", "cat\n")
        self.assertIn("[io.replace]", self.hinge("predict", "d.hinge", "none", "p", code=73).err)

    def test_data_that_counts_its_classes_otherwise(self):
        self.hinge("train", "d.hinge", "m")
        self.write("other.hinge", data_set([("emu", ROWS[0][1]), *ROWS[1:4]], ["emu", "dog", "cat"]))
        run = self.hinge("predict", "other.hinge", "m", "-")
        self.assertEqual(run.text, "cat\ndog\ncat\ndog\n")
        self.assertIn("accuracy 75.0000 % (3 of 4)", run.err)
        self.assertIn("1 rows have labels the model does not know: emu [data.label.unseen]", run.err)
        metrics = self.hinge("evaluate", "other.hinge", "m", "--json").json
        self.assertEqual((metrics["accuracy"], metrics["labels"]), (0.75, [*NAMES, "emu"]))
        self.assertIn("[verify.data]", self.hinge("verify", "m", "other.hinge", code=65).err)

    def test_numbers_are_no_names(self):
        self.hinge("train", "d.hinge", "m")
        self.write("d.svm", "1 1:1\n-1 2:1\n")
        self.hinge("train", "d.svm", "n")
        for command, data, model in (("predict", "d.svm", "m"), ("evaluate", "d.svm", "m"), ("predict", "d.hinge", "n"),
                                     ("evaluate", "d.hinge", "n")):
            run = self.hinge(command, data, model, code=65)
            self.assertSays(run, rf"{data}: error: the labels are .*, expected .* \[data\.label\.kind\]")
        self.hinge("predict", "d.svm", "m", "-", "--no-labels", code=65)  # text that has labels
        self.write("x.svm", "1:1\n2:1\n")
        self.assertEqual(self.hinge("predict", "x.svm", "m", "-", "--no-labels").text, "cat\ndog\n")
        self.assertEqual(len(self.hinge("predict", "d.hinge", "n", "-", "--no-labels").text.splitlines()), 8)

    def test_convert(self):
        self.hinge("train", "d.hinge", "m")
        self.hinge("convert", "m", "again")
        self.assertEqual(self.read("again"), self.read("m"))
        run = self.hinge("convert", "m", "m.liblinear", code=64)
        self.assertIn("its classes have names", run.err)
        self.assertIn("[model.format]", self.hinge("train", "d.hinge", "x.liblinear", code=64).err)
        self.hinge("convert", "d.hinge", "again.hinge")
        self.assertEqual(self.hinge("info", "again.hinge", "--json").json["labels"], {"a bird": 2, "cat": 3, "dog": 3})
        self.assertIn("names of classes", self.hinge("convert", "d.hinge", "d.svm", code=64).err)
        self.assertEqual({"m.liblinear", "x.liblinear", "d.svm"} & set(self.files()), set())

    def test_class_weights(self):
        self.hinge("train", "d.hinge", "m", "--class-weight", "balanced")
        self.assertTrue(self.hinge("verify", "m", "d.hinge", "--json").json["agrees"])
        for options in (["--class-weight", "1=2"], ["-w1", "2"], ["-v", "2", "-w1", "2"]):
            self.assertIn("--class-weight", self.hinge("train", "d.hinge", "m", *options, code=64).err)

    def test_escapes(self):
        self.write("d.hinge", data_set([("caf\u00e9", x) if label == "cat" else ("dog", x) for label, x in ROWS],
                                       ["caf\u00e9", "dog"]))
        self.hinge("train", "d.hinge", "m")
        self.assertIn("caf\u00e9\n", self.hinge("predict", "d.hinge", "m", "-").text)
        self.assertIn(r"caf\xc3\xa9", self.hinge("evaluate", "d.hinge", "m").text)
        self.assertEqual(self.hinge("info", "m", "--json").json["classes"], ["dog", "caf\u00e9"])


class RealTargets(ErrorCase):
    def setUp(self):
        super().setUp()
        self.write("d.hinge", data_set([(k / 4 - 0.5, x) for k, (_, x) in enumerate(ROWS)]))

    def test_are_not_trained_on(self):
        for arguments in (["m"], ["m", "--solver", "pegasos"], ["-v", "2"]):
            run = self.hinge("train", "d.hinge", *arguments, code=65)
            self.assertIn("d.hinge: error: the labels are real targets (row 1: -0.5); expected classes", run.err)
            self.assertIn("[data.label.kind]", run.err)
        self.assertIn("[data.label.kind]", self.hinge("compare", "d.hinge", code=65).err)
        self.assertExplained("data.label.kind")

    def test_are_told_and_written(self):
        found = self.hinge("info", "d.hinge", "--json").json
        self.assertEqual(found["targets"], {"least": -0.5, "most": 1.25})
        self.assertNotIn("labels", found)
        self.hinge("info", "d.hinge")
        self.assertEqual(self.hinge("check", "d.hinge", "--json").json["rows"], 8)
        self.hinge("convert", "d.hinge", "d.svm")
        self.assertEqual(self.read("d.svm").decode().splitlines()[0], "-0.5 1:1 2:0.5")
        self.assertIn("[data.label.not-integer]", self.hinge("info", "d.svm", code=65).err)
        self.hinge("convert", "d.hinge", "again.hinge")
        self.assertEqual(self.hinge("info", "again.hinge", "--json").json["targets"], found["targets"])

    def test_rows_are_predicted_without_them(self):
        self.write("n.svm", "1 1:1\n-1 2:1\n")
        self.hinge("train", "n.svm", "m")
        self.assertIn("[data.label.kind]", self.hinge("predict", "d.hinge", "m", "-", code=65).err)
        self.assertIn("[data.label.kind]", self.hinge("evaluate", "d.hinge", "m", code=65).err)
        self.assertEqual(len(self.hinge("predict", "d.hinge", "m", "-", "--no-labels").text.splitlines()), 8)


class Sections(ErrorCase):
    def test_are_listed_carried_along_or_refused(self):
        self.write("d.svm", "1 1:1\n-1 2:1\n")
        self.hinge("train", "d.svm", "m")
        self.assertNotIn("sections", self.hinge("info", "m", "--json").json)
        file = Container(self.read("m"))
        file.metadata |= {"version": "3", "section.lanes": "{}",
                          "sections": json.dumps([{"name": "lanes", "affects_predictions": False}])}
        self.write("s", file.to_bytes())
        self.assertEqual(self.hinge("info", "s", "--json").json["sections"], ["lanes"])
        self.assertIn('["lanes"]', self.hinge("info", "s").text)
        self.hinge("convert", "s", "again")
        self.assertEqual(self.hinge("info", "again", "--json").json["sections"], ["lanes"])
        self.hinge("convert", "again", "once_more")
        self.assertEqual(self.read("again"), self.read("once_more"))
        self.assertEqual(self.hinge("predict", "d.svm", "s", "-").text, "1\n-1\n")
        self.hinge("convert", "s", "s.liblinear")
        file.metadata["sections"] = json.dumps([{"name": "lanes", "affects_predictions": True}])
        self.write("s", file.to_bytes())
        run = self.hinge("predict", "d.svm", "s", "-", code=80)
        self.assertSays(run, r's: error: written by hinge 0\.1\.0: section "lanes" changes predictions.*\[model\.section\]')
        self.assertExplained("model.section")


if __name__ == "__main__":
    main()
