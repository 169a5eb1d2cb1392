"""A signal at any moment ends the program within a second, with the best model so far or with none.

Each solver is interrupted at random moments of its life: while it starts, reads, solves, certifies and saves.
HINGE_LONG=1 makes these many. HINGE_SHARED_DATA is the folder of the real data sets (NAME-train.svm.xz); without it
those are left out.
"""

import concurrent.futures
import lzma
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import time

import support
from support import LONG, OLD_MODEL, Case, ModelFile, at_length, cpu_seconds, make_rows, table, to_text, waiting

COUNT = 200 if LONG else 12  # interrupts of each solver
LIMIT = 5  # seconds from signal to end that are a failure; 1 is promised, on a machine that is not busy
SIGNALS = {signal.SIGINT: 130, signal.SIGTERM: 143}
FOLDER = os.environ.get("HINGE_SHARED_DATA", "")

HARD = "-c 1e9 --gap 1e-15"
SOLVERS = [  # name, what all runs have, what makes them end soon, what makes them endless
    ("dual", "--solver dual", "", HARD),
    ("newton", "--solver newton", "--gap 1e-8", HARD),
    ("pegasos", "--solver pegasos", "--gap 0.02", "--gap 1e-15"),
    ("pegasos without a gap", "--solver pegasos", "--epochs 100", "--epochs 1000000000"),
    ("pegasos with a kernel", "--kernel rbf", "--epochs 5", "--epochs 1000000000"),
    ("cpa", "--solver cpa", "--gap 0.01", HARD),
    ("ocas", "--solver ocas", "", HARD),
    ("ocas3", "--solver ocas3", "", HARD),
    ("active", "--solver active", "", HARD),
    ("focus", "--solver focus", "", HARD),
    ("several classes", "--solver ocas", "", HARD),
]


class InterruptCase(Case):
    def interrupt(self, delay, number, *arguments):
        """Sends a signal after some seconds; returns how the program ended and after how many more."""
        process = self.start(*arguments)
        try:
            process.wait(delay)
        except subprocess.TimeoutExpired:
            pass
        process.send_signal(number)
        start = time.monotonic()
        run = self.finish(process, timeout=LIMIT)
        return run, time.monotonic() - start

    def assertEnded(self, run, number, model):
        """As it should have: all of a model or nothing."""
        there = (self.dir / model).exists()
        if run.code in (0, SIGNALS[number]) and there:
            status = ModelFile(self.dir / model).metadata["status"]
            self.assertEqual(status == "interrupted", run.code != 0, run)
            if run.code != 0:
                self.assertIn(f"{model} holds the best model so far", run.err)
            return
        self.assertFalse(there, run)
        if run.code != -number:  # which is before the program has said how it takes signals
            self.assertEqual(run.code, SIGNALS[number], run)
            self.assertSays(run, r"hinge: error: .* \[run\.interrupted\]")
            self.assertEqual(run.lines[-1], "hinge: 1 error; no model written")


@table(SOLVERS)
class RandomInterruptTest(InterruptCase):
    def check(self, row):
        name, options, soon, never = row
        classes = (1, 2, 3, 4) if name == "several classes" else (-1, 1)
        self.write("d.svm", to_text(make_rows(400, 20, classes=classes, noise=0.5)))
        ends, endless = (["train", "d.svm", *options.split(), "-n", "2", *more.split()] for more in (soon, never))
        start = time.monotonic()
        self.hinge(*ends, "m")
        whole = time.monotonic() - start  # half of the runs would take so long, the others for ever
        (self.dir / "m").unlink()
        draw = random.Random(name)
        plan = [(k, draw.uniform(0, 1.3 * whole)) for k in range(COUNT)]

        def one(item):
            k, delay = item
            number = list(SIGNALS)[k // 2 % 2]
            return self.interrupt(delay, number, *(endless if k % 2 else ends), f"m{k}"), number

        with concurrent.futures.ThreadPoolExecutor(2) as two:
            done = list(two.map(one, plan))
        models, longest = 0, 0
        for k, ((run, seconds), number) in enumerate(done):
            self.assertEnded(run, number, f"m{k}")
            longest = max(longest, seconds)
            if (self.dir / f"m{k}").exists():
                models += 1
                if models % 20 == 1:
                    self.assertTrue(self.hinge("verify", f"m{k}", "d.svm", "--json").json["agrees"])
        for wait in (3, 10, 30):  # on a busy machine all signals may have come before there was a model
            if models == 0:
                run, _ = self.interrupt(wait * whole, signal.SIGINT, *endless, "m9999")
                self.assertEnded(run, signal.SIGINT, "m9999")
                models += (self.dir / "m9999").exists()
        self.assertGreater(models, 0)
        left = [f for f in self.files() if f != "d.svm" and not f[1:].isdigit()]
        self.assertEqual(left, [])  # no temporary file
        print(f"{name}: {COUNT} interrupts, {models} models, at most {longest:.3f} s", file=sys.stderr)


class SecondSignalTest(InterruptCase):
    def test_it_ends_at_once(self):
        """Also where the first may take its time."""
        self.write("d.svm", to_text(make_rows(400, 20, noise=0.5)))
        self.write("m", OLD_MODEL)
        process = self.start("train", "d.svm", "m", "--kernel", "rbf", "--epochs", "1000000000")
        self.wait(lambda: cpu_seconds(process) > 0.1, process, "it is at work")
        process.send_signal(signal.SIGSTOP)  # so that both are there when it goes on
        process.send_signal(signal.SIGHUP)
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGCONT)
        self.assertIn(self.finish(process, timeout=LIMIT).code, (129, 143))
        self.assertEqual((self.read("m"), self.files()), (OLD_MODEL, ["d.svm", "m"]))


class PipeTest(InterruptCase):
    """Whoever waits for a model that does not come can still be told to end."""

    def check_waiting(self, model, **popen):
        self.write("d.svm", to_text(make_rows(10, 3)))
        process = self.start("predict", "d.svm", model, **popen)
        self.wait(lambda: waiting(process), process, "it waits")
        process.send_signal(signal.SIGTERM)
        run = self.finish(process, timeout=LIMIT)
        self.assertEqual(run.code, 143, run)
        self.assertSays(run, r"hinge: error: .* \[run\.interrupted\]")

    def test_standard_input(self):
        self.check_waiting("-", stdin=subprocess.PIPE)

    def test_a_named_pipe(self):
        os.mkfifo(self.dir / "pipe")
        self.check_waiting("pipe")


COMMANDS = [
    "predict d.svm m out", "evaluate d.svm m", "verify m d.svm", "verify bare d.svm --prove --gap 1e-6", "check d.svm",
    "convert d.svm out", "convert d.svm out --to binary", "convert d.hinge out --to text", "split d.svm out out2",
    "compare d.svm --svg out --gap 1e-5", "train d.svm -v 3 --gap 1e-5", "generate out --like ccat --rows 4000",
    "train d.svm out --cache", "tune d.svm out --cost 1 --gap 1e-5", "evaluate d.svm m --curve out",
]


class OutputPipeTest(InterruptCase):
    """Named pipes as outputs that nobody reads, or not to the end."""

    def setUp(self):
        super().setUp()
        self.write("d.svm", to_text(make_rows(40, 5, 1)))
        os.mkfifo(self.dir / "pipe")

    def assertInterrupted(self, process, text):
        begun = time.monotonic()
        process.send_signal(signal.SIGINT)
        run = self.finish(process)
        self.assertLess(time.monotonic() - begun, LIMIT)
        self.assertEqual(run.code, 130, run)
        self.assertIn(text, run.err)
        self.assertIn("[run.interrupted]", run.err)

    def test_a_model_that_nobody_reads(self):
        process = self.start("train", "d.svm", "pipe")
        self.wait(lambda: waiting(process), process, "it waits")
        self.assertInterrupted(process, "nobody reads pipe")
        self.hinge("verify", "pipe.model", "d.svm")

    def test_a_trace_that_nobody_reads(self):
        process = self.start("train", "d.svm", "m", "--trace", "pipe")
        while not (self.dir / "m").exists():
            time.sleep(0.01)
        self.assertInterrupted(process, "the model was written, the trace was not")
        self.hinge("verify", "m", "d.svm")

    def test_a_signal_before_the_wait(self):
        process = self.start("train", "d.svm", "pipe", *HARD.split(), "--solver", "dual", "--time-limit", "100")
        time.sleep(0.3)
        self.assertInterrupted(process, "nobody reads pipe")

    def test_a_reader_that_goes(self):
        process = self.start("train", "d.svm", "m", "--trace", "pipe", *HARD.split(), "--time-limit", "0.5")
        reader = os.open(self.dir / "pipe", os.O_RDONLY)
        os.close(reader)
        run = self.finish(process)
        self.assertIn(run.code, (0, 74), run)
        self.assertTrue((self.dir / "m").exists())

    def test_a_checkpoint_is_no_pipe(self):
        run = self.hinge("train", "d.svm", "m", "--resume", "pipe", code=66)
        self.assertIn("[io.not-a-file]", run.err)


class CommandTest(InterruptCase):
    def test_commands(self):
        self.hinge("generate", "d.svm", "--like", "real-sim", "--rows", "5000" if LONG else "500")
        self.hinge("convert", "d.svm", "d.hinge")
        self.hinge("train", "d.svm", "m")
        self.hinge("train", "d.svm", "bare", "--no-witness")
        before = self.files()
        draw = random.Random("commands")
        longest = 0
        for command in COMMANDS:
            start = time.monotonic()
            self.hinge(*command.split())
            whole = time.monotonic() - start
            results = [f for f in self.files() if f not in before]
            for _ in range(6 if LONG else 2):
                for name in results:
                    (self.dir / name).unlink(missing_ok=True)
                with self.subTest(command):
                    run, seconds = self.interrupt(draw.uniform(0, whole), signal.SIGINT, *command.split())
                    self.assertIn(run.code, (0, 130, -signal.SIGINT), run)
                    there = [f for f in self.files() if f not in before]
                    self.assertLessEqual(set(there), set(results), run)  # no temporary file
                    if run.code == 0:
                        self.assertEqual(there, results, run)
                    longest = max(longest, seconds)
            for name in results:
                (self.dir / name).unlink(missing_ok=True)
        print(f"commands: at most {longest:.3f} s", file=sys.stderr)


@at_length()
class LargeTest(InterruptCase):
    def test_a_certificate_that_takes_too_long(self):
        """With a kernel it takes as many kernel values as there are pairs of rows."""
        self.write("d.svm", to_text(make_rows(8000, 30, noise=1)))
        process = self.start("train", "d.svm", "m", "--kernel", "rbf", "--gamma", "5", "--epochs", "1000000", "--json")
        self.wait(lambda: cpu_seconds(process) > 3, process, "it is at work")
        start = time.monotonic()
        process.send_signal(signal.SIGINT)
        run = self.finish(process, timeout=LIMIT)
        print(f"large kernel: {time.monotonic() - start:.3f} s", file=sys.stderr)
        self.assertEqual(run.code, 130, run)
        found = run.json
        self.assertEqual(found["status"], "interrupted")
        if found["primal"] is not None:
            self.skipTest("this machine is so fast that the certificate was there in time")
        self.assertEqual((found["dual"], found["relative_gap"]), (None, None))
        self.assertEqual(found["problems"][0]["primal"], None)
        self.assertSays(run, r".*warning: .* \[certificate\.skipped\]")
        about = self.hinge("info", "m", "--json").json
        self.assertEqual((about["primal"], about["dual"], about["relative_gap"]), (None, None, None))
        verified = self.hinge("verify", "m", "d.svm", "--json", timeout=300).json
        self.assertTrue(verified["agrees"])
        self.assertEqual(verified["stored"], {"primal": None, "dual": None, "relative_gap": None})
        self.assertLessEqual(verified["dual"], verified["primal"])

    def test_real_size(self):
        source = pathlib.Path(FOLDER, "covtype-train.svm.xz")
        if not FOLDER or not source.is_file():
            self.skipTest(f"{source.name} is not there; HINGE_SHARED_DATA is " + (FOLDER or "not set"))
        with lzma.open(source) as packed, open(self.dir / "d.svm", "wb") as plain:
            shutil.copyfileobj(packed, plain, 1 << 20)
        self.hinge("convert", "d.svm", "d.hinge")
        draw = random.Random("real")
        longest = 0
        for data, span in (("d.svm", 0.4), ("d.hinge", 1.5)):
            for solver in ("dual", "newton", "pegasos", "cpa", "ocas", "ocas3", "active", "focus"):
                with self.subTest(solver, data=data):
                    run, seconds = self.interrupt(draw.uniform(0.05, span), signal.SIGINT, "train", data, "m", "--solver",
                                                  solver, "--gap", "1e-9")
                    longest = max(longest, seconds)
                    self.assertEnded(run, signal.SIGINT, "m")
                    (self.dir / "m").unlink(missing_ok=True)
        print(f"real size: at most {longest:.3f} s", file=sys.stderr)


if __name__ == "__main__":
    support.main()
