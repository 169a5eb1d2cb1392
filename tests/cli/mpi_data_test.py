"""Real data on 1 to 4 ranks.

HINGE_SHARED_DATA is the folder of the data sets (NAME-train.svm.xz); without it, or without mpirun, everything is
skipped.
"""

import os
import pathlib
import subprocess

import support
from mpi_support import MpiCase
from support import LONG, at_length

FOLDER = os.environ.get("HINGE_SHARED_DATA", "")


class RealDataTest(MpiCase):
    """1 to 4 ranks reach 1e-6 on real data, and one process confirms it on all rows."""

    def check(self, name):
        source = pathlib.Path(FOLDER or "/nonexistent", f"{name}-train.svm.xz")
        if not source.is_file():
            self.skipTest(f"{source.name} is not there; HINGE_SHARED_DATA is " + (FOLDER or "not set"))
        with open(self.dir / "d.svm", "wb") as plain:
            subprocess.run(["xz", "-dc", source], stdout=plain, check=True)
        for ranks in (1, 2, 3, 4) if LONG else (2,):
            with self.subTest(ranks=ranks):
                self.mpi(ranks, "train", "d.svm", "m", "--gap", "1e-6", "-n", "1", "--require-converged")
                self.check_proof("m", "d.svm", 1e-6)

    def test_a9a(self):
        self.check("a9a")

    @at_length()
    def test_ccat(self):
        self.check("ccat")

    @at_length()
    def test_digits(self):
        self.check("digits")


if __name__ == "__main__":
    support.main()
