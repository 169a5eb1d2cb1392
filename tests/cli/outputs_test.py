"""What happens to files when something goes wrong: refused outputs, full disks, damaged models, signals."""

import fcntl
import os
import resource
import signal
import struct
import subprocess
import termios
import unittest

from support import (SIGNALS, TEXT, CommandCase, ModelFile, cpu_seconds, make_rows, table, to_text,
                     unprivileged, waiting)


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
                self.addCleanup(reader.communicate)
                self.addCleanup(reader.kill)
                process = self.start(*arguments)
                run = self.finish(process, timeout=10)
                self.assertEqual(run.code, 0, run)
                self.assertEqual(reader.stdout.read(), content)

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
        run = self.hinge("train", "m", "n", code=80)
        self.assertSays(run, r"m: error: this is a model of hinge, not a data set \[cache\.magic\]")
        run = self.hinge("train", "-", "n", stdin=self.good, code=65)
        self.assertSays(run, r"<stdin>: error: .*looks like.* \[data\.encoding\]")


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

    def fed(self, *arguments, **popen):
        """The program after it has read all that standard input has, which stays open."""
        process = self.start(*arguments, stdin=subprocess.PIPE, **popen)
        process.stdin.write(TEXT.encode())
        process.stdin.flush()
        unread = lambda: struct.unpack("i", fcntl.ioctl(process.stdin, termios.FIONREAD, bytes(4)))[0]
        self.wait(lambda: unread() == 0 and waiting(process), process, "it waits for more input")
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
        self.wait(lambda: waiting(process), process, "it waits for the pipe")
        process.send_signal(signal.SIGINT)
        self.assertEqual(self.finish(process, timeout=10).code, 130)

    def test_nohup(self):
        process = self.fed("train", "-", "m", preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        process.send_signal(signal.SIGHUP)
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
