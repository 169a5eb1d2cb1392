"""Running the program on several ranks, by a real mpirun; more of them than there are cores."""

import os
import pathlib
import shutil
import signal
import subprocess

import support
from support import PROGRAM, Case, Run

MPIRUN = shutil.which("mpirun")
LIBRARY = pathlib.Path(PROGRAM).with_name("libhinge-mpi.so")
TIMEOUT = 120

# Open MPI asks to be told that it may run as root, and more ranks than cores. Sanitizers find leaks in
# MPI itself.
ENVIRONMENT = {
    **support.ENVIRONMENT,
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_btl_base_warn_component_unused": "0",
    "ASAN_OPTIONS": "detect_leaks=0:" + os.environ.get("ASAN_OPTIONS", ""),
}


class MpiCase(Case):
    def setUp(self):
        super().setUp()
        if MPIRUN is None:
            self.skipTest("mpirun is not installed (tools/install_deps.sh mpi)")
        if not LIBRARY.exists():
            self.skipTest(f"hinge was built without MPI: there is no {LIBRARY.name} beside it")

    def launch(self, ranks, *arguments, program=(PROGRAM,)):
        """The launcher as a process of its own group; without a program, arguments begin with those of the launcher."""
        command = [MPIRUN, "-n", str(ranks), *program, *map(str, arguments)]
        process = subprocess.Popen(command, cwd=self.dir, env=ENVIRONMENT, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)

        def stop():
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
        self.addCleanup(stop)
        return process

    def mpi(self, ranks, *arguments, code=0, **more):
        process = self.launch(ranks, *arguments, **more)
        try:
            out, err = process.communicate(timeout=TIMEOUT)
        except subprocess.TimeoutExpired:
            self.fail(f"mpirun -n {ranks} hinge {arguments}: no end after {TIMEOUT} s")
        run = Run(arguments, process.returncode, out, err)
        if code is not None and run.code != code:
            self.fail(f"{ranks} ranks: expected exit code {code}\n{run}")
        return run

    def ranks_of(self, launcher):
        """Process ids of the ranks, in their order."""
        found = {}
        for entry in pathlib.Path("/proc").iterdir():
            try:
                if os.readlink(entry / "exe") != os.path.realpath(PROGRAM):
                    continue
                environment = (entry / "environ").read_bytes().split(b"\0")
                if int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1]) != launcher.pid:
                    continue
            except (OSError, IndexError, ValueError):
                continue
            for variable in environment:
                if variable.startswith(b"OMPI_COMM_WORLD_RANK="):
                    found[int(variable.split(b"=")[1])] = int(entry.name)
        return [found[k] for k in sorted(found)]

    def check_proof(self, model, data, gap):
        verified = self.hinge("verify", model, data, "--json").json
        self.assertTrue(verified["agrees"])
        self.assertLessEqual(verified["relative_gap"], gap)
