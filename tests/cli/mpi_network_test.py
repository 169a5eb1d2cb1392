"""Ranks on two machines, as far as they can tell: two network namespaces, each with its own address and host name, and
nothing but a cable between them. Skipped where there is no Open MPI, or where namespaces cannot be made (it takes root).
"""

import os
import shlex
import shutil
import signal
import subprocess
import time

import support
from mpi_support import ENVIRONMENT, MPIRUN, TIMEOUT, MpiCase
from support import OLD_MODEL, PROGRAM, Run, at_length

# mpirun calls this in the place of ssh: AGENT HOST COMMAND...
AGENT = """#!/bin/sh
shift
exec ip netns exec {name} unshare --uts sh -c "hostname {name}; $*"
"""


def ip(*words):
    return subprocess.run(["ip", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


@at_length("ranks over namespaces")
class TwoMachinesTest(MpiCase):
    def setUp(self):
        super().setUp()
        if shutil.which("ip") is None or shutil.which("unshare") is None:
            self.skipTest("ip and unshare are not installed (packages iproute2 and util-linux)")
        if "Open MPI" not in subprocess.run([MPIRUN, "--version"], stdout=subprocess.PIPE, text=True).stdout:
            self.skipTest("how to start ranks elsewhere is known of Open MPI only")
        self.names = [f"hinge-{os.getpid()}-{k}" for k in (1, 2)]
        for name in self.names:
            made = ip("netns", "add", name)
            if made.returncode != 0:
                self.skipTest("network namespaces cannot be made here: " + made.stdout.strip())
            self.addCleanup(ip, "netns", "del", name)
        cable = ip("link", "add", "cable", "netns", self.names[0], "type", "veth", "peer", "name", "cable", "netns",
                   self.names[1])
        if cable.returncode != 0:
            self.skipTest("namespaces cannot be connected here: " + cable.stdout.strip())
        self.addresses = ["10.253.77.1", "10.253.77.2"]
        for name, address in zip(self.names, self.addresses):
            ip("-n", name, "address", "add", address + "/24", "dev", "cable")
            ip("-n", name, "link", "set", "cable", "up")
            ip("-n", name, "link", "set", "lo", "up")
        deadline = time.monotonic() + 5
        while not all(" UP " in ip("-n", name, "-br", "link", "show", "cable").stdout for name in self.names):
            self.assertLess(time.monotonic(), deadline, "the cable does not come up")
            time.sleep(0.05)
        self.write("agent", AGENT.format(name=self.names[1])).chmod(0o755)

    def sent(self):
        """Bytes that went over the cable."""
        lines = ip("netns", "exec", self.names[0], "cat", "/proc/net/dev").stdout.splitlines()
        return next(int(line.split()[9]) for line in lines if line.strip().startswith("cable:"))

    def start(self, ranks, *arguments):
        """mpirun, on the first of the two; it writes to files, lest somebody wait for what it leaves behind."""
        here = shlex.join([
            MPIRUN, "--mca", "plm_rsh_agent", str(self.dir / "agent"), "--mca", "pml", "ob1", "--mca", "btl", "tcp,self",
            "--host", ",".join(f"{address}:{(ranks + 1) // 2}" for address in self.addresses), "-n", str(ranks),
            PROGRAM, *map(str, arguments)])
        command = ["ip", "netns", "exec", self.names[0], "unshare", "--uts", "sh", "-c",
                   f"hostname {self.names[0]}; exec {here}"]
        with open(self.dir / "out", "wb") as out, open(self.dir / "err", "wb") as err:
            process = subprocess.Popen(command, cwd=self.dir, env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=out,
                                       stderr=err)
        self.addCleanup(process.wait)
        self.addCleanup(self.end_all)
        return process

    def test_ranks_on_both_sides(self):
        self.hinge("generate", "d.svm", "--like", "real-sim", "--rows", "2000")
        arguments = ("train", "d.svm", "m", "--gap", "1e-4", "-n", "1", "--json", "--require-converged")
        for ranks in (2, 4):
            with self.subTest(ranks=ranks):
                before = self.sent()
                code = self.start(ranks, *arguments).wait(timeout=TIMEOUT)
                run = Run(arguments, code, self.read("out"), self.read("err"))
                self.assertEqual(run.code, 0, run)
                self.assertEqual(run.json["ranks"], ranks)
                self.check_proof("m", "d.svm", 1e-4)
                # At least what rank 0 tells of itself for every rank on the other side.
                self.assertGreater(self.sent() - before, run.json["bytes_sent"] / ranks)
                # Without the network between them, the same model.
                self.mpi(ranks, "train", "d.svm", "near", "--gap", "1e-4", "-n", "1")
                self.assertEqual(self.read("m"), self.read("near"))

    def test_the_cable_is_pulled(self):
        """Ranks on either side notice by themselves; the launcher, which waits for its other half, need not."""
        self.hinge("generate", "d.svm", "--like", "real-sim", "--rows", "2000")
        self.write("m", OLD_MODEL)
        self.start(2, "train", "d.svm", "m", "--gap", "1e-14", "--time-limit", "60", "--mpi-timeout", "2")
        before, deadline = self.sent(), time.monotonic() + 20
        while self.sent() < before + 1000000:  # they are at work
            self.assertLess(time.monotonic(), deadline, "nothing goes over the cable")
            time.sleep(0.05)
        ip("-n", self.names[0], "link", "set", "cable", "down")
        deadline = time.monotonic() + 10
        while any(self.program_of(pid) == os.path.realpath(PROGRAM) for pid in self.processes()):
            self.assertLess(time.monotonic(), deadline, "a rank lives on")
            time.sleep(0.05)
        self.assertEqual(self.read("m"), OLD_MODEL)
        self.assertIn(b"[mpi.timeout]", self.read("err"))

    def processes(self):
        """What runs in the two namespaces."""
        return [int(pid) for name in self.names for pid in ip("netns", "pids", name).stdout.split()]

    def end_all(self):
        for pid in self.processes():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    @staticmethod
    def program_of(pid):
        try:
            return os.readlink(f"/proc/{pid}/exe")
        except OSError:
            return None


if __name__ == "__main__":
    support.main()
