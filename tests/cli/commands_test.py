"""Every command end to end: what it writes, what it prints, how it ends."""

import fcntl
import json
import math
import os
import resource
import signal
import stat
import struct
import subprocess
import termios
import unittest

from support import (SIGNALS, Case, ModelFile, cpu_seconds, make_rows, parse_text, recompute, sleeping, table,
                     to_text, unprivileged)

DATA = make_rows(200, 10)
TEXT = to_text(DATA)
TINY = "1 1:1 2:0.5\n-1 1:-1 2:2\n1 2:-3\n-1 1:0.25\n"
THREE = make_rows(150, 6, seed=3, classes=(2, 5, 11), noise=0.05)  # three classes

TRAIN_KEYS = set("status solver rows features nonzeros classes cost lambda primal dual relative_gap iterations "
                 "data_passes rows_touched seconds peak_memory_bytes threads model problems".split())
SECONDS_KEYS = {"load", "solve", "certify", "save", "total"}
PROBLEM_KEYS = {"class", "primal", "dual", "relative_gap", "iterations", "seconds"}
EVALUATE_KEYS = set("rows accuracy error precision recall f1 auc average_precision rejected labels confusion".split())
VERIFY_KEYS = {"primal", "dual", "relative_gap", "stored", "agrees"}
STORED_KEYS = {"primal", "dual", "relative_gap"}
INFO_KEYS = {"kind", "rows", "features", "nonzeros", "labels", "index_base", "seconds"}
TRACE_KEYS = set("seconds iteration data_passes primal dual relative_gap active_rows planes step".split())


class CommandCase(Case):
    def setUp(self):
        super().setUp()
        self.write("d.svm", TEXT)

    def train(self, *arguments, data="d.svm", model="m", **how):
        """Trains and returns the JSON object."""
        return self.hinge("train", data, model, "--json", *arguments, **how).json

    def model_bytes(self, *arguments, data="d.svm"):
        self.hinge("train", data, "bytes.model", *arguments)
        return self.read("bytes.model")

    def assertSame(self, *arguments, data="d.svm"):
        """Training like this gives the model of plain `train d.svm`, byte for byte."""
        self.assertEqual(self.model_bytes(*arguments, data=data), self.model_bytes())

    def assertVerifies(self, *arguments, model="m", data="d.svm"):
        found = self.hinge("verify", model, data, "--json", *arguments).json
        self.assertTrue(found["agrees"])
        return found


class TrainTest(CommandCase):
    def test_json(self):
        found = self.train()
        self.assertLessEqual(TRAIN_KEYS, set(found))
        self.assertLessEqual(SECONDS_KEYS, set(found["seconds"]))
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

    def test_time_limit_zero(self):
        run = self.hinge("train", "d.svm", "m", "--time-limit", "0", "--json")
        self.assertEqual(run.json["status"], "limit")
        self.assertSays(run, r"hinge: warning: .*gap.* \[solver\.limit\]")
        self.assertEqual(self.assertVerifies()["primal"], run.json["primal"])
        self.assertEqual(self.hinge("predict", "d.svm", "m").out.count(b"\n"), 200)
        self.assertEqual(ModelFile(self.dir / "m").metadata["status"], "limit")

    def test_max_passes(self):
        found = self.train("--max-passes", "2", "--gap", "1e-9")
        self.assertEqual(found["status"], "limit")
        self.assertGreater(found["relative_gap"], 1e-9)
        self.assertVerifies()

    def test_require_converged(self):
        run = self.hinge("train", "d.svm", "m", "--max-passes", "1", "--gap", "1e-9", "--require-converged", code=3)
        self.assertSays(run, r".* \[solver\.limit\]")
        self.assertVerifies()  # the best so far is kept
        self.hinge("train", "d.svm", "m", "--require-converged")

    def test_separable_with_a_huge_cost(self):
        self.write("s.svm", "".join(f"{y} 1:{y * (i + 1)} 2:{i % 3}\n" for i in range(30) for y in (1, -1)))
        found = self.train("-c", "1e9", "--max-passes", "1000", data="s.svm")
        self.assertIn(found["status"], ("converged", "limit"))
        self.assertEqual(found["status"] == "converged", found["relative_gap"] <= 1e-3)
        self.assertTrue(math.isfinite(found["primal"]))

    def test_constant_duplicate_and_collinear_columns_and_contradicting_rows(self):
        lines = [f"{y} 1:1 2:{i} 3:{i} 4:{2 * i + 1}\n" for i in range(1, 9) for y in (1, -1, 1)]
        self.write("s.svm", "".join(lines))
        found = self.train(data="s.svm")
        self.assertEqual(found["status"], "converged")
        self.assertVerifies(data="s.svm")

    def test_two_rows_are_enough(self):
        self.write("s.svm", "1 1:1\n0 1:-1\n")
        self.assertEqual(self.train(data="s.svm")["classes"], ["1", "0"])

    def test_rows_without_features(self):
        self.write("s.svm", "1 1:1\n-1\n1\n-1 1:-1\n")
        self.assertEqual(self.train(data="s.svm", model="s")["rows"], 4)
        self.assertVerifies(model="s", data="s.svm")

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

    def test_model_mode_follows_umask_and_the_old_file(self):
        self.hinge("train", "d.svm", "m", umask=0o027)
        self.assertEqual(stat.S_IMODE((self.dir / "m").stat().st_mode), 0o640)
        (self.dir / "m").chmod(0o604)
        self.hinge("train", "d.svm", "m", umask=0o027)
        self.assertEqual(stat.S_IMODE((self.dir / "m").stat().st_mode), 0o604)

    def test_a_link_to_a_model_stays_a_link(self):
        self.write("real", "old")
        (self.dir / "link").symlink_to("real")
        self.hinge("train", "d.svm", "link")
        self.assertTrue((self.dir / "link").is_symlink())
        self.assertEqual(self.read("real"), self.model_bytes())

    def test_odd_file_names(self):
        for name in (b"\xff\xfe.svm", b"new\nline.svm", b"-dash.svm", b"--gap", b"100%n.svm", b"sp ace.svm"):
            with self.subTest(name=name):
                self.write(name, TEXT)
                self.hinge("train", "--", name)
                self.assertEqual(self.read(name + b".model"), self.model_bytes())

    def test_a_long_argument(self):
        run = self.hinge("train", "x" * 100_000, "m", code=66)
        self.assertSays(run, r"hinge: error: cannot open x+: File name too long \[io\.open\]")

    def test_bare_environment_and_closed_descriptors(self):
        def close_all():
            for fd in (0, 1, 2):
                os.close(fd)

        plain = self.model_bytes()
        self.hinge("train", "d.svm", "m", preexec_fn=close_all)
        self.assertEqual(self.read("m"), plain)
        for env in ({"HOME": ""}, {"OMP_NUM_THREADS": "abc"}, {"LC_ALL": "de_DE.UTF-8"}, {"TMPDIR": "/nonexistent"}):
            self.hinge("train", "d.svm", "m", env=env)
            self.assertEqual(self.read("m"), plain)


# LIBLINEAR's way to say it, and ours. Both give the same bytes.
SPELLINGS = [
    ("-c", "-c 0.5", "--cost 0.5"),
    ("-e", "-e 0.01", "--gap 0.0001"),
    ("-e default", "-e 0.1", ""),
    ("-B number", "-B 1", "--bias 1"),
    ("-B negative is none", "-B -1", "--bias none"),
    ("-s 3", "-s 3", "--solver auto"),
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


class OptionsBeforeData(CommandCase):
    def test_as_liblinear_scripts_write_them(self):
        self.hinge("train", "-s", "3", "-c", "2", "-w1", "2", "-q", "d.svm", "m")
        self.assertEqual(self.read("m"), self.model_bytes("-c", "2", "-w1", "2"))


def joined(change):
    return "".join(change(line) + "\n" for line in TEXT.splitlines())


# Another way to write TEXT that must give the same model byte for byte.
SAME_DATA = [
    ("T6 no newline at the end", TEXT[:-1]),
    ("T7 CRLF", TEXT.replace("\n", "\r\n")),
    ("T7 CRLF and no newline at the end", TEXT.replace("\n", "\r\n")[:-2]),
    ("T9 byte order mark", "\ufeff" + TEXT),
    ("T11 tabs", TEXT.replace(" ", "\t")),
    ("T11 doubled blanks", TEXT.replace(" ", "  ")),
    ("T11 leading blanks", joined(lambda line: " \t" + line)),
    ("T11 trailing blanks", joined(lambda line: line + " \t ")),
    ("T12 comment at the end of rows", joined(lambda line: line + " # 7:7 \u00e9 \x1b")),
    ("T12 comment without a blank before it", joined(lambda line: line + "#c")),
    ("T12 comment lines", joined(lambda line: "# 1 1:1\n" + line)),
    ("T12 blank lines", joined(lambda line: "\n \t\n" + line)),
    ("L4 labels with signs and points", TEXT.replace("\n1 ", "\n+1.0 ").replace("\n-1 ", "\n-01. ")),
    ("V8 explicit zeros", joined(lambda line: line + " 11:0 12:0.0 13:0e5")),
    ("V9 negative zeros", joined(lambda line: line + " 11:-0 12:-0.0")),
    ("values with a plus sign", TEXT.replace(":0", ":+0")),
    ("values with an exponent", joined(lambda line: " ".join(t + "e0" if ":" in t else t for t in line.split()))),
    ("I7 indices with zeros and signs", TEXT.replace(" 3:", " 003:").replace(" 4:", " +4:")),
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

    def test_one_byte_at_a_time(self):  # T26
        process = self.start("train", "-", "m", stdin=subprocess.PIPE)
        for byte in TINY.encode():
            os.write(process.stdin.fileno(), bytes([byte]))
        process.stdin.close()
        process.stdin = None
        self.assertEqual(self.finish(process).code, 0)
        self.write("t.svm", TINY)
        self.assertEqual(self.read("m"), self.model_bytes(data="t.svm"))

    def test_named_pipe(self):
        os.mkfifo(self.dir / "pipe")
        process = self.start("train", "pipe", "m")
        with open(self.dir / "pipe", "w") as pipe:
            pipe.write(TEXT)
        self.assertEqual(self.finish(process).code, 0)
        self.assertEqual(self.read("m"), self.model_bytes())

    def test_unsorted_rows_are_sorted(self):
        turned = joined(lambda line: " ".join([line.split()[0], *reversed(line.split()[1:])]))
        self.write("e.svm", turned)
        run = self.hinge("train", "e.svm", "m")
        self.assertSays(run, r"hinge: warning: 200 rows .*\(first: e\.svm:1:\d+\) \[data\.index\.unsorted\]")
        self.assertEqual(self.read("m"), self.model_bytes())

    def test_index_base(self):
        self.write("zero.svm", to_text([(label, {j - 1: v for j, v in x.items()}) for label, x in DATA]))
        self.assertEqual(self.hinge("info", "zero.svm", "--json").json["index_base"], 0)
        self.assertEqual(self.hinge("info", "d.svm", "--json").json["index_base"], 1)
        self.assertEqual(self.train(data="zero.svm")["features"], 10)
        self.assertEqual(self.train("--index-base", "0")["features"], 11)
        zero = self.train("--index-base", "0", data="zero.svm", model="zero")
        one = self.train(model="one")
        self.assertEqual(zero["primal"], one["primal"])
        # The model remembers the base: the same predictions from either.
        self.assertEqual(self.hinge("predict", "zero.svm", "zero", "--scores").out,
                         self.hinge("predict", "d.svm", "one", "--scores").out)
        self.assertVerifies(model="zero", data="zero.svm")

    def test_an_index_0_in_a_later_file_counts_for_all(self):
        self.write("part-a", "1 1:1\n-1 2:1\n")
        self.write("part-b", "1 0:1\n-1 2:-1\n")
        found = self.hinge("info", "part-*", "--json").json
        self.assertEqual((found["index_base"], found["features"]), (0, 3))

    def test_labels_in_any_pair(self):  # L7: the larger label is the positive class
        for low, high in ((0, 1), (1, 2), (-1, 1), (-7, -3), (-(2**63), 2**63 - 1)):
            with self.subTest(labels=(low, high)):
                self.write("e.svm", to_text([(high if label == 1 else low, x) for label, x in DATA]))
                self.assertEqual(self.train(data="e.svm", model="e")["classes"], [str(high), str(low)])
                self.assertEqual(ModelFile(self.dir / "e").labels, [high, low])
                self.assertEqual(set(self.hinge("predict", "e.svm", "e").text.split()), {str(low), str(high)})
                self.assertVerifies(model="e", data="e.svm")

    def test_a_row_of_a_million_features(self):  # T20
        self.write("e.svm", "1 " + " ".join(f"{j}:1" for j in range(1, 1_000_001)) + "\n-1 1:1\n")
        found = self.hinge("info", "e.svm", "--json").json
        self.assertEqual((found["rows"], found["nonzeros"]), (2, 1_000_001))


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

    def test_instruction_sets(self):
        scalar = self.model_of("--cpu", "scalar")
        self.assertEqual(self.model_of(), scalar)
        for name in ("avx2", "avx512"):
            with self.subTest(cpu=name):
                run = self.hinge("train", "g.svm", "m", "--cpu", name, code=None)
                if run.code == 69:
                    self.assertSays(run, r".* \[system\.cpu\]")
                    self.skipTest(f"this CPU does not have {name}")
                self.assertEqual(run.code, 0, run)
                self.assertEqual(self.read("m"), scalar)

    def test_one_core(self):
        core = min(os.sched_getaffinity(0))
        self.hinge("train", "g.svm", "m", preexec_fn=lambda: os.sched_setaffinity(0, {core}))
        self.assertEqual(self.read("m"), self.model_of())

    def test_predictions(self):
        self.model_of()
        one = self.hinge("predict", "g.svm", "bytes.model", "--scores", "-n", "1").out
        for threads in (2, 3, 8):
            self.assertEqual(self.hinge("predict", "g.svm", "bytes.model", "--scores", "-n", threads).out, one)


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
            self.assertEqual(said, "1" if float(score) >= 0 else "-1")
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

    def test_no_labels(self):
        self.write("n.svm", joined(lambda line: line.split(" ", 1)[1]))
        run = self.hinge("predict", "n.svm", "m", "--no-labels")
        self.assertEqual(run.out, self.hinge("predict", "d.svm", "m").out)
        self.assertNotIn("accuracy", run.err)

    def test_unseen_features_are_ignored(self):
        self.write("e.svm", joined(lambda line: line + " 11:1e6 99:-5"))
        run = self.hinge("predict", "e.svm", "m", "--scores")
        self.assertSays(run, r"hinge: warning: .* \[data\.index\.unseen\]")
        self.assertEqual(run.out, self.hinge("predict", "d.svm", "m", "--scores").out)

    def test_unseen_labels_are_errors(self):
        self.write("e.svm", TEXT.replace("\n-1 ", "\n7 "))
        run = self.hinge("predict", "e.svm", "m")
        self.assertSays(run, r"hinge: warning: \d+ .* 7.* \[data\.label\.unseen\]")
        self.assertEqual(run.out, self.hinge("predict", "d.svm", "m").out)

    def test_rows_of_a_different_shape(self):
        self.write("e.svm", "1\n-1 10:1\n")
        self.assertEqual(self.hinge("predict", "e.svm", "m").out.count(b"\n"), 2)

    def test_closed_reader(self):  # T24: the shell sees 141, and nothing is said
        read_end, write_end = os.pipe()
        os.close(read_end)
        with open(write_end, "wb") as out:
            run = self.hinge("predict", "d.svm", "m", "-q", stdout=out, code=None)
        self.assertIn(run.code, (141, -signal.SIGPIPE), run)
        self.assertEqual(run.err, "")


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
        self.assertIn("no bound", self.hinge("verify", "m", "d.svm").text)
        found = self.assertVerifies()
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
            "one digit": TEXT.replace(lines[7], lines[7].replace("9", "8", 1), 1),
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

    def test_one_class_is_fine_to_look_at(self):
        self.write("o.svm", "1 1:1\n1 1:2\n")
        self.assertEqual(self.hinge("info", "o.svm", "--json").json["labels"], {"1": 2})


class GenerateTest(Case):
    def test_shapes(self):
        for like, features in (("ccat", 47236), ("cov1", 54), ("real-sim", 20958), ("news20", 1355191), ("dense", None)):
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
        self.hinge("split", "d.svm", "a", "b", *more)
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
    COMMANDS = "train predict evaluate verify generate split info explain".split()

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
                       "--no-witness", "--diagnostics", "--seed", "--trace", "--require-converged", "--quiet", "--json"):
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


class OutputTest(CommandCase):
    """Errors leave no new file, no changed file, and are found before the work starts."""

    def setUp(self):
        super().setUp()
        self.write("old", "an old model")
        self.before = {name: self.read(name) for name in self.files()}

    def refused(self, code, identifier, *arguments, **how):
        run = self.hinge(*arguments, code=code, **how)
        self.assertSays(run, rf".*error: .* \[{identifier}\]")
        self.assertEqual({name: self.read(name) for name in self.files() if (self.dir / name).is_file()}, self.before)
        return run

    def test_bad_data(self):
        self.before["bad.svm"] = self.write("bad.svm", TEXT + "1 1:x\n").read_bytes()
        run = self.refused(65, "data.value", "train", "bad.svm", "new")
        self.assertEqual(run.lines[-1], "hinge: 1 error; no model written")
        run = self.refused(65, "data.value", "train", "bad.svm", "old")
        self.assertEqual(run.lines[-1], "hinge: 1 error; no model written; old unchanged")

    def test_missing_folder(self):
        self.refused(73, "io.create", "train", "d.svm", "no/such/m")
        self.refused(73, "io.create", "train", "d.svm", "m", "--trace", "no/such/trace")
        self.refused(73, "io.create", "generate", "no/such/g")
        self.refused(73, "io.create", "split", "d.svm", "no/such/a", "b")
        self.refused(73, "io.create", "split", "d.svm", "a", "no/such/b")
        (self.dir / "no").mkdir()
        self.refused(73, "io.create", "train", "d.svm", "no")

    def test_missing_folder_for_predictions(self):
        self.hinge("train", "d.svm", "old")
        self.before["old"] = self.read("old")
        self.refused(73, "io.create", "predict", "d.svm", "old", "no/such/labels")

    def test_before_the_data_is_read(self):
        process = self.start("train", "-", "no/such/m", stdin=subprocess.PIPE)  # which nobody ever feeds
        self.assertEqual(self.finish(process).code, 73)

    def test_permission(self):
        nobody = unprivileged(self)
        (self.dir / "closed").mkdir(mode=0o555)
        (self.dir / "old").chmod(0o444)
        self.addCleanup((self.dir / "closed").chmod, 0o755)
        self.refused(77, "io.permission", "train", "d.svm", "closed/m", **nobody)
        self.refused(77, "io.permission", "train", "d.svm", "old", **nobody)
        process = self.start("train", "-", "closed/m", stdin=subprocess.PIPE, **nobody)
        self.assertEqual(self.finish(process).code, 77)

    def test_output_is_input(self):
        self.refused(64, "usage.same-file", "train", "d.svm", "d.svm")
        self.refused(64, "usage.same-file", "train", "d.svm", "./d.svm")
        self.refused(64, "usage.same-file", "train", "d.svm", "m", "--trace", "d.svm")
        self.before["w"] = self.write("w", "1\n" * 200).read_bytes()
        self.refused(64, "usage.same-file", "train", "d.svm", "w", "--weights", "w")
        os.link(self.dir / "d.svm", self.dir / "hard")
        (self.dir / "soft").symlink_to("d.svm")
        self.before["hard"] = self.before["soft"] = TEXT.encode()
        self.refused(64, "usage.same-file", "train", "d.svm", "hard")
        self.refused(64, "usage.same-file", "train", "d.svm", "soft")

    def test_output_is_one_of_several_inputs(self):
        for name in ("part-1", "part-2"):
            self.before[name] = self.write(name, TEXT).read_bytes()
        self.refused(64, "usage.same-file", "train", "part-*", "part-2")
        self.refused(64, "usage.same-file", "train", "part-*", "m", "--trace", "part-1")

    def test_prediction_over_input(self):
        self.hinge("train", "d.svm", "old")
        self.before["old"] = self.read("old")
        self.refused(64, "usage.same-file", "predict", "d.svm", "old", "d.svm")
        self.refused(64, "usage.same-file", "predict", "d.svm", "old", "old")
        for name in ("part-1", "part-2"):
            self.before[name] = self.write(name, TEXT).read_bytes()
        self.refused(64, "usage.same-file", "predict", "part-*", "old", "part-2")

    def test_two_outputs_of_one_name(self):
        self.refused(64, "usage.same-file", "train", "d.svm", "m", "--trace", "m")

    def test_disk_full(self):
        said = r"hinge: error: cannot write /dev/full: No space left on device \(wrote \d+ of \d+ bytes\) \[io\.write\]"
        self.assertSays(self.refused(74, r"io\.write", "train", "d.svm", "/dev/full"), said)

    def test_disk_full_elsewhere(self):
        self.hinge("train", "d.svm", "old")
        self.before["old"] = self.read("old")
        self.refused(74, "io.write", "predict", "d.svm", "old", "/dev/full")
        self.refused(74, "io.write", "generate", "/dev/full", "--rows", "100")
        self.refused(74, "io.write", "train", "d.svm", "/dev/full", "-q")

    def test_disk_full_behind_standard_output(self):
        self.hinge("train", "d.svm", "old")
        self.before["old"] = self.read("old")
        for arguments in (("predict", "d.svm", "old"), ("evaluate", "d.svm", "old"), ("verify", "old", "d.svm"),
                          ("info", "old"), ("info", "d.svm"), ("explain",), ("explain", "io.write"),
                          ("generate", "-", "--rows", "100"), ("train", "d.svm", "-")):
            with self.subTest(arguments), open("/dev/full", "wb") as full:
                self.refused(74, "io.write", *arguments, stdout=full)

    def test_disk_full_behind_json_leaves_a_whole_model(self):
        with open("/dev/full", "wb") as full:
            self.hinge("train", "d.svm", "m", "--json", stdout=full, code=74)
        self.assertVerifies()

    def test_file_size_limit(self):  # R2
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512))

        self.refused(74, "io.write", "train", "d.svm", "old", preexec_fn=limit)

    def test_objective_not_finite(self):  # R19
        self.refused(82, r"solver\.nonfinite", "train", "d.svm", "old", "-c", "1e300", "-w1", "1e10")

    def test_pipes_are_streams(self):
        for arguments, content in ((("train", "d.svm", "pipe"), self.model_bytes()),
                                   (("generate", "pipe", "--rows", "50"),
                                    self.hinge("generate", "-", "--rows", "50").out)):
            with self.subTest(arguments):
                (self.dir / "pipe").unlink(missing_ok=True)
                os.mkfifo(self.dir / "pipe")
                reader = subprocess.Popen(["cat", "pipe"], cwd=self.dir, stdout=subprocess.PIPE)
                process = self.start(*arguments)
                run = self.finish(process, timeout=10)
                self.assertEqual(run.code, 0, run)
                self.assertEqual(reader.communicate()[0], content)

    def test_two_trainings_at_once(self):  # R13
        both = [self.start("train", "d.svm", "m", "-c", cost) for cost in ("1", "2")]
        for process in both:
            self.assertEqual(self.finish(process).code, 0)
        self.assertVerifies()
        self.assertEqual(self.files(), ["d.svm", "m", "old"])


class DamagedModelTest(CommandCase):
    def setUp(self):
        super().setUp()
        self.hinge("train", "d.svm", "m")
        self.good = self.read("m")
        self.place = ModelFile(self.good).place

    def refused(self, data, pattern):
        self.write("x", data)
        for command in (("info", "x"), ("predict", "d.svm", "x"), ("verify", "x", "d.svm"), ("evaluate", "d.svm", "x")):
            run = self.hinge(*command, code=None)
            if command[0] != "info" or run.code != 65:  # info may take a damaged beginning for text
                self.assertEqual(run.code, 80, run)
                self.assertRegex(run.lines[0], pattern)
            self.assertEqual(run.out, b"")

    def test_cut(self):
        end = len(self.good)
        header = struct.unpack_from("<Q", self.good)[0] + 8
        for length in (0, 1, 7, 8, 9, header // 2, header - 1, header, header + 1, end - 8, end - 1):
            with self.subTest(length=length):
                self.refused(self.good[:length], r"^x: error: .* \[model\.(truncated|magic)\]$")

    def test_longer(self):
        self.refused(self.good + b"\0", r"^x: error: .* \[model\.trailing\]$")

    def test_one_bit(self):
        for bit in range(0, 8 * len(self.good), 1 + 8 * len(self.good) // 20):
            with self.subTest(bit=bit):
                damaged = bytearray(self.good)
                damaged[bit // 8] ^= 1 << bit % 8
                self.refused(bytes(damaged), r"^x: error: .* \[model\.\w+\]$")

    def test_the_message_names_the_section(self):
        for name, (offset, size) in self.place.items():
            if size:
                with self.subTest(name):
                    damaged = bytearray(self.good)
                    damaged[offset] ^= 1
                    self.refused(bytes(damaged), rf'^x: error: checksum of section "{name}" \(offset {offset}, '
                                                 rf"{size} bytes\) does not match \[model\.checksum\]$")

    def test_not_a_model(self):
        self.assertSays(self.hinge("predict", "m", "d.svm", code=80), r"d\.svm: error: .* \[model\.magic\]")
        self.assertSays(self.hinge("verify", "d.svm", "m", code=80), r"d\.svm: error: .* \[model\.magic\]")
        self.assertSays(self.hinge("predict", "d.svm", "none", code=66), r"hinge: error: .* \[io\.open\]")
        self.assertSays(self.hinge("predict", "d.svm", ".", code=66), r"hinge: error: .* \[io\.not-a-file\]")

    def test_model_given_as_data(self):
        run = self.hinge("train", "m", "n", code=65)
        self.assertSays(run, r"m: error: .*looks like.* \[data\.encoding\]")


@table([(number.name, number, code) for number, code in SIGNALS.items()])
class SignalTest(CommandCase):
    """A signal while training gives the best model so far; a second one ends at once."""

    def setUp(self):
        super().setUp()
        self.write("hard.svm", to_text(make_rows(300, 20, noise=1)))

    def endless(self, *more):
        """A training that would take very long, once it is well beyond reading its data."""
        process = self.start("train", "hard.svm", "m", "-c", "1e9", "--gap", "1e-15", "--json", *more)
        self.wait(lambda: cpu_seconds(process) > 0.3, process, "it has trained for a while")
        return process

    def check(self, row):
        _, number, code = row
        process = self.endless("--trace", "t")
        process.send_signal(number)
        run = self.finish(process)
        self.assertEqual(run.code, code, run)
        self.assertIn("m holds the best model so far", run.err)
        self.assertEqual(run.json["status"], "interrupted")
        self.assertEqual(self.files(), ["d.svm", "hard.svm", "m", "t"])
        found = self.assertVerifies(data="hard.svm")
        self.assertEqual(found["primal"], run.json["primal"])
        self.assertEqual(self.hinge("info", "m", "--json").json["status"], "interrupted")
        self.assertGreater(self.read("t").count(b"\n"), 0)

    def test_one_against_the_rest(self):
        self.write("hard.svm", to_text(make_rows(300, 20, noise=1, classes=(1, 2, 3))))
        process = self.endless()
        process.send_signal(signal.SIGINT)
        self.assertEqual(self.finish(process).code, 130)
        self.assertVerifies(data="hard.svm")

    def test_second_signal(self):
        self.write("m", "the old model")
        process = self.endless()
        process.send_signal(signal.SIGSTOP)  # so that both signals are there when it goes on
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGCONT)
        run = self.finish(process)
        self.assertIn(run.code, (130, 143), run)
        self.assertEqual(run.out, b"")
        self.assertEqual(self.read("m"), b"the old model")
        self.assertEqual(self.files(), ["d.svm", "hard.svm", "m"])

    def fed(self, *arguments):
        """The program after it has read all that standard input has, which stays open."""
        process = self.start(*arguments, stdin=subprocess.PIPE)
        process.stdin.write(TEXT.encode())
        process.stdin.flush()
        unread = lambda: struct.unpack("i", fcntl.ioctl(process.stdin, termios.FIONREAD, bytes(4)))[0]
        self.wait(lambda: unread() == 0 and sleeping(process), process, "it waits for more input")
        return process

    def test_while_reading(self):
        self.write("old", "the old model")
        for number, code in SIGNALS.items():
            with self.subTest(number.name):
                process = self.fed("train", "-", "old")
                process.send_signal(number)
                run = self.finish(process, timeout=10)
                self.assertEqual(run.code, code, run)
                self.assertSays(run, r"hinge: error: .* \[run\.interrupted\]")
                self.assertEqual(run.lines[-1], "hinge: 1 error; no model written; old unchanged")
                self.assertEqual(self.read("old"), b"the old model")
                self.assertEqual(self.files(), ["d.svm", "hard.svm", "old"])

    def test_while_predicting(self):
        self.hinge("train", "d.svm", "m")
        process = self.fed("predict", "-", "m", "labels")
        process.send_signal(signal.SIGTERM)
        run = self.finish(process, timeout=10)
        self.assertEqual(run.code, 143, run)
        self.assertEqual(self.files(), ["d.svm", "hard.svm", "m"])  # no labels, no temporary file

    def test_while_waiting_for_a_pipe(self):
        os.mkfifo(self.dir / "pipe")
        process = self.start("train", "pipe", "m")  # which nobody ever opens
        self.wait(lambda: sleeping(process), process, "it waits for the pipe")
        process.send_signal(signal.SIGINT)
        self.assertEqual(self.finish(process, timeout=10).code, 130)

    def test_nohup(self):
        process = self.start("train", "-", "m", stdin=subprocess.PIPE,
                             preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        self.wait(lambda: sleeping(process), process, "it waits for input")
        process.send_signal(signal.SIGHUP)
        process.stdin.write(TEXT.encode())
        process.stdin.close()
        process.stdin = None
        self.assertEqual(self.finish(process).code, 0)
        self.assertVerifies()

    def test_stopped_and_continued(self):
        process = self.endless("--time-limit", "1000")
        process.send_signal(signal.SIGSTOP)
        process.send_signal(signal.SIGCONT)
        used = cpu_seconds(process)
        self.wait(lambda: cpu_seconds(process) > used + 0.1, process, "it trains on")
        process.send_signal(signal.SIGTERM)
        self.assertEqual(self.finish(process).code, 143)


if __name__ == "__main__":
    unittest.main()
