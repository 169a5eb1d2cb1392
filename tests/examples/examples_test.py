"""What others do with an installed hinge: the programs of examples/ are built in both ways their README gives, and say
what it quotes.

HINGE_BUILD is the build folder that is installed, CMAKE and CXX the programs to build with.
"""

import functools
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "cli"))

import support

EXAMPLES = ROOT / "examples"
README = (EXAMPLES / "README.md").read_text()
WARNINGS = "-Wall -Wextra -Wconversion -Wsign-conversion -Wshadow -Werror"


def run(command, folder, environment, status=0):
    """What a command of the shell says on both streams; it must end with this status."""
    done = subprocess.run(["bash", "-o", "pipefail", "-ec", command], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
    if done.returncode != status:
        raise AssertionError(f"{command}\nended with {done.returncode}, not {status}, and said:\n{done.stdout}")
    return done.stdout


@functools.cache
def installed():
    """The folder hinge is installed in. It was another one at first, since an installed tree may be moved."""
    prefix = SCRATCH / "moved"
    run(f"'{os.environ.get('CMAKE', 'cmake')}' --install '{os.environ['HINGE_BUILD']}' --prefix '{SCRATCH}/first'", SCRATCH,
        os.environ)
    (SCRATCH / "first").rename(prefix)
    return prefix


def environment():
    """The one the README asks for: hinge is on the path, and both ways to build find where it is."""
    prefix = installed()
    (pc,) = prefix.glob("**/hinge.pc")
    return {**os.environ, "PATH": f"{prefix}/bin:{os.environ['PATH']}", "CMAKE_PREFIX_PATH": str(prefix),
            "PKG_CONFIG_PATH": str(pc.parent), "LD_LIBRARY_PATH": str(pc.parent.parent), "CXXFLAGS": f"-O1 {WARNINGS}",
            "CMAKE_BUILD_PARALLEL_LEVEL": "2", "MAKEFLAGS": "-j2"}


class Examples:
    """The tests of either way; `way` is which block of commands of the README builds the programs."""

    @classmethod
    def setUpClass(cls):
        cls.environment = environment()
        cls.folder = SCRATCH / cls.__name__
        shutil.copytree(EXAMPLES, cls.folder, ignore=shutil.ignore_patterns("build"))
        run(re.findall(r"```sh\n(.*?)```", README, re.S)[cls.way], cls.folder, cls.environment)

    def run_here(self, command, status=0):
        return run(command, self.folder, self.environment, status)

    def setUp(self):
        kept = {"build", *(path.name for path in EXAMPLES.iterdir())}
        for path in self.folder.iterdir():
            if path.name not in kept:
                path.unlink()

    def test_they_say_what_the_readme_quotes(self):
        (block,) = re.findall(r"```console\n(.*?)```", README, re.S)
        self.maxDiff = None
        said = "".join(f"$ {command}\n{self.run_here(command)}" for command in re.findall(r"^\$ (.*)$", block, re.M))
        self.assertEqual(said, block)
        ran = set(re.findall(r"build/(\w+)", block))
        programs = {path.stem for path in EXAMPLES.glob("*.cc")}
        self.assertEqual(ran, programs)
        self.assertEqual(set(re.findall(r"\((\w+)\.cc\)", README)), programs)

    def test_training_gives_the_model_of_the_program(self):
        self.run_here("build/train_and_prove fruit.svm a.model; hinge train -q fruit.svm b.model; cmp a.model b.model")

    def test_a_training_that_was_stopped_gives_the_model_of_the_program(self):
        self.run_here("hinge generate -q rows.svm --like ccat --rows 2000; hinge train -q rows.svm a.model --gap 1e-6")
        self.run_here("build/stop_and_resume rows.svm b.model kept 4; cp b.model early.model")
        self.run_here("cmp -s a.model early.model", status=1)
        said = self.run_here("test -f kept; build/stop_and_resume rows.svm b.model kept; test ! -e kept")
        self.assertNotIn("after 0.0 passes", said)
        self.run_here("cmp a.model b.model")

    def test_an_interrupt_raises_the_flag(self):
        """While it waits for rows that do not come."""
        os.mkfifo(self.folder / "rows.fifo")
        with subprocess.Popen(["build/stop_and_resume", "rows.fifo", "a.model", "kept"], cwd=self.folder,
                              env=self.environment, stderr=subprocess.PIPE, text=True) as process:
            with open(self.folder / "rows.fifo", "wb", buffering=0) as rows:  # there once the program opens it, too
                rows.write(support.GOOD)
                process.send_signal(signal.SIGINT)
                said = process.communicate(timeout=support.TIMEOUT)[1]
        self.assertIn("[run.interrupted]", said)
        self.assertEqual(process.returncode, 130)

    def test_rows_in_memory_get_the_labels_of_the_program(self):
        self.run_here("hinge train -q fruit.svm a.model")
        said = re.findall(r"label (\S+), score (\S+)", self.run_here("build/predict_rows a.model"))
        (self.folder / "rows.svm").write_text("1:9 2:6\n1:6 2:7.5\n1:7 2:6.9\n")
        lines = self.run_here("hinge predict -q --no-labels --scores rows.svm a.model").splitlines()
        self.assertEqual(said, [(label, f"{float(score):.4f}") for label, score in map(str.split, lines)])

    def test_a_stream_in_two_parts_gives_the_model_of_the_program(self):
        self.run_here("hinge generate -q rows.svm --like ccat --rows 300")
        self.run_here("head -n 100 rows.svm | build/online a.model; tail -n 200 rows.svm | build/online a.model")
        self.run_here("hinge stream -q --lambda 1e-4 --index-base 1 b.model < rows.svm; cmp a.model b.model")

    def test_failures_end_with_their_place_and_code(self):
        self.assertIn("[io.open]", self.run_here("build/train_and_prove absent.svm a.model", status=66))
        self.assertIn("[model.magic]", self.run_here("build/predict_rows fruit.svm", status=80))
        (self.folder / "bad.svm").write_text("+1 1:2\n-1 x\n")
        self.assertIn("bad.svm:2:4: error", self.run_here("build/stop_and_resume bad.svm a.model kept", status=65))
        said = self.run_here("build/online a.model < bad.svm", status=65)
        self.assertIn("1 rows learned", said)
        self.assertIn("<stdin>:2:4: error", said)
        self.run_here("hinge info a.model")
        for name, arguments in {"train_and_prove": "one", "predict_rows": "", "stop_and_resume": "one", "online": ""}.items():
            self.assertIn("usage: ", self.run_here(f"build/{name} {arguments}", status=64))


class ByCMake(Examples, unittest.TestCase):
    way = 0


@unittest.skipUnless(shutil.which("pkg-config"), "no pkg-config")
class ByMake(Examples, unittest.TestCase):
    way = 1

    def test_both_ways_and_the_program_name_one_version(self):
        version = self.run_here("pkg-config --modversion hinge").strip()
        self.assertEqual(self.run_here("hinge --version").split()[1], version)
        (config,) = pathlib.Path(self.environment["CMAKE_PREFIX_PATH"]).glob("**/hingeConfigVersion.cmake")
        self.assertIn(f'set(PACKAGE_VERSION "{version}")', config.read_text())


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        SCRATCH = pathlib.Path(scratch)
        support.main()
