"""What the tests of the command line share: running the program, small data, reading a model.

HINGE is the program. HINGE_SHARED_DATA is the folder of real data sets (optional). HINGE_LONG=1 asks for tests at
length, as `make test-all` does: every fault at every point, kills in numbers, all real data. HINGE_SLOW=1 says that the
program is slow (sanitizers). HINGE_REPORT is a file for the results, in JUnit's format. Nothing here uses the
library: models are read and objectives computed again from the file formats alone.
"""

import array
import collections
import ctypes
import errno
import json
import math
import os
import pathlib
import random
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time
import types
import unittest
import xml.etree.ElementTree

try:
    import xxhash
except ImportError:
    xxhash = None

if not os.environ.get("HINGE"):
    sys.exit("HINGE is not set: it must be the path of the program to test")
PROGRAM = os.path.abspath(os.environ["HINGE"])
if not os.access(PROGRAM, os.X_OK):
    sys.exit(f"HINGE is {PROGRAM}, which cannot be run")

LONG = os.environ.get("HINGE_LONG", "0") not in ("", "0")
SLOW = os.environ.get("HINGE_SLOW", "0") not in ("", "0")
TIMEOUT = 300 if SLOW else 60  # seconds: only against hanging forever, no test depends on it

ENVIRONMENT = {k: v for k, v in os.environ.items() if not k.startswith(("LC_", "LANG", "OMP_"))}


# What lies where an output is to be written: LIBLINEAR's text, the shortest there is. Files of another kind are not replaced.
OLD_MODEL = b"solver_type L2R_L1LOSS_SVC_DUAL\nnr_class 2\nlabel 1 -1\nnr_feature 1\nbias -1\nw\n1 \n"


# ---- Running the program.


class Run:
    """How one run of the program ended."""

    def __init__(self, arguments, code, out, err):
        self.arguments = arguments
        self.code = code
        self.out = out  # bytes
        self.err = err.decode("utf-8", "backslashreplace")

    @property
    def text(self):
        return self.out.decode()

    @property
    def json(self):
        return json.loads(self.out)

    @property
    def lines(self):
        return self.err.splitlines()

    def __str__(self):
        shown = " ".join(printable(a) for a in self.arguments)
        return f"hinge {shown}\nended with {self.code}; stderr:\n{self.err}"


def printable(argument):
    text = os.fsdecode(argument)
    return text if len(text) < 200 else text[:100] + f"...({len(text)} bytes)"


class Case(unittest.TestCase):
    """A test with a folder of its own, in which the program runs."""

    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="hinge-cli-")
        self.addCleanup(folder.cleanup)
        self.dir = pathlib.Path(folder.name)

    def write(self, name, data):
        path = self.dir / os.fsdecode(name)
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        return path

    def read(self, name):
        return (self.dir / os.fsdecode(name)).read_bytes()

    def files(self):
        return sorted(p.name for p in self.dir.iterdir())

    def hinge(self, *arguments, code=0, stdin=None, env=None, timeout=TIMEOUT, through=(), **popen):
        """Runs the program; `code` is the exit code it must end with, None if any will do.

        `through` is a command that runs the command it is given.
        """
        arguments = [a if isinstance(a, bytes) else str(a) for a in arguments]
        popen.setdefault("stdout", subprocess.PIPE)
        source = {"stdin": subprocess.DEVNULL} if stdin is None else {"input": stdin}
        try:
            done = subprocess.run([*through, PROGRAM, *arguments], cwd=self.dir, stderr=subprocess.PIPE,
                                  env={**ENVIRONMENT, **(env or {})}, timeout=timeout, **source, **popen)
        except subprocess.TimeoutExpired:
            done = None
        if done is None:
            self.fail(f"hinge {' '.join(map(printable, arguments))}: no end after {timeout} s")
        run = Run(arguments, done.returncode, done.stdout or b"", done.stderr)
        if code is not None and run.code != code:
            self.fail(f"expected exit code {code}\n{run}")
        return run

    def measured(self, *arguments, **how):
        """As hinge(); returns the run and the most memory it had, in bytes."""
        with tempfile.NamedTemporaryFile("r") as report:
            run = self.hinge(*arguments, through=(sys.executable, "-S", "-E", "-c", MEASURE, report.name), **how)
            return run, int(report.read())

    def start(self, *arguments, **popen):
        """Starts the program without waiting for it; it is gone when the test ends."""
        popen = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **popen}
        process = subprocess.Popen([PROGRAM, *map(str, arguments)], cwd=self.dir, env=ENVIRONMENT, **popen)

        def stop():
            if process.poll() is None:
                process.kill()
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream:
                    try:
                        stream.close()
                    except BrokenPipeError:
                        pass
            process.wait()

        self.addCleanup(stop)
        return process

    def finish(self, process, timeout=TIMEOUT):
        """Waits for the end of a started program, with its standard input still open."""
        stdin, process.stdin = process.stdin, None  # or communicate() would close it
        out = None
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            pass
        process.stdin = stdin
        if out is None:
            self.fail(f"hinge {' '.join(process.args[1:])}: no end after {timeout} s")
        return Run(process.args[1:], process.returncode, out, err)

    def wait(self, condition, process, what):
        """Waits until condition() holds; the process must live until then."""
        for _ in range(TIMEOUT * 100):
            if process.poll() is not None:
                run = Run(process.args[1:], process.returncode, b"", process.stderr.read())
                self.fail(f"ended too early, waiting until {what}\n{run}")
            if condition():
                return
            time.sleep(0.01)
        self.fail(f"waited for {TIMEOUT} s until {what}")

    def assertClose(self, a, b, relative, note=""):
        self.assertLessEqual(abs(a - b), relative * max(abs(a), abs(b)), f"{a} and {b} {note}")

    def assertSays(self, run, pattern):
        """Some line of stderr is matched by the pattern as a whole."""
        if not any(re.fullmatch(pattern, line) for line in run.lines):
            self.fail(f"no line of stderr matches {pattern}\n{run}")


# A process counts the memory of the one that started it as its own, so that one must be small.
MEASURE = """
import os, sys
process = os.posix_spawn(sys.argv[2], sys.argv[2:], os.environ)
_, status, used = os.wait4(process, 0)
with open(sys.argv[1], "w") as report:
    report.write(str(1024 * used.ru_maxrss))
sys.exit(os.waitstatus_to_exitcode(status))
"""


class ErrorCase(Case):
    """What all messages have in common."""

    explained = set()

    def assertExplained(self, identifier):
        """`hinge explain` knows every id that occurs."""
        if identifier not in self.explained:
            self.explained.add(identifier)
            self.assertIn(identifier, self.hinge("explain", identifier).text)

    def assertPlain(self, run):
        """Nothing on stderr can control a terminal."""
        self.assertRegex(run.err, r"\A[\x20-\x7e\n]*\Z")

    def check_bad_option(self, arguments, identifier, says):
        """`train d.svm m` with these arguments ends at once with a usage error."""
        self.write("d.svm", GOOD)
        run = self.hinge("train", "d.svm", "m", *arguments, code=64)
        self.assertEqual(len(run.lines), 2, run)
        self.assertRegex(run.lines[0], rf"^hinge train: error: .*{re.escape(says)}.* \[{re.escape(identifier)}\]$")
        self.assertEqual(run.lines[1], "try: hinge train --help")
        self.assertPlain(run)
        self.assertEqual(run.out, b"")
        self.assertEqual(self.files(), ["d.svm"])
        self.assertExplained(identifier)


def table(rows, name=lambda row: row[0]):
    """Class decorator: one test method, calling self.check(row), for every row of a table."""

    def decorate(cls):
        for row in rows:
            base = method = "test_" + re.sub(r"\W+", "_", name(row)).strip("_")
            count = 1
            while hasattr(cls, method):  # names that differ in signs only
                count += 1
                method = f"{base}_{count}"
            setattr(cls, method, lambda self, row=row: self.check(row))
        return cls

    return decorate


def cpu_seconds(process):
    """CPU time a running process has used."""
    fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def waiting(process):
    """Whether a process has set up its signal handlers and now waits for something."""
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    caught = int(re.search(r"^SigCgt:\s*(\w+)", status, re.M)[1], 16)
    state = re.search(r"^State:\s*(\w)", status, re.M)[1]
    return state == "S" and caught >> (signal.SIGINT - 1) & 1 == 1


def unprivileged(test):
    """Popen arguments that make permissions count, also when the tests are run by root."""
    if os.geteuid() != 0:
        return {}
    test.dir.chmod(0o777)
    nobody = {"user": 65534, "group": 65534, "extra_groups": []}
    try:
        usable = subprocess.run([PROGRAM, "--version"], cwd=test.dir, capture_output=True, **nobody).returncode == 0
    except (OSError, subprocess.SubprocessError):
        usable = False
    if not usable:
        test.skipTest("run by root, and other users cannot run the program")
    return nobody


def mapping_fails():
    """For preexec_fn: mapping a file for reading only fails from now on, as on some file systems."""
    # A filter of system calls, see seccomp(2): load a field, compare, return a verdict.
    load, equal, verdict = 0x20, 0x15, 0x06
    number, protection, flags = 0, 16 + 2 * 8, 16 + 3 * 8
    allow, fail = 0x7FFF0000, 0x00050000 | errno.ENODEV
    code = [(load, 0, 0, number), (equal, 0, 5, 9),  # mmap
            (load, 0, 0, protection), (equal, 0, 3, 1),  # PROT_READ
            (load, 0, 0, flags), (equal, 0, 1, 2),  # MAP_PRIVATE
            (verdict, 0, 0, fail), (verdict, 0, 0, allow)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("<HBBI", *line) for line in code))
    program = struct.pack("<HxxxxxxQ", 8, ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(38, 1, 0, 0, 0) != 0 or libc.prctl(22, 2, program, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "system calls cannot be filtered here")


def at_length(what="at length"):
    """Decorator: a test, or a class of them, that runs only where there is time for it."""
    return unittest.skipUnless(LONG, f"{what}: make test-all")


def thinned(points, step):
    """All points where there is time for them, else every step-th."""
    return list(points)[:: 1 if LONG else step]


# ---- The results of a file of tests.

Outcome = collections.namedtuple("Outcome", "test seconds skipped")


class TimedResult(unittest.TextTestResult):
    """Remembers how long every test took, and why some were skipped."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.outcomes = []
        self.reason = None

    def startTest(self, test):
        super().startTest(test)
        self.begun, self.reason = time.monotonic(), None

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.reason = reason

    def stopTest(self, test):
        super().stopTest(test)
        self.outcomes.append(Outcome(test, time.monotonic() - self.begun, self.reason))


def main():
    """Runs the tests of the file that calls this, as unittest.main() does; HINGE_REPORT gets the results."""
    runner = unittest.TextTestRunner(resultclass=TimedResult)
    result = unittest.main(module="__main__", testRunner=runner, exit=False).result
    report = os.environ.get("HINGE_REPORT")
    if report:
        suite = xml.etree.ElementTree.Element("testsuite", name=pathlib.Path(sys.argv[0]).stem)
        for test, seconds, skipped in result.outcomes:
            case = xml.etree.ElementTree.SubElement(suite, "testcase", classname=type(test).__name__,
                                                    name=test.id().rpartition(".")[2], time=f"{seconds:.3f}")
            if skipped is not None:
                xml.etree.ElementTree.SubElement(case, "skipped", message=skipped)
        for test, reason in result.skipped:  # where a whole file is skipped nothing was started
            if not isinstance(test, unittest.TestCase):
                case = xml.etree.ElementTree.SubElement(suite, "testcase", classname="", name=str(test))
                xml.etree.ElementTree.SubElement(case, "skipped", message=reason)
        pathlib.Path(report).parent.mkdir(parents=True, exist_ok=True)
        xml.etree.ElementTree.ElementTree(suite).write(report)
    sys.exit(not result.wasSuccessful())


# ---- Small data.

GOOD = b"1 1:1 2:0.5\n-1 1:-1 2:2\n"


def make_rows(rows, features, seed=1, classes=(-1, 1), noise=0.1):
    """Rows [(label, {index: value})] of dense random features with a linear rule and some wrong labels."""
    draw = random.Random(seed).random
    planes = [[draw() - 0.5 for _ in range(features)] for _ in classes]
    data = []
    for i in range(rows):
        x = [round(2 * draw() - 1, 4) for _ in range(features)]
        scores = [sum(a * b for a, b in zip(plane, x)) for plane in planes]
        label = classes[scores.index(max(scores))]
        if i < len(classes):
            label = classes[i]  # every class occurs
        elif draw() < noise:
            label = classes[int(draw() * len(classes))]
        data.append((label, {j + 1: v for j, v in enumerate(x) if v != 0}))
    return data


def to_text(data):
    return "".join(f"{label}" + "".join(f" {j}:{v!r}" for j, v in x.items()) + "\n" for label, x in data)


def parse_text(text):
    """Simple libsvm text as rows [(label, {index: value})]; no oddities."""
    data = []
    for line in text.splitlines():
        label, *pairs = line.split()
        data.append((int(label), {int(j): float(v) for j, v in (p.split(":") for p in pairs)}))
    return data


def f32(x):
    """The nearest float32."""
    return struct.unpack("<f", struct.pack("<f", x))[0]


DATA = make_rows(200, 10)
TEXT = to_text(DATA)
THREE = make_rows(150, 6, seed=3, classes=(2, 5, 11), noise=0.05)  # three classes


def joined(change):
    """TEXT with every line changed."""
    return "".join(change(line) + "\n" for line in TEXT.splitlines())


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


# ---- Files of hinge: an independent reader and writer of the safetensors container.

ARRAY_TYPES = {"U8": "B", "U32": "I", "U64": "Q", "I64": "q", "F32": "f", "F64": "d"}


class Container:
    """Metadata and arrays of a model or a binary data set. What was changed can be put together again."""

    def __init__(self, path_or_bytes):
        data = path_or_bytes if isinstance(path_or_bytes, bytes) else pathlib.Path(path_or_bytes).read_bytes()
        (length,) = struct.unpack_from("<Q", data)
        header = json.loads(data[8 : 8 + length])
        self.metadata = header.pop("__metadata__")
        self.arrays = {}
        self.types = {}
        self.shapes = {}  # where they are not just the length
        self.place = {}  # name: offset in the file, bytes
        end = 0
        for name, entry in header.items():
            begin, end = entry["data_offsets"]
            values = array.array(ARRAY_TYPES[entry["dtype"]])
            values.frombytes(data[8 + length + begin : 8 + length + end])
            self.arrays[name] = values
            self.types[name] = entry["dtype"]
            if len(entry["shape"]) != 1:
                self.shapes[name] = entry["shape"]
            self.place[name] = (8 + length + begin, end - begin)
            assert len(values) == math.prod(entry["shape"]), name
        assert len(data) == 8 + length + end

    def to_bytes(self, edit=lambda header: None):
        """The file, with checksums that are right; edit() may change the header before they are made."""
        if xxhash is None:
            raise unittest.SkipTest("checksums need the Python module xxhash (tools/install_deps.sh test installs it)")
        digits = lambda data: f"{xxhash.xxh3_64_intdigest(data):016x}"
        metadata = {k: v for k, v in self.metadata.items() if not k.startswith("checksum.")}
        header, body = {"__metadata__": metadata}, b""
        for name, values in self.arrays.items():
            data = values.tobytes()
            metadata["checksum." + name] = digits(data)
            header[name] = {"dtype": self.types[name], "shape": self.shapes.get(name, [len(values)]),
                            "data_offsets": [len(body), len(body) + len(data)]}
            body += data
        metadata["checksum.header"] = "0" * 16
        edit(header)
        text = json.dumps(header, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 8)
        while len(text) % 256 in b"08":
            text += b" " * 8
        before, key, after = text.partition(b'"checksum.header":"')
        text = before + key + digits(text).encode() + after[16:] if key else text
        return struct.pack("<Q", len(text)) + text + body


class ModelFile(Container):
    """A model file and what its metadata says."""

    def __init__(self, path_or_bytes):
        super().__init__(path_or_bytes)
        self.labels = json.loads(self.metadata["labels"])
        self.options = json.loads(self.metadata["options"])
        self.data = json.loads(self.metadata["data"])
        self.certificate = json.loads(self.metadata["certificate"])

    @property
    def problems(self):
        return 1 if len(self.labels) == 2 else len(self.labels)

    def weights(self, problem=0):
        """{index as in the text: weight}"""
        packed = self.arrays["weights"]
        width = len(packed) // self.problems
        columns = self.arrays.get("columns", range(width))
        base = self.data["index_base"]
        return {j + base: packed[problem * width + k] for k, j in enumerate(columns)}

    def score(self, x, problem=0):
        w = self.weights(problem)
        return math.fsum(w.get(j, 0.0) * v for j, v in x.items()) + self.arrays["bias"][problem]

    def alphas(self, upper, problem=0):
        """Dual variables of the witness; `upper` are their bounds."""
        states = self.arrays["witness.states"]
        width = len(states) // self.problems
        skip = sum(self.arrays["witness.free_counts"][:problem])
        free = iter(self.arrays["witness.free"][skip:])
        out = []
        for i, u in enumerate(upper):
            state = states[problem * width + i // 4] >> 2 * (i % 4) & 3
            out.append([0.0, u, None][state] if state < 2 else next(free))
        return out


def recompute(model, data, costs=None, problem=0):
    """Primal and bound of one binary problem, from the definition: P(w), D(alpha), and alpha."""
    cost, constant = model.options["cost"], model.options["bias_feature"]
    weights = dict(model.weights(problem))
    if constant:
        weights[None] = model.arrays["bias"][problem] / constant
    data = [(label, {**{j: f32(v) for j, v in x.items()}, **({None: constant} if constant else {})})
            for label, x in data]
    signs = [1 if label == model.labels[problem] else -1 for label, _ in data]
    upper = [cost * c for c in (costs or [1.0] * len(data))]
    losses = (u * max(0.0, 1 - y * math.fsum(weights.get(j, 0.0) * v for j, v in x.items()))
              for u, y, (_, x) in zip(upper, signs, data))
    primal = math.fsum(v * v for v in weights.values()) / 2 + math.fsum(losses)
    alphas = model.alphas(upper, problem)
    point = {}
    for alpha, y, (_, x) in zip(alphas, signs, data):
        for j, v in x.items():
            point[j] = point.get(j, 0.0) + alpha * y * v
    dual = math.fsum(alphas) - math.fsum(v * v for v in point.values()) / 2
    return types.SimpleNamespace(primal=primal, dual=dual, alphas=alphas, upper=upper)


SIGNALS = {signal.SIGHUP: 129, signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGXCPU: 152}  # and their exit codes
