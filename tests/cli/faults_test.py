"""Every fault at every point: files are old or new but never torn, memory that runs out is an ordinary error.

HINGE_FILE_FAULTS and HINGE_MEMORY_FAULTS are the libraries built from tests/faults; they are loaded before the
program and make its calls fail, come up short, or be the last thing it does. Every class says at its end how many
points it tried: with HINGE_LONG=1 all there are, in every way; else every call that can fail in one way, and every way once.
"""

import bz2
import collections
import gzip
import json
import lzma
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import unittest

import support
from support import ENVIRONMENT, LONG, OLD_MODEL, PROGRAM, TEXT, CommandCase, at_length, table, thinned

FILE_FAULTS = os.environ.get("HINGE_FILE_FAULTS", "")
MEMORY_FAULTS = os.environ.get("HINGE_MEMORY_FAULTS", "")

with open(PROGRAM, "rb") as program:
    SANITIZER = re.search(rb"__([at])san_init", program.read())
    SANITIZER = SANITIZER and {b"a": "ASan", b"t": "TSan"}[SANITIZER[1]]

# One output of an operation: its name, what is there before (None: nothing; the name of an input: its bytes), and
# whether new bytes are whole; without `whole` they must be those of the undisturbed run.
Output = collections.namedtuple("Output", "name old whole", defaults=(None, None))
# `files` are inputs besides those every test has.
Operation = collections.namedtuple("Operation", "name arguments outputs files", defaults=((),))

KEPT = ("d.svm", "m", "old model")
CACHE = "d.svm.cache"  # a failure to write it is only a warning


def zstd(data):
    return subprocess.run(["zstd", "-c", "-q"], input=data, stdout=subprocess.PIPE, check=True).stdout


PACKERS = {"gz": lambda data: gzip.compress(data, mtime=0), "bz2": bz2.compress, "xz": lzma.compress}
if shutil.which("zstd"):
    PACKERS["zst"] = zstd


def whole_trace(data):
    """Times differ from run to run, but every line is an object and the last one is complete."""
    return data.endswith(b"\n") and all(json.loads(line)["relative_gap"] >= 0 for line in data.splitlines())


def steady(out):
    """Standard output without the times in it."""
    return re.sub(rb"(?m)^(time:|  load) .*$", b"", out)


TRAIN = ("train", "d.svm", "out", "-n", "1")
OPERATIONS = [
    Operation("train", TRAIN, [Output("out")]),
    Operation("train over an old model", TRAIN, [Output("out", "old model")]),
    Operation("train with a trace", (*TRAIN, "--trace", "trace"),
              [Output("out", "old model"), Output("trace", '{"seconds":1}\n', whole_trace)]),
    Operation("train to standard output", ("train", "d.svm", "-", "-n", "1"), []),
    Operation("train for LIBLINEAR", ("train", "d.svm", "out.liblinear", "-n", "1"),
              [Output("out.liblinear", "solver_type of old\n")]),
    Operation("train with a new cache", (*TRAIN, "--cache"), [Output("out", "old model"), Output(CACHE)]),
    Operation("train with a stale cache", (*TRAIN, "--cache"),
              [Output("out"), Output(CACHE, "old cache")], ["old cache"]),
    Operation("predict", ("predict", "d.svm", "m", "out", "-n", "1"), [Output("out", "1\n-1\n")]),
    Operation("generate", ("generate", "out", "--like", "cov1", "--rows", "12000", "-n", "1"), [Output("out")]),
    Operation("split", ("split", "d.svm", "out", "rest", "--force"), [Output("out", "1 1:1\n"), Output("rest")]),
    Operation("convert to binary", ("convert", "d.svm", "out.hinge", "-n", "1"), [Output("out.hinge")]),
    Operation("convert over old binary", ("convert", "d.svm", "out.hinge", "-n", "1"),
              [Output("out.hinge", "old.hinge")], ["old.hinge"]),
    Operation("convert to text", ("convert", "d.hinge", "out.svm", "-n", "1", "--force"), [Output("out.svm", "1 1:1\n")],
              ["d.hinge"]),
    Operation("convert a model", ("convert", "m", "out.liblinear"), [Output("out.liblinear", "solver_type of old\n")]),
    Operation("check", ("check", "d.svm", "-n", "1"), []),
]
MODELS = [operation.name for operation in OPERATIONS if operation.outputs and operation.outputs[0].name == "out"
          and operation.arguments[0] == "train"]
OTHER_INPUTS = [
    Operation(f"train on {name}", ("train", name, "out", "-n", "1"), [Output("out", "old model")], [name])
    for name in ("d.hinge", *(f"d.svm.{kind}" for kind in PACKERS))
]
FRESH = Operation("train with a fresh cache", (*TRAIN, "--cache"), [Output("out", "old model")], [CACHE])

Entry = collections.namedtuple("Entry", "name path result kind")  # of the log


def setUpModule():
    if not FILE_FAULTS or not MEMORY_FAULTS:
        raise unittest.SkipTest("HINGE_FILE_FAULTS and HINGE_MEMORY_FAULTS do not name the fault libraries")
    if SANITIZER == "TSan":
        raise unittest.SkipTest("TSan does not work with libraries loaded before it")
    if "zst" not in PACKERS:
        print("faults: no faults while reading zstd, whose program is not there", file=sys.stderr)


class FaultCase(CommandCase):
    """A test that runs the program with faults and counts the points it tried."""

    @classmethod
    def setUpClass(cls):
        cls.counts = collections.Counter()

    @classmethod
    def tearDownClass(cls):
        said = ", ".join(f"{count} {what}" for what, count in cls.counts.items())
        print(f"faults: {cls.__name__}: {said}", file=sys.stderr)

    def setUp(self):
        super().setUp()
        self.train("-n", "1")
        self.train("-n", "1", "-c", "2", model="old model")

    def faulty(self, rule, *arguments, library=FILE_FAULTS, code=None, env=None, **how):
        asan = ENVIRONMENT.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
        faults = {"LD_PRELOAD": library, "HINGE_FAULT": rule, "HINGE_FAULT_ROOT": str(self.dir), "ASAN_OPTIONS": asan}
        return self.hinge(*arguments, code=code, env={**faults, **(env or {})}, **how)

    def log(self, *arguments, rule="", code=0, **how):
        """The calls the program makes, in order."""
        path = self.dir.parent / (self.dir.name + ".log")
        self.addCleanup(path.unlink, missing_ok=True)
        path.unlink(missing_ok=True)
        self.faulty(f"log:{path}" + (rule and "," + rule), *arguments, code=code, **how)
        entries = [Entry(*re.fullmatch(r"(\S+) (.*) (-?\d+) (\w+)", line).groups())
                   for line in path.read_text().splitlines()]
        return [e._replace(path=re.sub(r"\.tmp\.[0-9a-f]{16}$", ".tmp.RANDOM", e.path)) for e in entries]

    def make(self, name):
        """One of the inputs operations name in `files`."""
        if name.endswith(".hinge"):
            self.hinge("convert", "d.svm", name, *(["--precision", "f64"] if name == "old.hinge" else []))
        elif name.endswith("cache"):
            text = self.read("d.svm")
            if name == "old cache":
                self.write("d.svm", text + b"# another text\n")
            self.train("-n", "1", "--cache", model="m2")
            if name == "old cache":
                self.write("d.svm", text)
            (self.dir / "m2").unlink()
            (self.dir / CACHE).rename(self.dir / name)
        elif name in ("1", "2"):  # folders: a part of the data each
            (self.dir / name).mkdir()
            self.write(f"{name}/part", "".join(TEXT.splitlines(True)[int(name)::2]))
        elif name == "bad.svm":
            self.write(name, TEXT + "1 1:x\n1 2:y\n")
        else:
            self.write(name, PACKERS[name.rpartition(".")[2]](self.read("d.svm")))

    def old(self, output):
        if output.old is None:
            return None
        return self.read(output.old) if (self.dir / output.old).exists() else output.old.encode()

    def prepare(self, operation):
        """The folder as it is before the operation."""
        for name in self.files():
            if name in (*KEPT, *operation.files):
                continue
            if (self.dir / name).is_dir():
                shutil.rmtree(self.dir / name)
            else:
                (self.dir / name).unlink()
        for name in operation.files:
            if not (self.dir / name).exists():
                self.make(name)
        for output in operation.outputs:
            if output.old is not None:
                self.write(output.name, self.old(output))

    def changes(self, operation):
        """The calls of an operation that change the file system."""
        self.prepare(operation)
        return [e for e in self.log(*operation.arguments) if e.kind == "changes"]

    def undisturbed(self, operation):
        """Runs the operation without faults; what it wrote to its outputs, and to standard output."""
        self.prepare(operation)
        out = steady(self.hinge(*operation.arguments).out)
        return {output.name: self.read(output.name) for output in operation.outputs}, out

    def state(self, output, new):
        """`old`, `new`, or what else the file is."""
        path = self.dir / output.name
        data = path.read_bytes() if path.exists() else None
        if data == self.old(output):
            return "old"
        if data is not None and (output.whole(data) if output.whole else data == new[output.name]):
            return "new"
        return "gone" if data is None else f"torn: {len(data)} bytes of {len(new[output.name])}"

    def states(self, operation, new):
        states = [self.state(output, new) for output in operation.outputs]
        self.counts["torn"] += sum(state not in ("old", "new") for state in states)
        return states

    def leftovers(self, operation):
        expected = {*KEPT, *operation.files} | {output.name for output in operation.outputs}
        return [name for name in self.files() if name not in expected]

    def assertDone(self, operation, new, run, out):
        """As if nothing had happened."""
        self.assertEqual(run.code, 0, run)
        self.assertEqual(self.states(operation, new), ["new"] * len(operation.outputs), run)
        self.assertEqual(self.leftovers(operation), [], run)
        self.assertEqual(steady(run.out), out, run)
        self.assertNotIn("cache.write", run.err)

    def assertUsable(self, operation, new):
        """New data sets hold the rows of d.svm. (What is said of other bytes is that they are these.)"""
        for name in new:
            if name.endswith((".hinge", ".svm", ".cache")):
                self.write("copy", new[name])
                self.assertEqual(self.hinge("info", "copy", "--json").json["rows"], TEXT.count("\n"))
                self.assertSame("-n", "1", data="copy")


@table(OPERATIONS)
class KillTest(FaultCase):  # R5
    """SIGKILL just before and just after every call that changes the file system."""

    def check(self, operation):
        new, out = self.undisturbed(operation)
        self.assertUsable(operation, new)
        calls = self.changes(operation)
        self.assertEqual([e[:2] for e in self.changes(operation)], [e[:2] for e in calls])  # so numbers mean something
        self.counts["kill points"] += 0
        self.counts["torn"] += 0
        for number in range(1, len(calls) + 1):
            for act in ("kill", "after") if LONG else ("kill",):
                with self.subTest(number=number, act=act, call=calls[number - 1]):
                    self.prepare(operation)
                    run = self.faulty(f"any:{number}:{act}", *operation.arguments)
                    self.counts["kill points"] += 1
                    self.assertEqual(run.code, -signal.SIGKILL, run)
                    states = self.states(operation, new)
                    self.assertLessEqual(set(states), {"old", "new"})
                    if operation.name in MODELS and states[0] == "new":
                        self.assertVerifies(model="out")
                    for name in self.leftovers(operation):
                        self.assertRegex(name, rf"^({'|'.join(o.name for o in operation.outputs)})\.tmp\.[0-9a-f]{{16}}$")
                    # What a killed run leaves behind the next one removes.
                    run = self.hinge(*operation.arguments)
                    self.assertEqual(steady(run.out), out)
                    self.assertEqual(self.states(operation, new), ["new"] * len(operation.outputs))
                    self.assertEqual(self.leftovers(operation), [])


@table(OPERATIONS)
class WriteErrorTest(FaultCase):  # R1, R2
    """Every call that changes the file system fails once, in every way it can."""

    tried = set()  # kinds of calls, and ways they failed

    def harmless(self, calls, number):
        """Whether the call cleans up after a file that is not wanted any more: a probe is removed and closed."""
        call = calls[number]
        return call.name == "unlink" or (call.name == "close" and number > 0
                                         and calls[number - 1] == call._replace(name="unlink"))

    def for_cache(self, calls, number):
        """Whether the call is about the cache; syncing the folder is about the file renamed last."""
        paths = [e.path for e in calls[: number + 1] if e.path != "."]
        return paths[-1].startswith(CACHE)

    def check(self, operation):
        new, out = self.undisturbed(operation)
        calls = self.changes(operation)
        self.counts["I/O error points"] += 0
        self.counts["torn"] += 0
        for number, call in enumerate(calls):
            acts = ["ENOSPC", "EIO", "EDQUOT", "EFBIG"]
            if call.name not in ("rename", "unlink"):  # which no signal interrupts
                acts.append("EINTR")
            if call.name == "write":
                acts.append("short")
            for act in acts if LONG else self.untried(call, acts):
                with self.subTest(number=number + 1, act=act, call=call):
                    self.prepare(operation)
                    run = self.faulty(f"any:{number + 1}:{act}", *operation.arguments)
                    self.counts["I/O error points"] += 1
                    states = self.states(operation, new)
                    if act in ("EINTR", "short"):
                        self.assertDone(operation, new, run, out)
                    elif self.harmless(calls, number):
                        self.assertEqual(run.code, 0, run)
                        self.assertEqual(set(states), {"new"})
                        # Whoever writes to that name later in the run removes it.
                        later = any(e.name == "open" and e.path == call.path for e in calls[number + 1:])
                        self.assertEqual(len(self.leftovers(operation)), call.name == "unlink" and not later)
                    elif self.for_cache(calls, number):
                        self.uncached(operation, call, run, states)
                    else:
                        self.refused(operation, call, run, states)

    def untried(self, call, acts):
        """One way to fail for every call, and every way once for each kind of call."""
        chosen = [act for act in acts if (call.name, act) not in self.tried] or acts[:1]
        self.tried.update((call.name, act) for act in chosen)
        return chosen

    def uncached(self, operation, call, run, states):
        """The run goes on without its cache, and says so."""
        self.assertEqual(run.code, 0, run)
        self.assertSays(run, r".*warning: no cache: cannot .* \[cache\.write\]")
        self.assertEqual(self.leftovers(operation), [], run)
        synced = call.path == "."
        cache = "new" if synced else "old"
        self.assertEqual(states, [cache if o.name == CACHE else "new" for o in operation.outputs], run)

    def refused(self, operation, call, run, states):
        self.assertLessEqual(set(states), {"old", "new"}, run)
        self.assertEqual(self.leftovers(operation), [], run)
        synced = call.name == "fsync" and call.path == "."
        identifier = "create" if call.name == "open" and call.path != "." else "sync" if synced else "write"
        self.assertEqual(run.code, 73 if identifier == "create" else 74, run)
        self.assertSays(run, rf".*error: .* \[io\.{identifier}\]")
        self.assertNotIn("help: this is a bug", run.err)
        if "no model written" in run.err or "nothing written" in run.err or "no data written" in run.err:
            self.assertLessEqual({s for s, o in zip(states, operation.outputs) if o.name != CACHE}, {"old"}, run)
        if len(states) == 1:
            self.assertEqual(states, ["new" if synced else "old"], run)

    def test_disk_full_after_a_part(self):
        for operation in OPERATIONS:
            with self.subTest(operation.name):
                self.prepare(operation)
                first = [e for e in self.changes(operation) if e.name == "write"][0]
                identifier, code = ("cache", 0) if first.path.startswith(CACHE) else ("io", 74)
                self.prepare(operation)
                run = self.faulty("write:1:short,write:2:ENOSPC", *operation.arguments, code=code)
                self.assertSays(run, r".*: No space left on device \(wrote [1-9]\d* of \d+ bytes\) "
                                     rf"\[{identifier}\.write\]")
                self.assertEqual(self.leftovers(operation), [])

    def test_a_disk_that_stays_full(self):
        """Nothing but the removal of the temporary file works any more."""
        for operation in OPERATIONS:
            with self.subTest(operation.name):
                self.prepare(operation)
                self.faulty("write:1+:ENOSPC,fsync:1+:EIO,rename:1+:EIO", *operation.arguments, code=74)
                self.assertEqual(self.leftovers(operation), [])
                for output in operation.outputs:
                    self.assertEqual(self.state(output, {output.name: b""}), "old")

    def test_short_and_interrupted(self):  # T26
        for operation in OPERATIONS:
            if operation.name == "generate":
                continue  # a million calls; its writes are the same as everyone's
            new, out = self.undisturbed(operation)
            for rule in ("all-short", "all-eintr", "all-short,all-eintr"):
                with self.subTest(operation.name, rule=rule):
                    self.prepare(operation)
                    self.assertDone(operation, new, self.faulty(rule, *operation.arguments), out)

    def test_power_loss(self):  # R7
        """What was renamed had been synced; the rename is synced too; nothing is written after that."""
        for operation in OPERATIONS:
            changes = self.changes(operation)
            for output in operation.outputs:
                with self.subTest(operation.name, output=output.name):
                    temporary = output.name + ".tmp.RANDOM"
                    own = [e for e in changes if e.path == temporary]
                    begin = max(i for i, e in enumerate(own) if e.name == "open")
                    order = " ".join(e.name for e in own[begin:])
                    self.assertRegex(order, r"^open( write)+ fsync fchmod close rename$")
                    renamed = max(i for i, e in enumerate(changes) if e.path == temporary and e.name == "rename")
                    self.assertEqual(changes[renamed + 1][:2], ("fsync", "."))
            if operation.outputs:
                self.assertEqual(changes[-1][:2], ("fsync", "."))


class ReadErrorTest(FaultCase):  # T25, T26
    """Every read fails, is interrupted, or gives less than was asked for."""

    READERS = [operation for operation in OPERATIONS if operation.name != "generate"] + OTHER_INPUTS + [
        FRESH,
        Operation("info of binary data", ("info", "d.hinge", "-n", "1"), [], ["d.hinge"]),
        Operation("verify", ("verify", "m", "d.svm", "-n", "1"), []),
        Operation("evaluate", ("evaluate", "d.svm", "m", "-n", "1"), []),
        Operation("info of a model", ("info", "m"), []),
    ]

    def every(self, operation, data=None):
        if data:
            self.write("d.svm", data)
            self.train("-n", "1")
        new, out = self.undisturbed(operation)
        self.prepare(operation)
        reads = [e for e in self.log(*operation.arguments) if e.name == "read"]
        for number in range(1, len(reads) + 1):
            for act in ("EINTR", "short") if LONG else ():  # at the end all reads together
                with self.subTest(operation.name, number=number, act=act):
                    self.prepare(operation)
                    self.assertDone(operation, new, self.faulty(f"read:{number}:{act}", *operation.arguments), out)
                    self.counts["short and interrupted reads"] += 1
            with self.subTest(operation.name, number=number, act="EIO"):
                self.prepare(operation)
                run = self.faulty(f"read:{number}+:EIO", *operation.arguments)
                self.counts["read errors"] += 1
                self.assertEqual(self.leftovers(operation), [])
                reason = r"cannot read .*: Input/output error \(at byte \d+\)"
                if run.code == 0 and "--cache" in operation.arguments:  # whether the text is still the same
                    self.assertSays(run, rf".*warning: no cache: {reason} \[cache\.write\]")
                    self.assertEqual(self.states(operation, new)[0], "new")
                    self.assertEqual(self.state(operation.outputs[1], new), "old")
                    continue
                self.assertEqual(run.code, 74, run)
                self.assertSays(run, rf".*error: {reason} \[io\.read\]")
                self.assertEqual(self.states(operation, new), ["old"] * len(operation.outputs))
        with self.subTest(operation.name, act="all short and interrupted"):
            self.prepare(operation)
            self.assertDone(operation, new, self.faulty("all-short,all-eintr", *operation.arguments), out)

    def test_small(self):
        for operation in self.READERS:
            self.every(operation)

    def test_same_model(self):
        """However the rows are read."""
        for operation in OTHER_INPUTS:
            with self.subTest(operation.name):
                self.prepare(operation)
                self.hinge(*operation.arguments)
                self.assertEqual(self.read("out"), self.read("m"))

    def test_without_maps(self):  # B15
        """Where a file cannot be mapped it is read."""
        for operation in (OTHER_INPUTS[0], FRESH):
            new, out = self.undisturbed(operation)
            self.prepare(operation)
            maps = [e.path for e in self.log(*operation.arguments) if e.name == "mmap"]
            [number] = [i for i, path in enumerate(maps, 1) if path in ("d.hinge", CACHE)]
            refused = f"mmap:{number}:ENODEV"
            self.prepare(operation)
            reads = [e.path for e in self.log(*operation.arguments, rule=refused) if e.name == "read"]
            for rule in ("", ",all-short,all-eintr"):
                with self.subTest(operation.name, rule=rule):
                    self.prepare(operation)
                    self.assertDone(operation, new, self.faulty(refused + rule, *operation.arguments), out)
            for read in range(1, len(reads) + 1):
                with self.subTest(operation.name, read=read):
                    self.prepare(operation)
                    run = self.faulty(f"{refused},read:{read}+:EIO", *operation.arguments, code=74)
                    self.assertSays(run, r".*error: cannot read .*: Input/output error \(at byte \d+\) \[io\.read\]")
                    self.assertEqual(self.states(operation, new), ["old"] * len(operation.outputs))
                    self.counts["read errors"] += 1

    @at_length()
    def test_many_chunks(self):
        operations = {operation.name: operation for operation in self.READERS}
        for name in ("train", "split"):
            self.every(operations[name], TEXT * 60)

    def test_standard_input(self):
        model = self.model_bytes("-n", "1")
        for rule in ("read:1:short", "all-short", "all-eintr", "all-short,all-eintr"):
            with self.subTest(rule):
                self.faulty(rule, "train", "-", "out", "-n", "1", stdin=TEXT.encode(), code=0)
                self.assertEqual(self.read("out"), model)
        self.assertSays(self.faulty("read:1+:EIO", "train", "-", "new", stdin=TEXT.encode(), code=74),
                        r".*error: cannot read <stdin>: Input/output error \(at byte 0\) \[io\.read\]")

    def test_weights(self):
        self.write("w", "1\n2\n" * 100)
        arguments = ("train", "d.svm", "out", "--weights", "w", "-n", "1")
        self.hinge(*arguments)
        model = self.read("out")
        self.faulty("all-short,all-eintr", *arguments, code=0)
        self.assertEqual(self.read("out"), model)
        reads = [e for e in self.log(*arguments) if e.name == "read"]
        for number, read in enumerate(reads, 1):
            with self.subTest(number):
                self.assertSays(self.faulty(f"read:{number}:EIO", *arguments, code=74),
                                rf".*error: cannot read {read.path}: .* \[io\.read\]")
                self.assertEqual(self.read("out"), model)


MEMORY = [
    Operation("train", ("train", "d.svm", "out", "-n", "1"), [Output("out", "old model")]),
    Operation("train on two threads", ("train", "d.svm", "out", "-n", "2"), [Output("out", "old model")]),
    Operation("train with json and trace", ("train", "d.svm", "out", "-n", "1", "--json", "--trace", "trace"),
              [Output("out", "old model"), Output("trace", None, whole_trace)]),
    Operation("predict", ("predict", "d.svm", "m", "out", "-n", "1"), [Output("out", "1\n-1\n")]),
    Operation("info", ("info", "m"), []),
    Operation("info of data", ("info", "d.svm", "-n", "1", "--json"), []),
    Operation("verify", ("verify", "m", "d.svm", "-n", "1"), []),
    Operation("evaluate with json", ("evaluate", "d.svm", "m", "-n", "1", "--json"), []),
    Operation("evaluate with a curve", ("evaluate", "d.svm", "m", "-n", "1", "--curve", "out"),
              [Output("out", "curve,class,threshold,x,y,rows\n")]),
    Operation("tune", ("tune", "d.svm", "out", "-n", "1", "--cost", "0.1,1", "-v", "2"), [Output("out", "old model")]),
    Operation("predict a table", ("predict", "d.svm", "m", "out", "-n", "1", "--json"), [Output("out", "1\n-1\n")]),
    Operation("bad data", ("train", "bad.svm", "out", "-n", "1", "--diagnostics=json"), [Output("out", "old model")],
              ["bad.svm"]),
    Operation("check bad data", ("check", "bad.svm", "-n", "1"), [], ["bad.svm"]),
    Operation("train on a pattern", ("train", "?/[p]*", "out", "-n", "1"), [Output("out", "old model")],
              ["1", "2"]),
    Operation("info of binary data", ("info", "d.hinge", "-n", "1"), [], ["d.hinge"]),
    *OTHER_INPUTS,
    FRESH,
    *(operation for operation in OPERATIONS if operation.name in (
        "train for LIBLINEAR", "train with a new cache", "train with a stale cache", "convert over old binary",
        "convert to text", "convert a model", "check")),
]


@table(MEMORY)
class MemoryTest(FaultCase):  # R11, R12
    """Memory runs out at an allocation, once or for good: 81, or success where the memory was not needed."""

    def check(self, operation):
        if SANITIZER:
            self.skipTest("the allocator is the sanitizer's; tests/faults/allocation_test.cc covers it")
        self.prepare(operation)
        usual, count = self.counted(*operation.arguments)
        new = {output.name: self.read(output.name) for output in operation.outputs}
        # Thousands set up the command line, for all commands alike; the work begins where a run without its input
        # ends: first reading, which is tried densely, and at last writing.
        command, _, *rest = operation.arguments
        missing, begin = self.counted(command, "none", *rest)
        self.assertEqual(missing.code, 66, missing)
        begin = min(begin, count) - 40
        first, step = (300, 1 + count // 60) if operation.name == "train" else (20, 1 + begin // 10)
        read = min(begin + (40 if operation in MEMORY[:9] else 140), count)
        last = max(read, count - 60)
        points = [*range(1, first), *range(first, begin, step), *range(begin, read),
                  *range(read, last, 1 + (last - read) // 60), *range(last, count + 3)]
        for number in thinned(points, 17):
            for how in ("once", "on") if number % 2 else ("once",):
                with self.subTest(number=number, how=how):
                    self.prepare(operation)
                    run = self.faulty(f"malloc:{number}:{how}", *operation.arguments, library=MEMORY_FAULTS)
                    self.counts["allocation points"] += 1
                    self.ended(operation, new, run, usual)

    def counted(self, *arguments):
        """A run without faults, and how many allocations it made."""
        counter = self.dir.parent / (self.dir.name + ".count")
        self.addCleanup(counter.unlink, missing_ok=True)
        run = self.faulty("malloc:0:count", *arguments, library=MEMORY_FAULTS, env={"HINGE_FAULT_COUNT": str(counter)})
        return run, int(counter.read_text())

    def ended(self, operation, new, run, usual):
        states = self.states(operation, new)
        self.assertIn(run.code, (usual.code, 81), run)
        self.assertEqual(self.leftovers(operation), [], run)
        self.assertLessEqual(set(states), {"old", "new"}, run)
        if run.code == 81:
            self.assertIn("memory.alloc", run.err)
        elif run.code == 0:
            dispensable = CACHE if "[cache.write]" in run.err else None
            self.assertLessEqual({s for s, o in zip(states, operation.outputs) if o.name != dispensable}, {"new"}, run)
            if operation.name == "info of binary data":
                self.assertIn("binary", run.text)
        if operation.name == "train" and run.code == 81 and "no model written" in run.err:
            self.assertEqual(states, ["old"])

    def test_maps(self):
        """Memory for bulk data comes straight from the kernel."""
        self.write("d.svm", TEXT * 10)
        self.train("-n", "1")
        self.train("-n", "1", "-c", "2", model="old model")
        for operation in MEMORY:
            self.prepare(operation)
            usual = self.hinge(*operation.arguments, code=None)
            new = {output.name: self.read(output.name) for output in operation.outputs}
            calls = [e.name for e in self.log(*operation.arguments, code=None)]
            for name in ("mmap", "mremap"):
                for number in thinned(range(1, calls.count(name) + 1), 5):
                    for rule in (f"{name}:{number}:ENOMEM", f"{name}:{number}+:ENOMEM"):
                        with self.subTest(operation.name, rule=rule):
                            self.prepare(operation)
                            self.ended(operation, new, self.faulty(rule, *operation.arguments), usual)
                            self.counts["maps refused"] += 1

    def test_inputs_stay_protected(self):
        """A pattern that cannot be expanded for want of memory does not let a model replace one of its files."""
        if SANITIZER:
            self.skipTest("the allocator is the sanitizer's")
        for name in ("part-1", "part-2"):
            self.write(name, TEXT)
        arguments = ("train", "part-*", "part-2", "-n", "1")
        run, count = self.counted(*arguments)
        self.assertEqual(run.code, 64, run)
        for number in thinned(range(max(1, count - 150), count + 1), 7):
            with self.subTest(number):
                run = self.faulty(f"malloc:{number}:once", *arguments, library=MEMORY_FAULTS)
                self.assertIn(run.code, (64, 81), run)
                self.assertEqual(self.read("part-2"), TEXT.encode())
                self.counts["allocation points"] += 1

    @at_length()
    def test_address_space(self):  # R12
        if SANITIZER:
            self.skipTest("a sanitizer needs more address space than there is memory")
        self.write("d.svm", TEXT * 60)
        for arguments in (("train", "d.svm", "out", "-n", "1"), ("train", "d.svm", "out", "-n", "2")):
            codes = []
            size = os.path.getsize(PROGRAM) & -(1 << 18)  # with less the kernel does not even begin
            while codes[-3:] != [0, 0, 0]:
                limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (size, size))
                self.write("out", OLD_MODEL)
                run = self.hinge(*arguments, code=None, preexec_fn=limit)
                size += 1 << 18
                if run.code == 127:
                    continue  # it could not even be loaded
                with self.subTest(arguments, size=size):
                    self.assertIn(run.code, (0, 81), run)
                    if run.code == 81:
                        self.assertIn("memory.alloc", run.err)
                        self.assertEqual(self.read("out"), OLD_MODEL)
                    codes.append(run.code)
                    self.counts["address space limits"] += 1
            self.assertIn(81, codes)


if __name__ == "__main__":
    support.main()
