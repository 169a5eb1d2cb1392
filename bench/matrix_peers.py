"""Who takes part in the matrix, and how each is run: hinge, LIBLINEAR, libocas, scikit-learn, dlib.

A solver has `knobs`, from the loosest to the tightest, and
  solve(data, cost, knob, limit) -> [Point]   seconds of solving alone; Missed where it does not end in time
  file(data, cost, knob, measure) -> Whole    text to saved model by the program a user would call, if there is one
Weights are judged by data.data.primal() (matrix_sets.py). What a solver needs is compiled and started when it is
first asked for; `why_not()` says what is missing, and close() ends what was started for a set.
"""
import glob
import json
import os
import re
import select
import shutil
import subprocess
import sys
import tarfile
from dataclasses import dataclass, field

import numpy as np

from matrix_sets import liblinear_weights
from peers import HINGE

HERE = os.path.dirname(os.path.abspath(__file__))
EPSILONS = ("100", "30", "10", "5", "3", "2", "1", "0.3", "0.1", "0.03", "0.01", "3e-3", "1e-3", "3e-4", "1e-4", "1e-5",
            "1e-6", "1e-7")
EPOCHS = ("1", "2", "5", "10", "20", "50", "100", "200", "500", "1000")
CORES = len(os.sched_getaffinity(0))
LOAD_LIMIT = 300  # seconds; of reading, which counts for nothing here


class Missed(Exception):
    """Did not end, or not well; the text says which."""


@dataclass
class Point:
    knob: str
    seconds: float
    primal: list
    more: dict = field(default_factory=dict)  # dual, status and choice of hinge


@dataclass
class Whole:
    """Text (or a binary set) to saved model."""
    seconds: float
    peak: int  # bytes
    primal: list
    more: dict = field(default_factory=dict)


class Workshop:
    """Where programs are compiled and results of runs lie."""

    def __init__(self, folder):
        self.folder = folder
        os.makedirs(f"{folder}/tmp", exist_ok=True)

    def compile(self, source, *options, fast=True):
        """The program made of bench/SOURCE.cc; Missed with the compiler's first words where there is none."""
        program = f"{self.folder}/{source}"
        path = f"{HERE}/{source}.cc"
        headers = [path, f"{HERE}/libsvm_rows.h"]
        if not os.path.exists(program) or any(os.path.getmtime(p) > os.path.getmtime(program) for p in headers):
            level = ["-O3", "-march=native", "-DNDEBUG"] if fast else ["-O2"]
            made = subprocess.run(["g++", "-std=c++20", *level, "-w", path, *options, "-o", program],
                                  capture_output=True, text=True)
            if made.returncode:
                raise Missed(f"{source}.cc cannot be compiled: {(made.stderr.splitlines() or [''])[0]}")
        return program

    def path(self, name):
        return f"{self.folder}/tmp/{name}"

    def measure(self, command, limit):
        """-> wall seconds, peak bytes, stdout"""
        done = subprocess.run([self.compile("measure", fast=False), str(int(limit)), *command], capture_output=True,
                              text=True)
        *said, last = done.stderr.strip().split("\n")
        seconds, peak, status = last.split()
        if status != "0":
            words = (" ".join(said[-2:]) or done.stdout[-120:]).split()
            why = "no end within the time" if status == "-1" else " ".join(words)[:200]
            raise Missed(f"{os.path.basename(command[0])}: {why}")
        return float(seconds), int(peak), done.stdout


class Server:
    """A program that keeps the rows of one set in memory and trains on request, see libsvm_rows.h."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        text=True, bufsize=1)
        if self.answer(LOAD_LIMIT) != "ready":
            raise Missed("not ready")

    def answer(self, limit):
        if not select.select([self.process.stdout], [], [], limit)[0]:
            self.end()
            raise Missed("no end within the time")
        line = self.process.stdout.readline().strip()
        if not line:
            said = self.process.stderr.read().strip().split("\n")[-1]
            self.end()
            raise Missed(said or "ended early")
        return line

    def ask(self, cost, knob, path, limit):
        self.process.stdin.write(f"{cost} {knob} {path}\n")
        seconds = float(self.answer(limit + 2))  # two more for writing the weights
        if seconds > limit:
            raise Missed("no end within the time")
        return seconds

    def alive(self):
        return self.process is not None

    def end(self):
        if self.process:
            self.process.kill()
            self.process.communicate()
            self.process = None


class Solver:
    traced = False  # one run tells of every gap on its way
    slows_like_one_over_gap = False

    def close(self):
        pass


class Served(Solver):
    """A solver that a Server runs."""

    def __init__(self, shop, name, knobs, usual="1"):
        self.shop, self.name, self.knobs, self.usual = shop, name, knobs, usual
        self.server, self.on = None, None

    def why_not(self):
        try:
            self.command("")
        except Missed as missing:
            return str(missing)
        return None

    def request(self, knob):
        return knob

    def solve(self, data, cost, knob, limit):
        if self.server is None or not self.server.alive() or self.on != data.name:
            self.close()
            self.server, self.on = Server(self.command(data)), data.name
        path = self.shop.path("weights")
        seconds = self.server.ask(cost, self.request(knob), path, limit)
        weights = np.fromfile(path).reshape(len(data.data.signs), -1)
        return [Point(knob, seconds, data.data.primal(weights, float(cost)))]

    def close(self):
        if self.server:
            self.server.end()
        self.server = None


class Liblinear(Served):
    def __init__(self, shop, sources):
        super().__init__(shop, "LIBLINEAR", EPSILONS)
        self.sources = sources

    def command(self, data):
        return [self.program(), data and data.text]

    def program(self):
        """With its newest sources and no limit of passes where pip has them, else with the library installed."""
        sources = self.unpacked()
        if sources:
            lifted = f"{sources}/lifted.cpp"
            with open(f"{sources}/linear.cpp") as file:
                text = file.read().replace("int dual_solver_max_iter = 300;", "int dual_solver_max_iter = 2000000000;")
            if not os.path.exists(lifted):
                with open(lifted, "w") as file:
                    file.write(text)
            return self.shop.compile("liblinear_solve", f"-I{sources}", lifted, f"{sources}/newton.cpp",
                                     *glob.glob(f"{sources}/blas/*.c"))
        return self.shop.compile("liblinear_solve", "-llinear")

    def unpacked(self):
        folder = f"{self.shop.folder}/liblinear"
        for archive in glob.glob(f"{self.sources}/liblinear_official-*.tar.gz"):
            if not os.path.exists(folder):
                with tarfile.open(archive) as tar:
                    tar.extractall(folder, filter="data")
        return next(iter(glob.glob(f"{folder}/*/cpp-source")), None)

    def about(self):
        sources = self.unpacked()
        if not sources:
            return "library of the distribution, which ends after 1,000 passes"
        with open(f"{sources}/linear.h") as file:
            version = int(re.search(r"LIBLINEAR_VERSION (\d+)", file.read())[1])
        return f"{version / 100:.2f}, -O3 -march=native, its limit of passes lifted"

    def file(self, data, cost, knob, limit):
        path = self.shop.path("liblinear.model")
        seconds, peak, _ = self.shop.measure(["liblinear-train", "-s", "3", "-c", cost, "-e", knob, "-q", data.text, path],
                                             limit)
        return Whole(seconds, peak, data.data.primal(liblinear_weights(path), float(cost)))


class Dlib(Served):
    def __init__(self, shop):
        super().__init__(shop, "dlib", EPSILONS)

    def command(self, data):
        return [self.shop.compile("dlib_solve", "-ldlib", "-lblas"), data and data.text]

    def about(self):
        return "svm_c_linear_dcd_trainer, -O3 -march=native, its limit of iterations lifted"


class Sklearn(Served):
    def __init__(self, shop, name, word, knobs):
        super().__init__(shop, name, knobs, "1" if word == "tol" else "5")
        self.word = word
        self.slows_like_one_over_gap = word == "epochs"

    def command(self, data):
        if subprocess.run([sys.executable, "-c", "import sklearn"], capture_output=True).returncode:
            raise Missed("scikit-learn is not installed")
        return [sys.executable, f"{HERE}/sklearn_solve.py", "serve", data and data.binary]

    def request(self, knob):
        return f"{self.word}={knob}"

    def about(self):
        import sklearn
        return f"scikit-learn {sklearn.__version__}"

    def file(self, data, cost, knob, limit):
        path = self.shop.path("weights.npy")
        seconds, peak, _ = self.shop.measure([sys.executable, f"{HERE}/sklearn_solve.py", "once", data.text, cost,
                                              self.request(knob), path], limit)
        return Whole(seconds, peak, data.data.primal(np.load(path), float(cost)))


class Libocas(Solver):
    """svmocas, which tells time and primal after every iteration: one run to the tightest gap has all the others.

    Its option -q stops at a given primal value, so that each of its iterations can be had as a result. The last of the
    primals it tells is held against its weights.
    """

    traced = True
    LINE = re.compile(r"^\s*(\d+): tim=([0-9.]+), Q_P=([0-9.]+)", re.M)

    def __init__(self, shop, gaps, threads=1):
        self.shop, self.threads = shop, threads
        self.name = "libocas" if threads == 1 else "libocas, all cores"
        self.knobs = (f"{min(gaps):g}",)

    def why_not(self):
        return None if shutil.which("svmocas") else "svmocas (package libocas-tools) is not installed"

    def about(self):
        return "svmocas by its own clock; the iteration after which its option -q could have stopped it"

    def command(self, data, cost, knob, more=()):
        if len(data.data.signs) > 1:
            raise Missed("two classes only")
        return ["svmocas", "-c", cost, "-b", "0", "-p", str(self.threads), "-r", knob, *more, data.text,
                self.shop.path("svmocas.model")]

    def judge(self, data, cost):
        with open(self.shop.path("svmocas.model")) as file:
            return data.data.primal(np.array(file.read().split(), dtype=np.float64)[:-1], float(cost))

    def solve(self, data, cost, knob, limit):
        _, _, out = self.shop.measure(self.command(data, cost, knob, ("-t", str(limit))), limit + LOAD_LIMIT)
        lines = [(k, float(seconds), float(primal)) for k, seconds, primal in self.LINE.findall(out)]
        if not lines:
            raise Missed(f"svmocas: {' '.join(out.split())[-80:]}")
        found = self.judge(data, cost)[0]
        if abs(found - lines[-1][2]) > 1e-5 * found:
            raise Missed(f"svmocas says its primal is {lines[-1][2]}; it is {found}")
        return [Point(f"iteration {k}", seconds, [primal]) for k, seconds, primal in lines if seconds <= limit]

    def file(self, data, cost, knob, limit):
        seconds, peak, _ = self.shop.measure(self.command(data, cost, knob), limit)
        return Whole(seconds, peak, self.judge(data, cost))


class Hinge(Solver):
    """hinge train with whatever solver it picks; a knob is the gap asked for."""

    def __init__(self, shop, gaps, threads=1):
        self.shop, self.threads = shop, threads
        self.name = "hinge" if threads == 1 else "hinge, all cores"
        self.knobs = tuple(f"{gap:g}" for gap in sorted(gaps, reverse=True))

    def why_not(self):
        return None if shutil.which(HINGE) else f"{HINGE} is not there"

    def about(self):
        version = subprocess.run([HINGE, "--version"], capture_output=True, text=True).stdout.strip()
        commit = subprocess.run(["git", "-C", HERE, "describe", "--always", "--dirty"], capture_output=True, text=True)
        return f"{version}, {commit.stdout.strip() or 'of unknown origin'}"

    def command(self, path, cost, knob):
        return [HINGE, "train", path, self.shop.path("hinge.model"), "-c", cost, "--gap", knob, "-n",
                str(0 if self.threads > 1 else 1), "--json", "-q"]

    def solve(self, data, cost, knob, limit):
        _, _, out = self.shop.measure([*self.command(data.binary, cost, knob), "--time-limit", str(limit)],
                                      3 * limit + 60)
        said = json.loads(out)
        return [Point(knob, said["seconds"]["solve"], *self.values(said))]

    @staticmethod
    def values(said):
        problems = sorted(said["problems"], key=lambda one: int(one.get("class", 0)))  # regression has one problem and no class
        return ([one["primal"] for one in problems],
                {"dual": [one["dual"] for one in problems], "status": said["status"], "choice": said["solver"],
                 "stages": said["seconds"], "passes": said["data_passes"]})

    def weights(self):
        """The model of the last run."""
        path = self.shop.path("hinge.liblinear")
        subprocess.run([HINGE, "convert", self.shop.path("hinge.model"), path, "-q"], check=True)
        return liblinear_weights(path)

    def file(self, data, cost, knob, limit, binary=False):
        seconds, peak, out = self.shop.measure(self.command(data.binary if binary else data.text, cost, knob), limit)
        primal, more = self.values(json.loads(out))
        more["model_bytes"] = os.path.getsize(self.shop.path("hinge.model"))
        return Whole(seconds, peak, primal, more)


def bandwidth(shop, cores=CORES):
    """Bytes a second read from memory by one thread and by one on each of so many cores."""
    program = shop.compile("bandwidth", "-lpthread")
    return [float(subprocess.run([program, str(n)], capture_output=True, text=True, check=True).stdout)
            for n in (1, cores)]


def peers(shop, gaps, sources):
    """Those on one thread, and those that can use all cores."""
    return ([Liblinear(shop, sources), Libocas(shop, gaps), Sklearn(shop, "LinearSVC", "tol", EPSILONS),
             Sklearn(shop, "SGDClassifier", "epochs", EPOCHS), Dlib(shop)],
            [Libocas(shop, gaps, CORES)] if CORES > 1 else [])
