"""evaluate and the tables of predict: what is printed, in which form, and where it fits."""

import csv
import fcntl
import io
import json
import os
import pty
import struct
import subprocess
import termios

import support
from support import DATA, TEXT, THREE, CommandCase, to_text


class TextTest(CommandCase):
    def setUp(self):
        super().setUp()
        self.write("t.svm", to_text(THREE))
        self.hinge("train", "t.svm", "three")
        self.hinge("train", "d.svm", "m", "--loss", "logistic")

    def test_a_line_a_class(self):
        found = self.hinge("evaluate", "t.svm", "three", "--json").json
        lines = [line.split() for line in self.hinge("evaluate", "t.svm", "three").text.splitlines()]
        for one in found["classes"]:
            row = next(line for line in lines if line[:1] == [one["label"]] and len(line) == 7)
            self.assertEqual(int(row[-1]), one["rows"])
            self.assertClose(float(row[3]), one["f1"], 1e-5)
        mean = next(line for line in lines if line[:1] == ["weighted"])
        self.assertClose(float(mean[2]), found["accuracy"], 1e-5)

    def test_not_defined(self):
        positive = "".join(line + "\n" for line in TEXT.splitlines() if line.startswith("1 "))
        run = self.hinge("evaluate", "-", "m", "--json", stdin=positive.encode())
        self.assertIsNone(run.json["auc"])
        self.assertIsNone(run.json["classes"][0]["recall"])
        self.assertIn("ROC AUC            n/a\n", self.hinge("evaluate", "-", "m", stdin=positive.encode()).text)

    def test_probabilities(self):
        for model, there in (("m", True), ("three", False)):
            data = "d.svm" if there else "t.svm"
            self.assertEqual("log_loss" in self.hinge("evaluate", data, model, "--json").json, there)
            self.assertEqual("Brier score" in self.hinge("evaluate", data, model).text, there)

    def test_rejected_rows_are_a_column(self):
        self.hinge("train", "t.svm", "r", "--reject", "-c", "1e-4")
        found = self.hinge("evaluate", "t.svm", "r", "--json").json
        self.assertGreater(found["rejected"], 0)
        self.assertEqual(sum(one["rejected"] for one in found["classes"]), found["rejected"])
        text = self.hinge("evaluate", "t.svm", "r").text
        self.assertRegex(text, r"true \\ said +2 +5 +11 +none\n")

    def test_confusion_fits_the_terminal(self):
        many = "".join(f"{1000000 + i % 14} {1 + i % 14}:1 20:{1 + i % 3}\n" for i in range(280))
        self.write("many.svm", many)
        self.hinge("train", "many.svm", "many")
        wide, narrow = self.on_terminal(200), self.on_terminal(80)
        self.assertIn("true \\ said", wide)
        self.assertNotIn("true \\ said", narrow)
        self.assertIn("the confusion matrix is in --json", narrow)
        self.assertLessEqual(max(map(len, narrow.splitlines())), 80)
        self.assertEqual(self.hinge("evaluate", "many.svm", "many").text, narrow)  # no terminal: 80

    def on_terminal(self, columns):
        ours, its = pty.openpty()
        fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        done = subprocess.Popen([support.PROGRAM, "evaluate", "many.svm", "many"], cwd=self.dir, stdout=its, stdin=subprocess.DEVNULL)
        os.close(its)
        text = b""
        while True:
            try:
                some = os.read(ours, 65536)
            except OSError:
                break
            if not some:
                break
            text += some
        os.close(ours)
        self.assertEqual(done.wait(20), 0)
        return text.decode().replace("\r\n", "\n")


class CurveTest(CommandCase):
    def setUp(self):
        super().setUp()
        self.hinge("train", "d.svm", "m", "--loss", "logistic")

    def test_csv(self):
        self.hinge("evaluate", "d.svm", "m", "--curve", "c.csv")
        rows = list(csv.DictReader(io.StringIO(self.read("c.csv").decode())))
        self.assertEqual({row["curve"] for row in rows}, {"roc", "precision_recall", "calibration"})
        roc = [(float(row["x"]), float(row["y"])) for row in rows if row["curve"] == "roc"]
        self.assertEqual((roc[0], roc[-1]), ((0, 0), (1, 1)))
        area = sum((b[0] - a[0]) * (a[1] + b[1]) / 2 for a, b in zip(roc, roc[1:]))
        self.assertClose(area, self.hinge("evaluate", "d.svm", "m", "--json").json["auc"], 1e-12)
        self.assertEqual(sum(int(row["rows"]) for row in rows if row["curve"] == "calibration"), len(DATA))
        self.hinge("evaluate", "d.svm", "m", "--curve", "c.csv")  # its own kind is replaced

    def test_svg(self):
        self.hinge("evaluate", "d.svm", "m", "--curve", "c.svg")
        text = self.read("c.svg").decode("ascii")
        self.assertEqual(text.count("<polyline"), 3)
        import xml.etree.ElementTree

        xml.etree.ElementTree.fromstring(text)

    def test_refused(self):
        run = self.hinge("evaluate", "d.svm", "m", "--curve", "d.svm", code=64)
        self.assertSays(run, r".*\[usage\.same-file\]")
        self.write("r.svm", "1.5 1:1\n2.5 2:1\n3 1:2\n")
        self.hinge("train", "r.svm", "r", "--loss", "epsilon_insensitive")
        run = self.hinge("evaluate", "r.svm", "r", "--curve", "c.csv", code=64)
        self.assertSays(run, r"hinge: error: curves are of classes, and this is regression \[usage\.value\]")
        self.assertNotIn("c.csv", self.files())


class TableTest(CommandCase):
    def test_csv_and_json_say_what_the_lines_do(self):
        self.write("t.svm", to_text(THREE))
        for data, options in (("d.svm", []), ("d.svm", ["--loss", "logistic"]), ("t.svm", []), ("t.svm", ["--loss", "logistic"])):
            with self.subTest(data, options=options):
                self.hinge("train", data, "m", *options)
                plain = [line.split() for line in self.hinge("predict", data, "m", "--scores").text.splitlines()]
                table = list(csv.reader(io.StringIO(self.hinge("predict", data, "m", "--csv").text)))
                objects = [json.loads(line) for line in self.hinge("predict", data, "m", "--json").text.splitlines()]
                scores = len(plain[0]) - 1
                self.assertEqual(table[0][0], "label")
                self.assertEqual([row[: 1 + scores] for row in table[1:]], plain)
                self.assertEqual([one["label"] for one in objects], [row[0] for row in plain])
                if scores == 1:
                    self.assertEqual([one["score"] for one in objects], [float(row[1]) for row in plain])
                else:
                    self.assertEqual([list(one["scores"].values()) for one in objects], [list(map(float, row[1:])) for row in plain])
                self.assertEqual("probabilities" in objects[0], bool(options))
                if options:
                    likely = [line.split() for line in self.hinge("predict", data, "m", "-b", "1").text.splitlines()[1:]]
                    self.assertEqual([row[1 + scores :] for row in table[1:]], [row[1:] for row in likely])

    def test_no_class_and_regression(self):
        self.write("t.svm", to_text(THREE))
        self.hinge("train", "t.svm", "m", "--reject", "-c", "1e-4")
        plain = [line.split()[0] for line in self.hinge("predict", "t.svm", "m").text.splitlines()]
        table = list(csv.DictReader(io.StringIO(self.hinge("predict", "t.svm", "m", "--csv").text)))
        objects = [json.loads(line) for line in self.hinge("predict", "t.svm", "m", "--json").text.splitlines()]
        self.assertIn("none", plain)
        self.assertEqual([row["label"] or "none" for row in table], plain)
        self.assertEqual([one["label"] or "none" for one in objects], plain)
        self.write("r.svm", "1.5 1:1\n2.5 2:1\n3 1:2\n")
        self.hinge("train", "r.svm", "r", "--loss", "epsilon_insensitive")
        numbers = self.hinge("predict", "r.svm", "r").text.splitlines()
        self.assertEqual(self.hinge("predict", "r.svm", "r", "--csv").text.splitlines(), ["prediction", *numbers])
        found = [json.loads(line)["prediction"] for line in self.hinge("predict", "r.svm", "r", "--json").text.splitlines()]
        self.assertEqual(found, [float(number) for number in numbers])


if __name__ == "__main__":
    support.main()
