"""`hinge train --checkpoint` and `--resume`: whatever ends a run, the next one goes on to the same model, byte for byte.

HINGE_FILE_FAULTS is the library built from tests/faults (faults_test.py says more). HINGE_LONG=1 makes kills many.
"""

import os
import random
import re
import resource
import signal
import subprocess
import time
import unittest

import support
from support import (ENVIRONMENT, LONG, PROGRAM, THREE, CommandCase, Container, ErrorCase, make_rows, table, to_text)

KILLS = int(os.environ.get("HINGE_KILLS", 200 if LONG else 2))  # of each solver, at random moments
FILE_FAULTS = os.environ.get("HINGE_FILE_FAULTS", "")

RBF = "-s pegasos --kernel rbf --gamma 0.3"
SOLVERS = [
    ("dual", "-s dual --gap 1e-9 -c 10"),
    ("dual, three classes", "-s dual --gap 1e-7 -c 100 -n 2 --three"),
    ("newton", "-s newton --gap 1e-9 -c 10"),
    ("newton, three classes", "-s newton --gap 1e-9 -c 100 -n 2 --three"),
    ("pegasos", "-s pegasos --epochs 1500"),
    ("pegasos, three classes", "-s pegasos --epochs 600 --projection on -n 2 --three"),
    ("kernel", RBF + " --epochs 30"),
    ("kernel, budget", RBF + " --epochs 15 --budget 20 --iterate average"),
    ("cpa", "-s cpa --gap 0.001"),
    ("ocas", "-s ocas --gap 1e-8"),
    ("ocas3", "-s ocas3 --gap 1e-6"),
    ("active", "-s active --gap 1e-6"),
    ("focus", "-s focus --gap 1e-9"),
]


class CheckpointCase(CommandCase):
    def setUp(self):
        super().setUp()
        self.write("three.svm", to_text(THREE))
        self.write("hard.svm", to_text(make_rows(600, 20, noise=0.4)))

    def checkpoints(self):
        return [name for name in self.files() if name in ("ck", "ck.previous")]

    def forget(self):
        for name in self.files():
            if name.startswith("ck"):
                (self.dir / name).unlink()

    def stop(self, *arguments, data="hard.svm", passes="20"):
        """A run that a limit ended, with a checkpoint in ck; returns the model of one that was not."""
        whole = self.model_bytes(*arguments, data=data)
        self.hinge("train", data, "cut.model", *arguments, "--checkpoint", "ck", "--every", "1e-9", "--max-passes", passes)
        self.assertEqual(self.checkpoints(), ["ck", "ck.previous"])
        self.assertNotEqual(self.read("cut.model"), whole)
        return whole

    def resumed(self, *arguments, data="hard.svm", **how):
        run = self.hinge("train", data, "m", "--resume", "ck", *arguments, **how)
        return run, self.read("m") if run.code == 0 else None


@table(SOLVERS)
class KillTest(CheckpointCase):  # R6, R12, R14
    """SIGKILL at random moments, again and again, until the training is through; and so over and over."""

    def check(self, row):
        options = row[1].split()
        data = "three.svm" if "--three" in options else "hard.svm"
        options = [o for o in options if o != "--three"]
        whole = self.model_bytes(*options, data=data)
        self.hinge("train", data, "m", *options, "--checkpoint", "ck", "--every", "0.002")
        self.assertEqual(self.read("m"), whole)
        draw = random.Random(5)
        begin = time.monotonic()
        self.hinge("train", data, "m", *options)
        usual = time.monotonic() - begin
        ends = kills = 0
        self.forget()
        while kills < KILLS or ends == 0:
            there = bool(self.checkpoints())
            more = ["--resume", "ck", *(["-n", draw.choice("12")] if "-n" not in options else [])] if there else [
                *options, "--checkpoint", "ck"]
            process = subprocess.Popen([PROGRAM, "train", data, "m", *more, "--every", "0.002", "-q"], cwd=self.dir,
                                       env=ENVIRONMENT, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
            try:  # one that begins anew is left enough time for a checkpoint now and then
                process.wait(draw.uniform(0, 1.5 if kills < KILLS else 50) * usual)
            except subprocess.TimeoutExpired:
                process.kill()
                kills += 1
            error = process.communicate()[1].decode()
            self.assertIn(process.returncode, (0, -signal.SIGKILL), error)
            if process.returncode == 0:
                self.assertEqual(self.read("m"), whole)
                ends += 1
                self.forget()
        self.assertGreater(ends, 0)


class FaultTest(CheckpointCase):
    @unittest.skipUnless(FILE_FAULTS, "HINGE_FILE_FAULTS does not name the fault library")
    def test_killed_at_every_change_of_a_file(self):  # R5, R6
        options = ["-s", "dual", "--gap", "1e-3", "-n", "1"]
        whole = self.model_bytes(*options, data="hard.svm")
        number = 0
        while True:
            number += 1 if LONG else 7
            self.forget()
            env = {"LD_PRELOAD": FILE_FAULTS, "HINGE_FAULT": f"any:{number}:kill", "HINGE_FAULT_ROOT": str(self.dir),
                   "ASAN_OPTIONS": "verify_asan_link_order=0"}
            run = self.hinge("train", "hard.svm", "m", *options, "--checkpoint", "ck", "--every", "1e-9", env=env,
                             code=None)
            if run.code == 0:
                break
            self.assertEqual(run.code, -signal.SIGKILL, run)
            if self.checkpoints():
                self.assertEqual(self.resumed()[1], whole)
        self.assertGreater(number, 40)

    def test_full_disk(self):  # R3
        whole = self.stop()
        kept = {name: self.read(name) for name in self.checkpoints()}

        def no_room():
            resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

        run, model = self.resumed("--every", "1e-9", preexec_fn=no_room)
        self.assertEqual(model, whole)
        self.assertSays(run, r"hinge: warning: \d+ checkpoints could not be written, training went on: cannot write ck: "
                             r"File too large .* \[checkpoint\.write\]")
        # The last of them is small: the result. Whatever was written, the last good one is still there.
        self.assertIn(kept["ck"], [self.read(name) for name in self.checkpoints()])
        self.assertEqual([name for name in self.files() if ".tmp" in name or ".lock" in name], [])

    def test_damaged(self):  # R16
        whole = self.stop()
        good, older = self.read("ck"), self.read("ck.previous")
        self.assertNotEqual(good, older)
        draw = random.Random(1)
        cuts = [0, 1, 7, 8, 9, 100, len(good) // 2, len(good) - 1]
        damages = [good[:cut] for cut in cuts] + [good + b"x", b"no checkpoint at all\n", self.read("cut.model")]
        for _ in range(25 if LONG else 5):
            at = draw.randrange(len(good))
            damages.append(good[:at] + bytes([good[at] ^ 1 << draw.randrange(8)]) + good[at + 1 :])
        for damage in damages:
            self.write("ck", damage)
            (self.dir / "ck.previous").write_bytes(older)
            run, model = self.resumed()
            self.assertSays(run, r"ck: warning: .*; going on from ck\.previous, .* \[checkpoint\.previous\]")
            self.assertEqual(model, whole)
            self.write("ck", damage)
            self.write("ck.previous", damage)
            run = self.hinge("train", "hard.svm", "m", "--resume", "ck", code=80)
            self.assertRegex(run.lines[0], r"^ck: error: .* \[checkpoint\.(truncated|magic|header|checksum|trailing|endian)\]$")
        self.forget()
        self.write("ck.previous", older)
        self.assertEqual(self.resumed()[1], whole)  # killed between two names, on an odd file system
        self.forget()
        self.hinge("train", "hard.svm", "m", "--resume", "ck", code=66)

    def test_forged(self):
        """Checksums are right and states are not: refused, or trained with, but never worse."""
        draw = random.Random(2)
        for options in ("-s dual", "-s pegasos --epochs 40", "-s focus --gap 1e-6"):
            self.forget()
            self.stop(*options.split(), passes="9")
            for number in range(20 if LONG else 4):
                file = Container(self.dir / "ck.previous")
                states = file.arrays["states"]
                if number % 4 == 0:
                    del states[draw.randrange(len(states)) :]
                    file.arrays["sizes"][0] = len(states)
                else:
                    for _ in range(4):
                        states[draw.randrange(len(states) if number % 2 else 200)] = draw.randrange(256)
                self.write("ck", file.to_bytes())
                run = self.hinge("train", "hard.svm", "m", "--resume", "ck", "--time-limit", "0.05", code=None)
                self.assertIn(run.code, (0, 80, 82), run)

    def test_forged_lists(self):
        """What a checkpoint says it holds must fit together; nothing is trained with the rest."""
        self.stop()
        (self.dir / "ck.previous").unlink()
        data = self.read("ck")
        lists = {"no problems": lambda f: [f.arrays[name].__delitem__(slice(None)) for name in ("sizes", "gaps", "passes", "done")],
                 "cut": lambda f: f.arrays["cut"].__setitem__(0, 1), "nothing cut": lambda f: f.arrays["cut"].__setitem__(1, 0),
                 "too many": lambda f: f.arrays["cut"].__setitem__(1, 2**40), "done": lambda f: f.arrays["done"].__setitem__(0, 2),
                 "beyond": lambda f: f.arrays["sizes"].__setitem__(0, 2**60), "short": lambda f: f.arrays["sizes"].__setitem__(0, 8),
                 "gap": lambda f: f.arrays["gaps"].__setitem__(0, float("nan")),
                 "passes": lambda f: f.arrays["passes"].__setitem__(0, float("inf")),
                 "sizes": lambda f: f.shapes.__setitem__("sizes", [1, 1]),
                 "states": lambda f: f.shapes.__setitem__("states", [1, len(f.arrays["states"])])}
        for name, forge in lists.items():
            with self.subTest(name):
                file = Container(data)
                forge(file)
                self.write("ck", file.to_bytes())
                for command in (("train", "hard.svm", "m", "--resume", "ck"), ("info", "ck")):
                    run = self.hinge(*command, code=80)
                    self.assertRegex(run.lines[0], r"^ck: error: .* \[checkpoint\.(content|header)\]$")
                self.assertNotIn("m", self.files())
        file = Container(data)
        file.metadata["trained_on.rows"] = "many"
        self.write("ck", file.to_bytes())
        self.assertRegex(self.hinge("info", "ck", code=80).lines[0], r"^ck: error: .* \[checkpoint\.header\]$")


class LockTest(CheckpointCase, ErrorCase):
    def endless(self, *more):
        process = self.start("train", "hard.svm", "m", "-s", "dual", "-c", "1e9", "--gap", "1e-15", "--checkpoint", "ck", *more)
        self.wait(lambda: "ck.lock" in self.files() and self.read("ck.lock"), process, "it has the lock")
        return process

    def test_held_and_stale(self):  # R13, R14
        process = self.endless()
        run = self.hinge("train", "hard.svm", "n", "--checkpoint", "ck", code=75)
        self.assertRegex(run.lines[0], rf"^hinge: error: ck\.lock is held by process {process.pid} \[lock\.held\]$")
        self.assertExplained("lock.held")
        self.assertNotIn("n", self.files())
        process.kill()
        process.wait()
        run = self.hinge("train", "hard.svm", "n", "--checkpoint", "ck")
        self.assertSays(run, rf"hinge: warning: ck\.lock was left by process {process.pid}.* \[lock\.stale\]")
        self.assertNotIn("ck.lock", self.files())

    def test_a_file_that_is_no_lock(self):
        self.write("ck.lock", "mine")
        run = self.hinge("train", "hard.svm", "n", "--checkpoint", "ck", code=73)
        self.assertEqual(run.lines[0], "hinge: error: ck.lock is there, and is no lock [io.create]")
        self.assertEqual(self.read("ck.lock"), b"mine")
        self.write("ck.lock", to_text(THREE))
        self.hinge("train", "ck.lock", "n", "--checkpoint", "ck", code=64)
        self.hinge("train", "hard.svm", "ck.previous")
        self.hinge("train", "hard.svm", "n", "--start", "ck.previous", "--checkpoint", "ck", code=64)

    def test_on_request(self):  # R8
        process = self.endless("--every", "1e6", "-n", "1")
        for _ in range(2):
            self.assertNotIn("ck", self.files())
            time.sleep(0.2)
            process.send_signal(signal.SIGUSR1)
            self.wait(lambda: "ck" in self.files(), process, "there is a checkpoint")
            self.assertEqual(self.hinge("info", "ck", "--json").json["kind"], "checkpoint")
            (self.dir / "ck").unlink()
        process.send_signal(signal.SIGINT)
        self.assertEqual(self.finish(process).code, 130)
        self.hinge("info", "m")

    def test_request_without_checkpoints_does_nothing(self):
        process = self.start("train", "hard.svm", "m", "-s", "dual", "-c", "1e9", "--gap", "1e-15")
        time.sleep(0.3)
        process.send_signal(signal.SIGUSR1)
        time.sleep(0.1)
        self.assertIsNone(process.poll())
        process.send_signal(signal.SIGTERM)
        self.assertEqual(self.finish(process).code, 143)


class AgreementTest(CheckpointCase, ErrorCase):
    def refused(self, field, *arguments, data="hard.svm"):
        before = {name: self.read(name) for name in self.files()}
        run = self.hinge("train", data, "m", "--resume", "ck", *arguments, code=80)
        self.assertRegex(run.lines[0], rf"^ck: error: {re.escape(field)} \[checkpoint\.mismatch\]$")
        self.assertEqual({name: self.read(name) for name in self.files()}, before)

    def test_options(self):  # R15
        whole = self.stop("-s", "focus", "-c", "3", "--gap", "1e-6", "-w1", "2", "--bias", "1", passes="15")
        self.refused("--cost: 3 in the checkpoint, 2 now", "-c", "2")
        self.refused("--lambda: not given in the checkpoint, 0.5 now", "--lambda", "0.5")
        self.refused("--gap: 1e-06 in the checkpoint, 0.01 now", "--gap", "0.01")
        self.refused("--gap: 1e-06 in the checkpoint, 0.01 now", "-e", "1")
        self.refused("--target: not given in the checkpoint, 5 now", "--target", "5")
        self.refused("--gap-absolute: not given in the checkpoint, 2 now", "--gap-absolute", "2")
        self.refused("--solver: focus in the checkpoint, ocas now", "-s", "ocas")
        self.refused("--bias: 1 in the checkpoint, 2 now", "--bias", "2")
        self.refused("--class-weight: 1=2 in the checkpoint, 1=2 -1=3 now", "-w1", "2", "-w-1", "3")
        self.refused("--class-weight: 1=2 in the checkpoint, balanced now", "--class-weight", "balanced")
        self.refused("--reject: not given in the checkpoint, given now", "--reject")
        self.refused("--no-witness: not given in the checkpoint, given now", "--no-witness")
        self.refused("--seed: 1 in the checkpoint, 2 now", "--seed", "2")
        self.refused("--planes: not given in the checkpoint, 7 now", "--planes", "7")
        self.refused("--mu: not given in the checkpoint, 0.3 now", "--mu", "0.3")
        # The same again, and what changes no result.
        self.assertEqual(self.resumed("-c", "3", "-w1", "2", "-s", "focus", "--bias", "1", "--gap", "1e-6", "-n", "2",
                                      "--cpu", "scalar", "--memory", "1G", "--max-passes", "100000",
                                      "--time-limit", "1000", "--max-classes", "5")[1], whole)

    def test_goals_come_back(self):
        whole = self.stop("-s", "active", "--gap-per-row", "1e-6", passes="15")
        self.refused("--gap-per-row: 1e-06 in the checkpoint, 0.1 now", "--gap-per-row", "0.1")
        self.refused("--gap: not given in the checkpoint, 0.001 now", "--gap", "0.001")
        run, model = self.resumed("--json")
        self.assertEqual(model, whole)
        self.assertEqual(run.json["goals"], {"gap_per_row": 1e-6})

    def test_data(self):  # R15
        text = self.read("hard.svm").decode()
        self.write("w", "1\n" * 599 + "2\n")
        whole = self.stop("--precision", "f64", "--weights", "w")
        lines = text.splitlines(keepends=True)
        self.write("fewer.svm", "".join(lines[:-1]))
        self.write("v", "1\n" * 599)
        self.refused("rows of the data: 600 in the checkpoint, 599 now", "--weights", "v", data="fewer.svm")
        self.write("other.svm", "".join([lines[1], lines[0], *lines[2:]]))
        other = self.hinge("train", "other.svm", "m", "--resume", "ck", "--weights", "w", code=80)
        self.assertRegex(other.lines[0], r"^ck: error: fingerprint of the data: \w+ in the checkpoint, \w+ now \[")
        self.refused("weights of the data: yes in the checkpoint, no now")
        self.refused("precision of the data: f64 in the checkpoint, f32 now", "--precision", "f32", "--weights", "w")
        self.refused("index_base of the data: 1 in the checkpoint, 0 now", "--index-base", "0", "--weights", "w")
        self.assertEqual(self.resumed("--weights", "w")[1], whole)

    def test_start(self):
        self.hinge("train", "hard.svm", "a", "-s", "pegasos", "--epochs", "1")
        self.hinge("train", "hard.svm", "b", "-s", "pegasos", "--epochs", "2")
        whole = self.stop("-s", "pegasos", "--epochs", "40", "--start", "a")
        for start in ([], ["--start", "b"]):
            run = self.hinge("train", "hard.svm", "m", "--resume", "ck", *start, code=80)
            self.assertRegex(run.lines[0], r"^ck: error: start: \w+ in the checkpoint, \w+ now \[checkpoint\.mismatch\]$")
        self.assertEqual(self.resumed("--start", "a")[1], whole)

    def test_version(self):
        self.stop()
        file = Container(self.dir / "ck")
        file.metadata["written_by"] = "hinge 99.0.0"
        self.write("ck", file.to_bytes())
        now = self.hinge("--version").text.split()[-1]
        self.refused(f"version: hinge 99.0.0 in the checkpoint, hinge {now} now")
        file.metadata["version"] = "99"
        self.write("ck", file.to_bytes())
        self.refused(f"version: format 99, by hinge 99.0.0, in the checkpoint; format 2, hinge {now} now")

    def test_option_of_another_version(self):
        self.stop()
        file = Container(self.dir / "ck")
        file.metadata["option.foo"] = "1"
        self.write("ck", file.to_bytes())
        run = self.hinge("train", "hard.svm", "m", "--resume", "ck", code=80)
        self.assertRegex(run.lines[0], r"^ck: error: .*--foo.* \[checkpoint\.mismatch\]$")

    def test_limits_within_a_round(self):
        """A limit that ends a round of focus leaves no state that the run would not have come to."""
        self.hinge("generate", "dense.svm", "--like", "dense", "--rows", "1000")
        for passes in range(12, 32, 4):
            self.forget()
            whole = self.stop("-s", "focus", "--gap", "1e-6", data="dense.svm", passes=str(passes))
            self.assertEqual(self.resumed(data="dense.svm")[1], whole, passes)

    def test_threads_may_differ(self):
        """Pegasos cuts classes into sweeps by the number of threads; a checkpoint remembers."""
        options = ["-s", "pegasos", "--epochs", "50"]
        rows = make_rows(200, 6, classes=range(9))
        self.write("nine.svm", to_text(rows))
        for first, second in (("1", "4"), ("4", "1")):
            whole = self.stop(*options, "-n", first, data="nine.svm")
            self.assertEqual(self.resumed("-n", second, data="nine.svm")[1], whole)
            self.forget()

    def test_lanes_stay(self):
        """Lanes follow the threads asked for; a checkpoint remembers how many there were."""
        self.hinge("generate", "dense.svm", "--like", "dense", "--rows", "12000", "--features", "50")
        options = ["-s", "dual", "--gap", "1e-6"]
        for first, second, lanes in (("1", "3", None), ("3", "1", 2), ("8", "2", 2)):
            whole = self.stop(*options, "-n", first, data="dense.svm", passes="4")
            run, model = self.resumed("-n", second, "--json", data="dense.svm")
            self.assertEqual(model, whole)
            self.assertEqual(run.json["lanes"], lanes or 1)
            self.assertEqual(self.hinge("info", "m", "--json").json.get("lanes"), lanes)
            self.forget()
        self.stop(*options, "-n", "2", data="dense.svm", passes="4")
        run = self.hinge("train", "dense.svm", "m", "--resume", "ck", "--lanes", "4", code=80)
        self.assertIn("--lanes: not given in the checkpoint, 4 now", run.lines[0])

    def test_reports_go_on(self):
        """Counters too: what the report says is what the undisturbed run says."""
        for options in ("-s dual", "-s ocas --gap 1e-5", "-s pegasos --epochs 40"):
            self.forget()
            self.stop(*options.split(), passes="9")
            plain = self.train(*options.split(), data="hard.svm")
            found = self.train("--resume", "ck", data="hard.svm")
            for key in ("iterations", "rows_touched", "objective_rows", "search_rows", "primal", "dual", "status"):
                self.assertEqual(found[key], plain[key], (options, key))

    def test_done_classes_are_not_trained_again(self):
        options = ["-s", "dual", "--gap", "1e-6", "-c", "100", "-n", "1"]
        whole = self.model_bytes(*options, data="three.svm")
        limit = 0.02
        for _ in range(50):  # until it comes after the first class is done and before the last one is
            self.forget()
            run = self.hinge("train", "three.svm", "m", *options, "--checkpoint", "ck", "--every", "1e-9",
                             "--time-limit", f"{limit:.6f}", "--json")
            found = self.hinge("info", "ck", "--json").json if self.checkpoints() else {"done": 0}
            if 0 < found["done"] < 3:
                break
            limit *= 0.7 if run.json["status"] == "converged" else 1.4
        self.assertIn(found["done"], (1, 2))
        self.assertEqual(found["problems"], 3)
        self.assertEqual(self.resumed(data="three.svm")[1], whole)


class UseTest(CheckpointCase, ErrorCase):
    def test_info(self):
        self.stop("-w1", "2", "-w-1", "3", "--bias", "1", "--gap", "1e-5")
        found = self.hinge("info", "ck", "--json").json
        self.assertEqual((found["kind"], found["solver"], found["problems"], found["done"], found["begun"]),
                         ("checkpoint", "auto:dual", 1, 0, 1))
        self.assertEqual(found["options"], {"cost": "1", "gap": "1e-05", "solver": "auto", "bias": "1", "seed": "1",
                                            "class-weight": "1=2 -1=3"})
        self.assertEqual(found["trained_on"]["rows"], 600)
        self.assertGreater(found["data_passes"], 1)
        self.assertLess(found["relative_gap"], 1)
        self.assertIn("class-weight     1=2 -1=3\n", self.hinge("info", "ck").text)

    def test_a_checkpoint_that_is_there_already(self):
        whole = self.stop()
        run = self.hinge("train", "hard.svm", "m", "--checkpoint", "ck")
        self.assertEqual(run.lines[0], "hinge: warning: ck will be replaced; --resume ck would go on from it "
                                       "[checkpoint.exists]")
        self.assertEqual(self.read("m"), whole)

    def test_another_file_for_further_checkpoints(self):
        whole = self.stop()
        kept = self.read("ck")
        self.assertEqual(self.resumed("--checkpoint", "ck2", "--every", "1e-9")[1], whole)
        self.assertEqual(self.read("ck"), kept)
        self.assertIn("ck2", self.files())

    def test_through_a_link(self):
        (self.dir / "folder").mkdir()
        (self.dir / "ck").symlink_to("folder/real")
        self.hinge("train", "hard.svm", "m", "--checkpoint", "ck", "--every", "1e-9", "--gap", "1e-6")
        self.assertEqual(sorted(p.name for p in (self.dir / "folder").iterdir()), ["real", "real.previous"])
        self.assertTrue((self.dir / "ck").is_symlink())
        self.assertEqual(self.resumed()[1], self.model_bytes("--gap", "1e-6", data="hard.svm"))

    def test_wrong_use(self):
        self.stop()
        for arguments, code, says in [
            (("--every", "5"), 64, "--every needs --checkpoint or --resume"),
            (("--checkpoint", "c", "--every", "0"), 64, r"--every: expected a number of seconds > 0, got \"0\""),
            (("--checkpoint", "c", "--every", "nan"), 64, "--every: expected"),
            (("--checkpoint", "-"), 64, "--checkpoint: expected a regular file"),
            (("--checkpoint", "hard.svm"), 64, "would be overwritten"),
            (("--checkpoint", "m"), 64, "would be overwritten"),
            (("--checkpoint", "nowhere/c"), 73, "cannot create"),
            (("--checkpoint", "c", "-v", "3"), 64, "--folds trains several times"),
            (("--resume", "ck", "-v", "3"), 64, "--folds trains several times"),
            (("--resume", "hard.svm", "--checkpoint", "c"), 80, r"this is not a hinge checkpoint \[checkpoint.magic\]"),
        ]:
            with self.subTest(arguments):
                before = self.files()
                run = self.hinge("train", "hard.svm", "m", *arguments, code=code)
                self.assertRegex(run.err, says)
                self.assertEqual(self.files(), before)


if __name__ == "__main__":
    support.main()
