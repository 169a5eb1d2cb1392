"""`hinge stream`: rows on standard input, learned as they arrive; nothing that was learned is lost."""

import gzip
import json
import os
import pathlib
import random
import re
import resource
import signal
import subprocess
import zlib

import support
from support import (DATA, LONG, SIGNALS, TEXT, THREE, TIMEOUT, CommandCase, Container, ErrorCase, table,
                     to_text, waiting)

LAMBDA = ("--lambda", "0.01")
KILLS = 50 if LONG else 5
SHARED = os.environ.get("HINGE_SHARED_DATA", "")


class StreamCase(CommandCase):
    def stream(self, *arguments, text=TEXT, **how):
        data = text.encode() if isinstance(text, str) else text
        return self.hinge("stream", *arguments, stdin=data, **how)

    def bytes_after(self, text, *arguments):
        """The model of a stream over this text."""
        self.stream(*LAMBDA, "whole", *arguments, text=text)
        return self.read("whole")

    def info(self, model="m"):
        return self.hinge("info", model, "--json").json

    def feed(self, process, text):
        process.stdin.write(text.encode() if isinstance(text, str) else text)
        process.stdin.flush()


def table_of(run):
    """The lines of the table as lists of numbers."""
    return [[float(x) for x in line.split()] for line in run.text.splitlines()[1:]]


class FigureTest(StreamCase):
    def test_table(self):
        rows = table_of(self.stream(*LAMBDA))
        self.assertEqual([row[0] for row in rows], [1, 2, 4, 8, 16, 32, 64, 128, 200])
        self.assertEqual(rows[0], [1, 1, 1, 0, 1, 1])  # w = 0, no label known
        before = [0] * 6
        for row in rows:
            self.assertAlmostEqual(row[2] + row[3], 1, places=5)
            self.assertAlmostEqual(row[1] * row[0] - before[1] * before[0], row[4] * (row[0] - before[0]), places=3)
            self.assertAlmostEqual(row[2] * row[0] - before[2] * before[0], row[5] * (row[0] - before[0]), places=3)
            before = row

    def test_end_at_a_power_of_two_is_said_once(self):
        text = "".join(TEXT.splitlines(keepends=True)[:64])
        self.assertEqual([row[0] for row in table_of(self.stream(*LAMBDA, text=text))][-2:], [32, 64])

    def test_json(self):
        lines = [json.loads(line) for line in self.stream(*LAMBDA, "--json").text.splitlines()]
        plain = table_of(self.stream(*LAMBDA))
        self.assertEqual(len(lines), len(plain))
        for line, row in zip(lines, plain):
            self.assertEqual(list(line), ["rows", "loss", "error", "accuracy", "loss_since", "error_since"])
            for value, shown in zip(line.values(), row):
                self.assertAlmostEqual(value, shown, places=6)

    def test_figures_from_the_definition(self):
        """Loss and error of each row before its update, computed here from the rule."""
        w, loss, errors = {}, 0.0, 0
        for t, (label, x) in enumerate(DATA, 1):
            score = sum(w.get(j, 0) * v for j, v in x.items())
            known = {y for y, _ in DATA[:t - 1]}
            said = (1 if score > 0 else -1) if len(known) == 2 else next(iter(known), None)
            errors += said != label
            loss += max(0.0, 1 - label * score)
            w = {j: (1 - 1 / t) * v for j, v in w.items()}
            if label * score < 1:
                for j, v in x.items():
                    w[j] = w.get(j, 0) + label * v / (0.01 * t)
        self.stream(*LAMBDA, "m", "--precision", "f64")
        found = self.info()["stream"]
        self.assertEqual((found["rows"], found["lines"], found["lambda"]), (200, 200, 0.01))
        self.assertClose(found["loss"], loss / 200, 1e-9)
        self.assertClose(found["error"], errors / 200, 1e-9)

    def test_equals_train_in_order(self):
        """Twice over the rows is two epochs of `train`."""
        cases = [("d.svm", TEXT, []), ("three.svm", to_text(THREE), []), ("d.svm", TEXT, ["--bias", "2"]),
                 ("three.svm", to_text(THREE), ["--bias", "0.5", "--t0", "70"]),
                 ("d.svm", TEXT, ["--update", "mistake"]), ("three.svm", to_text(THREE), ["--update", "mistake"]),
                 ("d.svm", TEXT, ["--loss", "squared_hinge"]), ("three.svm", to_text(THREE), ["--loss", "logistic"]),
                 ("three.svm", to_text(THREE), ["--loss", "squared_hinge", "--bias", "0.5", "--t0", "7"])]
        for name, text, options in cases:
            with self.subTest(name=name, options=options):
                self.write(name, text)
                self.stream("--lambda", "0.0123", "m", *options, text=text + text)
                self.hinge("train", name, "t", "--lambda", "0.0123", "--solver", "pegasos", "--sampling", "order",
                           "--epochs", "2", "--iterate", "last", "--rescale", "off", *options)
                ours, theirs = (self.hinge("predict", name, model, "--scores").text.split() for model in ("m", "t"))
                self.assertEqual(len(ours), len(theirs))
                for a, b in zip(ours, theirs):
                    self.assertLessEqual(abs(float(a) - float(b)), 1e-9)

    def test_mistakes_from_the_definition(self):
        """A row predicted rightly adds nothing; a score of 0 is a mistake, or nothing would ever be learned."""
        w, learned = {}, 0
        for t, (label, x) in enumerate(DATA, 1):
            score = sum(w.get(j, 0) * v for j, v in x.items())
            w = {j: (1 - 1 / t) * v for j, v in w.items()}
            if label * score <= 0:
                learned += 1
                for j, v in x.items():
                    w[j] = w.get(j, 0) + label * v / (0.01 * t)
        self.assertTrue(1 < learned < 100)
        self.stream(*LAMBDA, "m", "--update", "mistake", "--precision", "f64")
        self.assertEqual(self.info()["update"], "mistake")
        found = self.hinge("predict", "d.svm", "m", "--scores").text.split()[1::2]
        for (_, x), score in zip(DATA, map(float, found)):
            self.assertAlmostEqual(score, sum(w.get(j, 0) * v for j, v in x.items()), delta=1e-5)
        self.stream(*LAMBDA, "plain")
        self.assertNotIn("update", self.hinge("info", "plain", "--json").json)

    def test_the_loss_is_remembered(self):
        lines = TEXT.splitlines(keepends=True)
        whole = self.bytes_after(TEXT, "--loss", "squared_hinge")
        self.assertNotEqual(whole, self.bytes_after(TEXT))
        self.stream(*LAMBDA, "m", "--loss", "squared_hinge", text="".join(lines[:9]))
        self.assertEqual(self.hinge("info", "m", "--json").json["loss"], "squared_hinge")
        run = self.stream("--resume", "m", "--loss", "hinge", text="".join(lines[9:]), code=64)
        self.assertIn("--loss: squared_hinge is what MODEL was begun with, got hinge", run.err)
        self.stream("--resume", "m", text="".join(lines[9:]))
        self.assertEqual(self.read("m"), whole)

    def test_targets(self):
        draw = random.Random(3)
        rows = [(f"{draw.gauss(1, 2):.3f}" if i % 3 else str(i % 5), {j: round(draw.gauss(0, 1), 3) for j in (1, 2, 5)})
                for i in range(100)]
        lines = [" ".join([t, *(f"{j}:{v}" for j, v in x.items())]) + "\n" for t, x in rows]
        text = "".join(lines)
        for loss in ("epsilon_insensitive", "squared_epsilon"):
            options = ("--loss", loss, "--epsilon", "0.25", "--bias", "1")
            run = self.stream(*LAMBDA, "m", *options, "--predictions", "p", "--json", text=text)
            last = json.loads(run.text.splitlines()[-1])
            said = [float(x) for x in (self.dir / "p").read_text().split()]
            missed = [abs(s - float(t)) for s, (t, _) in zip(said, rows)]
            beyond = [max(0, m - 0.25) ** (2 if loss == "squared_epsilon" else 1) for m in missed]
            self.assertAlmostEqual(last["rmse"], (sum(m * m for m in missed) / 100) ** 0.5, places=12)
            self.assertAlmostEqual(last["loss"], sum(beyond) / 100, places=12)
            self.assertEqual(set(last), {"rows", "loss", "rmse", "loss_since", "rmse_since"})
            table = table_of(self.stream(*LAMBDA, *options, text=text))
            self.assertAlmostEqual(table[-1][2], last["rmse"], places=5)
            info = self.info()
            self.assertEqual((info["classes"], info["loss"], info["epsilon"]), ([], loss, 0.25))
            # Cut and resumed, the epsilon is the model's.
            self.stream(*LAMBDA, "part", *options, text="".join(lines[:37]))
            self.stream("--resume", "part", text="".join(lines[37:]))
            self.assertEqual(self.read("part"), self.read("m"))
            run = self.stream("--resume", "part", "--epsilon", "0.5", text=text, code=64)
            self.assertIn("--epsilon: 0.25 is what MODEL was begun with, got 0.5", run.err)
            self.write("rows.svm", text)
            self.assertEqual(len(self.hinge("predict", "rows.svm", "m").text.split()), 100)
            self.assertIn("RMSE", self.hinge("evaluate", "rows.svm", "m").text)
            self.hinge("convert", "m", "theirs.liblinear")
            self.assertIn("L2R_L", self.read("theirs.liblinear").decode().split("\n")[0])
        for wrong in (("--update", "mistake"), ("--reject",), ("--labels", "1,2"), ("--class-weight", "1=2")):
            self.stream(*LAMBDA, "--loss", "squared_epsilon", *wrong, text=text, code=64)
        self.stream(*LAMBDA, "--epsilon", "0.5", text=text, code=64)
        self.stream(*LAMBDA, text=text, code=65)

    def test_mistakes_go_on_as_mistakes(self):
        lines = TEXT.splitlines(keepends=True)
        whole = self.bytes_after(TEXT, "--update", "mistake")
        self.stream(*LAMBDA, "m", "--update", "mistake", text="".join(lines[:9]))
        self.stream("--resume", "m", text="".join(lines[9:]))
        self.assertEqual(self.read("m"), whole)

    def test_real_data(self):
        path = pathlib.Path(SHARED, "a9a-train.svm.xz").resolve()
        if not SHARED or not path.exists():
            self.skipTest(f"no {path} (HINGE_SHARED_DATA)")
        run = self.stream("--lambda", "1e-3", "m", text=path.read_bytes())  # compressed, too
        last = table_of(run)[-1]
        self.assertEqual(last[0], 32561)
        self.assertLess(last[2], 0.2)
        self.assertLess(1 - self.hinge("evaluate", path, "m", "--json").json["accuracy"], 0.17)


class LabelTest(StreamCase):
    def test_labels_as_they_come(self):
        text = "5 1:1\n5 1:2\n3 2:1\n5 1:1\n9 3:1\n3 2:2\n9 3:1\n"
        run = self.stream(*LAMBDA, "m", "--predictions", "p", text=text)
        self.assertEqual(self.read("p").split(), b"none 5 5 5 3 3 9".split())  # a score of 0 is the smaller one's
        self.assertEqual(table_of(run)[-1][0], 7)
        self.assertEqual(self.info()["classes"], ["3", "5", "9"])
        fixed = self.stream(*LAMBDA, "f", "--labels", "9,3,+5", text=text)
        weights = [self.hinge("predict", "d.svm", model, "--scores", "-q").out for model in ("m", "f")]
        self.assertEqual(weights[0], weights[1])
        self.assertNotEqual(run.text, fixed.text)  # known from the start, a label is judged from the start

    def test_one_label_is_a_model(self):
        fours = "4 1:1\n4 2:1\n"
        self.stream(*LAMBDA, "m", text=fours)
        self.assertEqual(self.info()["classes"], ["4"])
        self.assertEqual(set(self.hinge("predict", "d.svm", "m", "-q").text.split()), {"4"})
        self.write("fours.svm", fours)
        self.hinge("evaluate", "fours.svm", "m", "-q")
        self.assertIn("[data.label.mismatch]", self.hinge("evaluate", "d.svm", "m", code=65).err)
        self.assertIn("[model.format]", self.hinge("convert", "m", "m.liblinear", code=64).err)
        self.assertIn("[verify.data]", self.hinge("verify", "m", "d.svm", code=65).err)

    def test_other_commands_take_the_model(self):
        self.stream(*LAMBDA, "m", "--bias", "1")
        self.assertSays(self.hinge("verify", "m", "d.svm", code=65), r".*learned online.*\[verify\.data\]")
        self.hinge("convert", "m", "m.liblinear")
        self.hinge("convert", "m", "copy")
        self.assertEqual(self.read("copy"), self.read("m"))
        ours = self.hinge("predict", "d.svm", "m", "--scores").out
        self.assertEqual(self.hinge("predict", "d.svm", "m.liblinear", "--scores").out, ours)

    def test_reject(self):
        text = "1 1:1\n2 2:1\n3 3:1\n3 4:1\n3 3:1\n"
        self.stream(*LAMBDA, "m", "--reject", "--predictions", "p", "--scores", text=text)
        said = [line.split() for line in self.read("p").decode().splitlines()]
        self.assertEqual([s[0] for s in said], ["none", "1", "1", "none", "3"])
        self.assertEqual(self.info()["stream"]["error"], 0.8)

    def test_class_weight(self):
        self.stream(*LAMBDA, "m", "--class-weight", "1=3", "-w-1", "0.5")
        self.assertNotEqual(self.read("m"), self.bytes_after(TEXT))
        self.assertIn("[usage.class-weight]", self.stream(*LAMBDA, "m", "-w7", "2").err)

    def test_unknown_label(self):
        text = "1 1:1\n2 1:-1\n\n3 1:1\n1 1:2\n"
        run = self.stream(*LAMBDA, "m", "--labels", "1,2", text=text, code=65)
        self.assertSays(run, r"<stdin>:4:1: error: label 3 .* \[data\.label\.unknown\]")
        self.assertEqual(self.info()["stream"]["rows"], 2)
        run = self.stream(*LAMBDA, "m", "--labels", "1,2", "--on-bad-row", "skip", text=text)
        self.assertSays(run, r"hinge: warning: 1 bad rows were skipped \(first: <stdin>:4:1\) \[data\.row\.skipped\]")
        self.assertEqual(self.info()["stream"]["rows"], 3)

    def test_max_classes(self):
        run = self.stream(*LAMBDA, "m", "--max-classes", "2", text="1 1:1\n2 1:1\n3 1:1\n", code=65)
        self.assertSays(run, r"<stdin>:3:1: error: .* \[limit\.classes\]")
        self.assertEqual(self.info()["stream"]["rows"], 2)


class InputTest(StreamCase):
    def test_forms_of_the_same_text(self):
        plain = self.bytes_after(TEXT)
        forms = {"crlf": TEXT.replace("\n", "\r\n"), "unterminated": TEXT[:-1], "bom": "\ufeff" + TEXT,
                 "gzip": gzip.compress(TEXT.encode()), "cpu": TEXT}
        for name, text in forms.items():
            with self.subTest(name):
                options = ["--cpu", "scalar"] if name == "cpu" else []
                self.assertEqual(self.bytes_after(text, *options), plain)

    def test_blank_and_comment_lines_are_no_rows(self):
        odd = "# rows\n\n" + TEXT.replace("\n", "\n\n# and\n") + "   \n"
        self.stream(*LAMBDA, "odd", text=odd)
        found = self.info("odd")["stream"]
        self.assertEqual((found["rows"], found["lines"]), (200, 603))
        scores = [self.hinge("predict", "d.svm", model, "--scores").out for model in ("odd", "odd")]
        self.bytes_after(TEXT)
        self.assertEqual(self.hinge("predict", "d.svm", "whole", "--scores").out, scores[0])

    def test_index_base(self):
        zero = "1 0:1 3:1\n-1 1:1\n"
        later = "1 1:1 3:1\n-1 0:1\n"
        for text, options, base, features in ((zero, [], 0, 4), (later, [], 0, 4), ("1 1:1\n-1 3:1\n", [], 1, 3),
                                              ("1 1:1\n-1 3:1\n", ["--index-base", "0"], 0, 4)):
            self.stream(*LAMBDA, "m", *options, text=text)
            found = self.info()
            self.assertEqual((found["index_base"], found["features"]), (base, features), (text, options))
        run = self.stream(*LAMBDA, "m", "--index-base", "1", text=zero, code=65)
        self.assertSays(run, r"<stdin>:1:3: error: .*\[data\.index\.zero\]")

    def test_a_huge_index_costs_next_to_nothing(self):
        text = "1 1:1 4294967294:1\n-1 2:1 4000000000:1\n"
        run, memory = self.measured("stream", *LAMBDA, "m", stdin=text.encode())
        self.assertLess(len(self.read("m")), 4096)
        self.assertLess(memory, 64 << 20, run)
        self.assertEqual(self.info()["features"], 4294967294)

    def test_empty(self):
        for text, says in (("", "no rows"), ("\n# nothing\n\n", "0 rows in 3 lines")):
            run = self.stream(*LAMBDA, "m", text=text, code=65)
            self.assertSays(run, rf"<stdin>: error: {says} \[data\.empty\]")
            self.assertEqual(run.lines[-1], "hinge: 1 error; no model written")
            self.assertEqual(self.files(), ["d.svm"])

    def test_what_is_not_text(self):
        self.hinge("train", "d.svm", "t")
        self.assertIn("[data.encoding]", self.stream(*LAMBDA, text=self.read("t"), code=65).err)

    def test_warnings(self):
        run = self.stream(*LAMBDA, text="1 2:1 1:1\n-1 qid:3 1:1\n")
        self.assertIn("[data.index.unsorted]", run.err)
        self.assertIn("[data.qid.ignored]", run.err)
        self.assertIn("[data.index.order]", self.stream(*LAMBDA, "--strict", text="1 2:1 1:1\n", code=65).err)

    def test_line_limit(self):
        for mode in ("stop", "skip"):  # what is so long is no text
            run = self.stream(*LAMBDA, "m", "--max-line-bytes", "1K", "--on-bad-row", mode,
                              text="1 1:1\n-1 1:2\n" + "1 " * 2000 + "\n1 1:1\n", code=65)
            self.assertIn("[limit.line-bytes]", run.err)
            self.assertEqual(self.info()["stream"]["rows"], 2)

    def test_a_row_too_long_is_not_learned(self):
        for before, says in (("", "no model written"), ("1 1:1\n-1 1:2\n", "m holds 2 rows")):
            run = self.stream(*LAMBDA, "m", "--max-line-bytes", "10", text=before + "1 1:1 2:1 3:1 4:1\n1 1:1\n",
                              code=65)
            self.assertIn("[limit.line-bytes]", run.err)
            self.assertEqual(run.lines[-1], f"hinge: 1 error; {says}")
        self.assertEqual(self.read("m"), self.bytes_after("1 1:1\n-1 1:2\n"))

    def test_losses_of_any_size_fit_the_table(self):
        run = self.stream("--lambda", "1e-10", "--precision", "f64", text="1 1:1e149\n2 1:1e149\n")
        self.assertLess(max(map(len, run.text.splitlines())), 100)
        self.assertGreater(table_of(run)[-1][1], 1e300)

    def test_without_model_only_figures(self):
        self.assertEqual(table_of(self.stream(*LAMBDA))[-1][0], 200)
        self.assertEqual(self.files(), ["d.svm"])


class BadRowTest(StreamCase):
    LINES = TEXT.splitlines(keepends=True)

    def test_stop_keeps_what_was_learned(self):
        text = "".join(self.LINES[:41]) + "1 1:x\n" + "".join(self.LINES[41:])
        run = self.stream(*LAMBDA, "m", text=text, code=65)
        self.assertSays(run, r'<stdin>:42:5: error: .*"x".* \[data\.value\]')
        self.assertEqual(run.lines[-1], "hinge: 1 error; m holds 41 rows")
        self.assertEqual(self.read("m"), self.bytes_after("".join(self.LINES[:41])))
        self.assertEqual(table_of(run)[-1][0], 41)
        # Mended, the same input goes on where it ended.
        self.stream("--resume", "--skip-seen", "m", text=text.replace("1 1:x\n", ""))
        self.assertEqual(self.read("m"), self.bytes_after(TEXT))

    def test_first_row_bad(self):
        run = self.stream(*LAMBDA, "m", text="x\n" + TEXT, code=65)
        self.assertEqual(run.lines[-1], "hinge: 1 error; no model written")
        self.assertEqual(self.files(), ["d.svm"])

    def test_skip(self):
        lines = list(self.LINES)
        for k in (3, 50, 90, 130, 199):
            lines.insert(k, "1 nonsense\n")
        run = self.stream(*LAMBDA, "m", "--on-bad-row", "skip", text="".join(lines))
        self.assertEqual(run.err.count("[data.pair]"), 3)
        self.assertSays(run, r"hinge: warning: 5 bad rows were skipped \(first: <stdin>:4:\d+\) \[data\.row\.skipped\]")
        found = self.info()["stream"]
        self.assertEqual((found["rows"], found["lines"]), (200, 205))
        self.assertEqual(table_of(run)[-1], table_of(self.stream(*LAMBDA))[-1])
        self.assertEqual(self.stream(*LAMBDA, "-q", "--on-bad-row", "skip", text="".join(lines)).err, "")

    def test_only_bad_rows(self):
        run = self.stream(*LAMBDA, "m", "--on-bad-row", "skip", text="x\ny\n", code=65)
        self.assertIn("[data.empty]", run.err)
        self.assertEqual(self.files(), ["d.svm"])

    def test_damaged_gzip(self):
        text = "".join(to_text([row]) for row in DATA * 500)
        whole = gzip.compress(text.encode(), mtime=0)
        broken = bytearray(whole)
        broken[len(whole) // 2] ^= 0x55
        for name, data in (("cut", whole[: len(whole) // 2]), ("broken", bytes(broken))):
            with self.subTest(name):
                run = self.stream(*LAMBDA, "m", text=data, code=65)
                rows = self.info()["stream"]["rows"]
                self.assertGreater(rows, 30000)
                if name == "cut":
                    self.assertIn("[data.gzip]", run.err)
                    self.assertEqual(self.read("m"), self.bytes_after("".join(text.splitlines(True)[:rows])))
                self.assertEqual(run.lines[-1], f"hinge: 1 error; m holds {rows} rows")


class ResumeTest(StreamCase):
    def test_killed_and_resumed_is_not_killed(self):
        """SIGTERM after any row; the rest of the input; the same bytes."""
        lines = to_text(THREE).splitlines(keepends=True)
        lines.insert(20, "# a comment\n\n")
        lines = "".join(lines).splitlines(keepends=True)
        expected = self.bytes_after("".join(lines))
        draw = random.Random(4)
        for _ in range(KILLS):
            cut, number = draw.randrange(2, len(lines)), draw.choice(list(SIGNALS))
            process = self.start("stream", *LAMBDA, "m", "--predictions", "-", stdin=subprocess.PIPE)
            self.feed(process, "".join(lines[:cut]) + lines[cut][:4])  # cut in the middle of a row
            rows = sum(1 for line in lines[:cut] if line[0] not in "#\n")
            for _ in range(rows):
                process.stdout.readline()
            process.send_signal(number)
            run = self.finish(process)
            self.assertEqual(run.code, SIGNALS[number], run)
            self.assertSays(run, rf"hinge: interrupted; m holds {rows} rows")
            self.stream("--resume", "--skip-seen", "m", text="".join(lines))
            self.assertEqual(self.read("m"), expected, f"cut after {cut} lines")

    def test_signal_while_busy(self):
        """Also in the middle of a block: whatever row it was, nothing is missing and nothing twice."""
        text = "".join(to_text([row]) for row in DATA * 2000)
        (self.dir / "long.svm").write_text(text)
        expected = self.bytes_after(text)
        draw, seen = random.Random(1), set()
        for _ in range(10 if LONG else 3):
            with (self.dir / "long.svm").open("rb") as rows:
                process = self.start("stream", *LAMBDA, "m", "--predictions", "-", stdin=rows)
                for _ in range(draw.randrange(1, 50000)):  # it waits for whoever reads
                    process.stdout.readline()
                process.send_signal(signal.SIGTERM)
                run = self.finish(process)
            if run.code == 0:
                continue
            self.assertEqual(run.code, 143, run)
            seen.add(self.info()["stream"]["rows"])
            self.stream("--resume", "--skip-seen", "m", text=text)
            self.assertEqual(self.read("m"), expected)
        self.assertGreater(len(seen), 1)

    def test_killed_at_once_with_save_every(self):
        lines = TEXT.splitlines(keepends=True)
        expected = self.bytes_after(TEXT)
        draw = random.Random(5)
        for _ in range(KILLS // 5):
            (self.dir / "m").unlink(missing_ok=True)
            cut = draw.randrange(20, len(lines))
            process = self.start("stream", *LAMBDA, "m", "--save-every", "10", "--predictions", "-",
                                 stdin=subprocess.PIPE)
            self.feed(process, "".join(lines[:cut]))
            for _ in range(cut):
                process.stdout.readline()
            process.kill()
            process.wait()
            self.assertEqual(self.info()["stream"]["rows"], cut // 10 * 10)
            self.stream("--resume", "--skip-seen", "m", text=TEXT)
            self.assertEqual(self.read("m"), expected)

    def test_new_input_without_skip_seen(self):
        lines = TEXT.splitlines(keepends=True)
        for k in range(0, 200, 50):
            how = ["--resume", "m"] if k else [*LAMBDA, "m"]
            run = self.stream(*how, text="".join(lines[k:k + 50]))
        self.assertEqual(self.read("m"), self.bytes_after(TEXT))
        self.assertEqual([row[0] for row in table_of(run)], [200])

    def test_nothing_new(self):
        self.stream(*LAMBDA, "m")
        before = self.read("m")
        self.stream("--resume", "--skip-seen", "m")
        self.assertEqual(self.read("m"), before)
        run = self.stream("--resume", "--skip-seen", "m", text="1 1:1\n", code=65)
        self.assertSays(run, r"<stdin>: error: 1 lines, 200 of which .*\[data\.lines\]")
        self.assertEqual(run.lines[-1], "hinge: 1 error; m holds 200 rows")
        self.assertEqual(self.read("m"), before)

    def test_options_that_contradict_the_model(self):
        self.stream(*LAMBDA, "m", "--bias", "2", "--t0", "5", "-w1", "2")
        before = self.read("m")
        for options, both in ((["--lambda", "0.02"], ("0.01", "0.02")), (["--t0", "6"], ("5", "6")),
                              (["--bias", "1"], ("2", "1")), (["--labels", "1,-1"], ("none", "-1,1")),
                              (["-w1", "3"], ("1=2", "1=3")), (["--update", "mistake"], ("margin", "mistake")), (["--reject"], ("off", "on")),
                              (["--index-base", "0"], ("auto", "0")), (["--precision", "f64"], ("f32", "f64"))):
            run = self.stream("--resume", "m", *options, code=64)
            self.assertIn("[usage.value]", run.err)
            for value in both:
                self.assertIn(f" {value}", run.lines[0])
        self.assertEqual(self.read("m"), before)
        self.stream("--resume", "m", "--lambda", "1e-2", "--bias", "2", "--t0", "5", "-w1", "2", "--precision", "f32")
        self.assertEqual(self.info()["stream"]["rows"], 400)

    def test_fixed_labels_stay(self):
        lines = TEXT.splitlines(keepends=True)
        self.stream(*LAMBDA, "m", "--labels", "-1,1", text="".join(lines[:9]))
        self.stream("--resume", "m", "--labels", "1,-1", text="".join(lines[9:]))
        self.assertEqual(self.read("m"), self.bytes_after(TEXT, "--labels", "-1,1"))
        self.assertIn("[data.label.unknown]", self.stream("--resume", "m", text="3 1:1\n", code=65).err)

    def test_other_models(self):
        self.hinge("train", "d.svm", "t")
        self.assertIn("[model.stream]", self.stream("--resume", "t", code=64).err)
        self.assertIn("[io.open]", self.stream("--resume", "nowhere", code=66).err)
        self.stream(*LAMBDA, "m")
        file = Container(self.dir / "m")
        for old, new in (('"rows":200', '"rows":0'), ('"errors":', '"errors":9'), ('"lambda":0.01', '"lambda":-1'),
                         ('"rest":true', '"rest":1'), ('"lines":200', '"lines":-1'), ('"auto"', '"2"'),
                         ('"lambda":0.01', '"lambda":1e-320')):
            self.assertIn(old, file.metadata["stream"])
            changed = Container(self.dir / "m")
            changed.metadata["stream"] = file.metadata["stream"].replace(old, new)
            self.write("bad", changed.to_bytes())
            self.assertRegex(self.stream("--resume", "bad", code=80).err, r"\[model\.(content|header)\]")
        for field, old, new in (("stream", '"t0":0', '"t0":9007199254740992'),
                                ("stream", '"lambda":0.01', '"lambda":1e-200'),
                                ("options", '"bias_feature":0.0', '"bias_feature":1e300'),
                                ("options", '"class_weights":[]', '"class_weights":[[1,1e200]]')):
            changed = Container(self.dir / "m")
            self.assertIn(old, changed.metadata[field])
            changed.metadata[field] = changed.metadata[field].replace(old, new)
            self.write("bad", changed.to_bytes())
            self.assertSays(self.stream("--resume", "bad", code=80), r"bad: error: .* \[model\.content\]")


class PromptTest(StreamCase):
    def test_predictions_lag_nothing(self):
        for pack in (False, True):
            with self.subTest(pack=pack):
                process = self.start("stream", *LAMBDA, "--predictions", "-", stdin=subprocess.PIPE)
                packer = zlib.compressobj(wbits=31)
                for k, line in enumerate(["1\n", "-1 1:1\n", *TEXT.splitlines(keepends=True)[:20]]):
                    data = line.encode()
                    if pack:
                        data = packer.compress(data) + packer.flush(zlib.Z_SYNC_FLUSH)
                    self.feed(process, data)
                    said = process.stdout.readline()  # would wait for ever
                    self.assertIn(said.strip(), [b"none", b"1", b"-1"] if k == 0 else [b"1", b"-1"])
                if pack:
                    self.feed(process, packer.flush())
                process.stdin.close()
                process.stdin = None
                self.assertEqual(self.finish(process).code, 0)

    def test_figures_appear_at_once(self):
        process = self.start("stream", *LAMBDA, stdin=subprocess.PIPE)
        self.feed(process, "1 1:1\n-1 1:1\n")
        lines = [process.stdout.readline() for _ in range(3)]
        self.assertEqual([line.split()[0] for line in lines], [b"rows", b"1", b"2"])

    def test_signal_before_any_row(self):
        process = self.start("stream", *LAMBDA, "m", stdin=subprocess.PIPE)
        self.wait(lambda: waiting(process), process, "it waits for rows")
        process.send_signal(signal.SIGINT)
        run = self.finish(process)
        self.assertEqual(run.code, 130, run)
        self.assertIn("no model written", run.err)
        self.assertEqual(self.files(), ["d.svm"])

    def test_memory_stays_flat(self):
        """A million short rows; the peak at a tenth of them and at the end."""
        rows = 1_000_000
        block = "".join(f"{1 if k % 3 else -1} {k % 50 + 1}:1 {k % 70 + 60}:0.5\n" for k in range(10_000)).encode()
        process = self.start("stream", "--lambda", "1e-4", "-q", stdin=subprocess.PIPE)

        def peak():
            status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
            return int(re.search(r"VmHWM:\s*(\d+)", status)[1])

        for k in range(rows // 10_000):
            process.stdin.write(block)
            process.stdin.flush()
            if k == rows // 100_000:
                early = peak()
        late = peak()
        process.stdin.close()
        process.stdin = None
        run = self.finish(process)
        self.assertEqual(run.code, 0, run)
        self.assertLessEqual(late - early, 4096)  # KB


def own_columns(labels):
    """A row a label, each with a column that no other row has."""
    return "".join(f"{k} {k}:1 {labels + k}:0.5\n" for k in range(1, labels + 1))


class ManyClassesTest(StreamCase):
    """Classes x columns never take memory, and when memory ends what was learned is there."""

    def test_memory_follows_what_differs(self):
        run, peak = self.measured("stream", *LAMBDA, "m", "-q", stdin=own_columns(3000).encode())
        self.assertLess(peak, 64 << 20)  # 288 MB of sums for all classes and columns
        self.assertLess((self.dir / "m").stat().st_size, 1 << 20)
        self.assertEqual(Container(self.dir / "m").metadata["version"], "2")
        self.write("few.svm", own_columns(3000)[-200:].split("\n", 1)[1])
        for command in (("predict", "few.svm", "m", "p"), ("evaluate", "few.svm", "m")):
            run, peak = self.measured(*command)
            self.assertLess(peak, 64 << 20, command)
        self.assertEqual(self.read("p").decode().split(), [row.split()[0] for row in self.read("few.svm").decode().splitlines()])

    def check_cut(self, text, *options, **how):
        """The run ends with 81, and MODEL holds the rows before the one that was too much."""
        run = self.stream(*LAMBDA, "m", *options, text=text, code=81, **how)
        row = int(re.search(r"<stdin>:(\d+):1: error: .*\[memory\.", run.err)[1])
        self.assertIn(f"m holds {row - 1} rows", run.err)
        lines = text.splitlines(keepends=True)
        self.assertEqual(self.read("m"), self.bytes_after("".join(lines[:row - 1])))
        self.stream("--resume", "--skip-seen", "m", text=text)
        self.assertEqual(self.read("m"), self.bytes_after(text))
        return run

    def test_memory_option(self):
        run = self.check_cut(own_columns(6000), "--memory", "9M")
        self.assertRegex(run.err, r"hyperplanes over \d+ columns \(\d+ of them\), and saving them, need 9.\d MiB; "
                         r"--memory allows 9.0 MiB")
        self.assertIn("--max-classes", run.err)

    def test_more_memory_learns_more_rows(self):
        text = own_columns(3000)
        learned = []
        for size in (6, 7, 8, 9, 12):
            run = self.stream(*LAMBDA, "m", "--memory", f"{size}M", "--quiet", text=text, code=None)
            learned.append(3000 if run.code == 0 else int(re.search(r"m holds (\d+) rows", run.err)[1]))
        self.assertEqual(learned, sorted(learned))
        self.assertGreater(learned[0], 100)
        self.assertEqual(learned[-1], 3000)

    def test_memory_of_the_system(self):
        limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (48 << 20,) * 2)
        text = "".join(f"{k % 3} " + " ".join(f"{i}:1" for i in range(k * 400 + 1, k * 400 + 400)) + "\n"
                       for k in range(2000))
        for rows in (text, own_columns(25000)):
            with self.subTest(rows=rows[:20]):
                self.check_cut(rows, preexec_fn=limit)


class PredictionTest(StreamCase):
    def test_scores_are_those_before_the_update(self):
        self.stream(*LAMBDA, "--predictions", "p", "--scores")
        said = [line.split() for line in self.read("p").decode().splitlines()]
        self.assertEqual(len(said), 200)
        self.assertEqual(said[0], ["none", "0"])
        lines = TEXT.splitlines(keepends=True)
        self.stream(*LAMBDA, "m", text="".join(lines[:120]))
        self.write("next.svm", lines[120])
        label, score = self.hinge("predict", "next.svm", "m", "--scores").text.split()
        self.assertEqual(said[120][0], label)
        self.assertClose(float(said[120][1]), float(score), 1e-6)  # predict reads values as double

    def test_on_stdout_the_table_goes_to_stderr(self):
        run = self.stream(*LAMBDA, "--predictions", "-")
        self.assertEqual(len(run.text.splitlines()), 200)
        self.assertIn("since the last line", run.err)
        self.assertEqual(self.stream(*LAMBDA, "--predictions", "-", "-q").err, "")

    def test_the_reader_of_the_figures_goes_away(self):
        """What was learned is saved all the same."""
        process = self.start("stream", *LAMBDA, "m", stdin=subprocess.PIPE)
        self.feed(process, "1 1:1\n")
        process.stdout.readline()
        process.stdout.close()
        self.feed(process, TEXT)
        process.stdin.close()
        process.stdin = None
        process.wait(TIMEOUT)
        self.assertEqual(process.returncode, 74)
        self.assertGreaterEqual(self.info()["stream"]["rows"], 2)


    def test_resumed_they_need_another_file(self):
        lines = TEXT.splitlines(keepends=True)
        self.stream(*LAMBDA, "m", "--predictions", "p", text="".join(lines[:99]))
        model, before = self.read("m"), self.read("p")
        run = self.stream("--resume", "m", "--predictions", "p", text="".join(lines[99:]), code=64)
        self.assertSays(run, r"hinge stream: error: --predictions: p .*another name \[usage\.option\]")
        self.assertEqual((self.read("m"), self.read("p")), (model, before))
        self.write("q", "")
        for name in ("q", "/dev/null"):
            self.write("m", model)
            self.stream("--resume", "m", "--predictions", name, text="".join(lines[99:]))
        self.stream(*LAMBDA, "--predictions", "whole")
        self.assertEqual(before + self.read("q"), self.read("whole"))


class OutputTest(StreamCase):
    def test_the_folder_goes_away(self):
        (self.dir / "deep").mkdir()
        process = self.start("stream", *LAMBDA, "deep/m", "--save-every", "1", stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE)
        self.feed(process, "1 1:1\n")
        self.wait(lambda: (self.dir / "deep/m").exists() and waiting(process), process, "it has saved")
        (self.dir / "deep").rename(self.dir / "other")
        self.feed(process, "-1 1:2\n")
        run = self.finish(process)
        self.assertEqual(run.lines[-1], "hinge: 1 error; no model written")

    def test_outputs_are_checked_first(self):
        for arguments, code, identifier in ((("nowhere/m",), 73, "io.create"), ((".",), 73, "io.create"),
                                            (("m", "--predictions", "m"), 64, "usage.same-file"),
                                            (("m", "--predictions", "nowhere/p"), 73, "io.create")):
            process = self.start("stream", *LAMBDA, *arguments, stdin=subprocess.PIPE)  # which says nothing
            run = self.finish(process)
            self.assertEqual(run.code, code, run)
            self.assertIn(f"[{identifier}]", run.err)
        self.assertEqual(self.files(), ["d.svm"])

    def test_full_disk(self):
        run = self.stream(*LAMBDA, "/dev/full", code=74)
        self.assertIn("[io.write]", run.err)
        self.assertIn("no model written", run.err)
        run = self.stream(*LAMBDA, "m", "--predictions", "/dev/full", code=74)
        self.assertIn("[io.write]", run.err)
        self.assertGreater(self.info()["stream"]["rows"], 0)
        with open("/dev/full", "wb") as full:
            run = self.stream(*LAMBDA, "m", stdout=full, code=74)
        self.assertIn("[io.write]", run.err)
        self.assertGreater(self.info()["stream"]["rows"], 0)

    def test_full_disk_in_the_middle(self):
        """The model no longer fits: it ends with the error of writing, and the old one stays."""
        self.stream(*LAMBDA, "m", text="1 1:1\n-1 1:2\n")
        before = self.read("m")
        grown = "".join(f"1 {k}:1 {k + 1}:1\n" for k in range(1, 3000))
        limit = ("sh", "-c", 'ulimit -f 8; exec "$@"', "sh")
        run = self.stream("--resume", "m", "--save-every", "100", text=grown, through=limit, code=74)
        self.assertIn("[io.write]", run.err)
        rows = self.info()["stream"]["rows"]
        self.assertEqual(rows % 100 if rows != 2 else 0, 0)
        self.assertSays(run, rf"hinge: 1 error; m holds the first {rows} of \d+ rows")
        self.assertEqual(self.files(), ["d.svm", "m"])
        self.assertTrue(rows > 2 or self.read("m") == before)


@table([
    ("no lambda", ["m"], "usage.option", "--lambda"),
    ("lambda 0", ["--lambda", "0"], "usage.value", "--lambda"),
    ("lambda nan", ["--lambda", "nan"], "usage.value", "--lambda"),
    ("lambda too small", ["--lambda", "1e-200"], "usage.value", "lambda"),
    ("resume without model", ["--resume"], "usage.option", "MODEL"),
    ("skip-seen alone", [*LAMBDA, "m", "--skip-seen"], "usage.option", "--resume"),
    ("save-every without model", [*LAMBDA, "--save-every", "5"], "usage.option", "MODEL"),
    ("save-every 0", [*LAMBDA, "m", "--save-every", "0"], "usage.value", "--save-every"),
    ("save-every x", [*LAMBDA, "m", "--save-every", "x"], "usage.value", "--save-every"),
    ("scores alone", [*LAMBDA, "--scores"], "usage.option", "--predictions"),
    ("balanced", [*LAMBDA, "--class-weight", "balanced"], "usage.value", "balanced"),
    ("model on stdout", [*LAMBDA, "-"], "usage.option", "standard output"),
    ("liblinear", [*LAMBDA, "m.liblinear"], "usage.option", "native"),
    ("labels", [*LAMBDA, "--labels", "1,x"], "usage.value", "1,x"),
    ("no labels", [*LAMBDA, "--labels", ""], "usage.value", "--labels"),
    ("lambda too large", ["--lambda", "1e300", "--t0", "1000000000"], "usage.value", "lambda"),
    ("class weight that vanishes", [*LAMBDA, "-w1", "1e-200", "-w1", "1e-200"], "usage.value", "class weight"),
    ("labels with a hole", [*LAMBDA, "--labels", "1,,2"], "usage.value", "1,,2"),
    ("one label", [*LAMBDA, "--labels", "1"], "usage.value", "at least two"),
    ("a label twice", [*LAMBDA, "--labels", "1,2,+1"], "usage.value", "twice"),
    ("bad row", [*LAMBDA, "--on-bad-row", "ignore"], "usage.value", "--on-bad-row"),
    ("t0", [*LAMBDA, "--t0", "9007199254740993"], "usage.value", "--t0"),
    ("cost", ["--cost", "1"], "usage.option", "--cost"),
])
class UsageTest(StreamCase, ErrorCase):
    def check(self, row):
        _, arguments, identifier, says = row
        run = self.stream(*arguments, code=64)
        self.assertRegex(run.lines[0], rf"^hinge stream: error: .*{re.escape(says)}.* \[{re.escape(identifier)}\]$")
        self.assertEqual(run.lines[1], "try: hinge stream --help")
        self.assertPlain(run)
        self.assertEqual(self.files(), ["d.svm"])


class OrderTest(CommandCase):
    def test_options_may_come_first(self):
        self.hinge("train", "--cost", "2", "-B", "1", "d.svm", "a")
        self.hinge("train", "d.svm", "b", "--cost", "2", "-B", "1")
        self.assertEqual(self.read("a"), self.read("b"))

    def test_class_weights_may_come_first(self):
        for first in (["--class-weight", "1=3"], ["--class-weight=1=3"], ["--class-weight", "1=2", "-w1", "1.5"]):
            self.hinge("stream", *LAMBDA, *first, "a", stdin=TEXT.encode())
            self.hinge("stream", *LAMBDA, "b", *first, stdin=TEXT.encode())
            self.assertEqual(self.read("a"), self.read("b"))


if __name__ == "__main__":
    support.main()
