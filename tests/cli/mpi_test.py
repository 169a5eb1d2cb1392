"""Training on several ranks, started by a real mpirun; more of them than there are cores.

Without mpirun, or a hinge built without MPI, everything but the first test is skipped.
"""

import shutil
import subprocess

import support
from mpi_support import ENVIRONMENT, MpiCase
from support import PROGRAM, Case, make_rows, thinned, to_text


class AloneTest(Case):
    def test_one_rank_is_no_rank(self):
        """A launcher that starts one process changes nothing; nor does one without our library."""
        self.write("d.svm", to_text(make_rows(60, 10)))
        self.hinge("train", "d.svm", "plain")
        one = {"OMPI_COMM_WORLD_SIZE": "1", "OMPI_COMM_WORLD_RANK": "0"}
        self.hinge("train", "d.svm", "one", env=one)
        self.assertEqual(self.read("plain"), self.read("one"))

    def test_without_the_library(self):
        self.write("d.svm", to_text(make_rows(60, 10)))
        copy = self.dir / "hinge"
        shutil.copy(PROGRAM, copy)
        for rank in (0, 1):
            env = {**support.ENVIRONMENT, "OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_RANK": str(rank)}
            done = subprocess.run([copy, "train", "d.svm", "m"], cwd=self.dir, env=env, stderr=subprocess.PIPE)
            self.assertEqual(done.returncode, 69)
            # Who cannot reach the others speaks for itself: only one of them may lack the library.
            self.assertIn(f"hinge: error: rank {rank}: cannot load".encode(), done.stderr)
        self.assertFalse((self.dir / "m").exists())


class LauncherTest(MpiCase):
    """A launcher, as far as the environment says, and no MPI behind it."""

    def test_other_numbers_than_mpi_has(self):
        self.write("d.svm", to_text(make_rows(60, 10)))
        for names, number in (({"PMI_SIZE": "3", "PMI_RANK": "1"}, "PMI_SIZE=3"),
                              ({"OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_RANK": "0"}, "OMPI_COMM_WORLD_SIZE=2"),
                              ({"SLURM_STEP_NUM_TASKS": "4", "SLURM_PROCID": "1"}, "SLURM_STEP_NUM_TASKS=4"),
                              ({"PMIX_RANK": "1"}, "PMIX_RANK=1"),
                              ({"PMIX_RANK": "0", "SLURM_STEP_NUM_TASKS": "3"}, "SLURM_STEP_NUM_TASKS=3"),
                              ({"OMPI_COMM_WORLD_SIZE": "1", "PMI_SIZE": "3", "PMI_RANK": "1"}, "PMI_SIZE=3")):
            with self.subTest(number):
                for source in ("d.svm", "nothere.svm"):  # before anything is read
                    run = self.hinge("train", source, "m", env={**ENVIRONMENT, **names}, code=76)
                    self.assertIn(f"{number}, but MPI has brought 1 process together [mpi.launcher]", run.err)
                    self.assertIn("unset " + number.split("=")[0], run.err)
        self.assertEqual(self.files(), ["d.svm"])
        # The script of a job of Slurm has a number too; nobody started several.
        self.hinge("train", "d.svm", "m", env={**ENVIRONMENT, "SLURM_PROCID": "0", "SLURM_NTASKS": "4"})

    def test_wrong_use_is_not_lost(self):
        run = self.hinge("train", "d.svm", "--cost", "x", env={**ENVIRONMENT, "PMI_SIZE": "3", "PMI_RANK": "2"}, code=64)
        self.assertIn("hinge train: error: rank 2: --cost:", run.err)


class TrainTest(MpiCase):
    def test_one_process_under_mpirun_gives_the_same_bytes(self):
        self.write("d.svm", to_text(make_rows(200, 20)))
        self.hinge("train", "d.svm", "plain")
        self.mpi(1, "train", "d.svm", "m")
        self.assertEqual(self.read("plain"), self.read("m"))

    def test_pattern_with_json(self):
        rows = make_rows(300, 20, noise=0.2)
        self.write("part-0.svm", to_text(rows[:10]))
        self.write("part-1.svm", to_text(rows[10:250]))
        self.write("part-2.svm", to_text(rows[250:]))
        run = self.mpi(3, "train", "part-*.svm", "m", "--json", "--gap", "1e-5", "-n", "1")
        said = run.json  # one object: rank 0 speaks for all
        self.assertEqual(said["rows"], 300)
        self.assertEqual(said["ranks"], 3)
        self.assertGreater(said["messages"], 0)
        self.assertGreater(said["bytes_sent"], 0)
        self.check_proof("m", "part-*.svm", 1e-5)
        self.assertEqual(sum("gap" in line for line in run.lines), 1)  # one log
        again = self.mpi(3, "train", "part-*.svm", "again", "--gap", "1e-5", "-n", "2", "-q")
        self.assertEqual(self.read("m"), self.read("again"))
        self.assertEqual(again.err, "")

    def test_compressed_parts(self):
        """More files than ranks, and fewer."""
        if shutil.which("zstd") is None:
            self.skipTest("the program zstd is not installed (package zstd)")
        rows = make_rows(500, 20, noise=0.2)
        cuts = (0, 30, 200, 210, 350, 480, 500)
        for k, (begin, end) in enumerate(zip(cuts, cuts[1:])):
            self.write(f"part-{k}.svm", to_text(rows[begin:end]))
            subprocess.run(["zstd", "-q", "--rm", f"part-{k}.svm"], cwd=self.dir, check=True)
        run = self.mpi(4, "train", "part-*.svm.zst", "m", "--json", "--gap", "1e-5", "-n", "1")
        self.assertEqual(run.json["rows"], 500)
        self.check_proof("m", "part-*.svm.zst", 1e-5)
        self.mpi(4, "train", "part-[04].svm.zst", "m", "--gap", "1e-5", "-n", "1")
        self.check_proof("m", "part-[04].svm.zst", 1e-5)

    def test_several_classes_and_costs(self):
        self.write("d.svm", to_text(make_rows(150, 12, classes=(1, 2, 3))))
        self.mpi(2, "train", "d.svm", "m", "--gap", "1e-3")
        self.check_proof("m", "d.svm", 1e-3)
        self.mpi(2, "train", "d.svm", "path", "--cost", "0.1,1", "--gap", "1e-3")
        self.hinge("verify", "path", "d.svm")

    def test_rare_shards(self):
        rows = sorted(make_rows(80, 10), key=lambda row: row[0])
        self.write("sorted.svm", to_text(rows))  # one class a rank
        self.mpi(2, "train", "sorted.svm", "m")
        self.check_proof("m", "sorted.svm", 1e-3)
        self.write("few.svm", to_text(make_rows(3, 4)))
        self.mpi(4, "train", "few.svm", "m")  # more ranks than rows
        self.check_proof("m", "few.svm", 1e-3)
        self.write("d.svm", to_text(make_rows(120, 10)))
        self.hinge("convert", "d.svm", "d.hinge")
        self.mpi(3, "train", "d.hinge", "m")
        self.check_proof("m", "d.svm", 1e-3)

    def test_threads_inside_ranks(self):
        self.hinge("generate", "d.svm", "--like", "ccat", "--rows", "8000")  # enough that threads are woken
        for solver in ("focus", "ocas", "dual"):
            models = []
            for threads in (1, 2):
                self.mpi(2, "train", "d.svm", f"m{threads}", "--solver", solver, "-n", threads)
                models.append((self.dir / f"m{threads}").read_bytes())
            self.assertEqual(models[0], models[1], solver)
            self.check_proof("m2", "d.svm", 1e-3)

    def test_pegasos(self):
        self.write("d.svm", to_text(make_rows(300, 20)))
        run = self.mpi(3, "train", "d.svm", "m", "--solver", "pegasos", "--batch", "10", "--epochs", "5", "--json")
        self.assertEqual(run.json["iterations"], 150)
        self.check_proof("m", "d.svm", 1)

    def test_regression(self):
        """Targets of some parts are whole numbers, and of others not."""
        near = 1.01e-5  # sums in another order are rounded in another way
        rows = make_rows(300, 20, noise=0.2)
        whole, real = rows[:100], [(label + 0.25 * (i % 3), x) for i, (label, x) in enumerate(rows[100:])]
        self.write("part-0.svm", to_text(whole))
        self.write("part-1.svm", to_text(real))
        self.write("all.svm", to_text([*whole, *real]))
        for loss in ("epsilon_insensitive", "squared_epsilon"):
            options = ("--loss", loss, "--gap", "1e-5", "--json")
            best = self.hinge("train", "all.svm", "alone", *options).json
            for ranks in (2, 4):
                run = self.mpi(ranks, "train", "part-*.svm", "m", *options).json
                self.assertLess(run["dual"], best["primal"])
                self.assertGreater(run["primal"], best["dual"])
                self.check_proof("m", "all.svm", near)
            self.mpi(3, "train", "part-*.svm", "p", "--loss", loss, "--solver", "pegasos", "--batch", "30")
            self.check_proof("p", "part-*.svm", 1)
        self.hinge("convert", "all.svm", "all.hinge", "--real-labels")
        self.mpi(2, "train", "all.hinge", "m", "--loss", "squared_epsilon", "--gap", "1e-5")
        self.check_proof("m", "all.svm", near)

    def test_goals(self):
        self.write("d.svm", to_text(make_rows(300, 20, noise=0.3)))
        best = self.hinge("train", "d.svm", "m", "--gap", "1e-7", "--json").json
        for solver in ("dual", "active"):
            for goal in (["--gap-per-row", "0.01"], ["--target", 1.02 * best["primal"]]):
                with self.subTest(solver=solver, goal=goal[0]):
                    run = self.mpi(3, "train", "d.svm", "m", "-s", solver, *goal, "--json", "--require-converged").json
                    gap = (run["primal"] - run["dual"]) / 300
                    self.assertTrue(gap <= 0.01 if goal[0] == "--gap-per-row" else run["primal"] <= goal[1])
                    self.check_proof("m", "d.svm", 1)
        run = self.mpi(2, "train", "d.svm", "m", "--target", 0.9 * best["dual"], "--json", "--require-converged", code=3)
        self.assertRegex(run.json["why"], "^no point has a primal of")

    def test_limits_are_agreed(self):
        self.write("d.svm", to_text(make_rows(400, 40, noise=0.5)))
        run = self.mpi(2, "train", "d.svm", "m", "--gap", "1e-13", "--max-passes", "4")
        self.assertIn("[solver.limit]", run.err)
        self.mpi(2, "train", "d.svm", "m", "--gap", "1e-13", "--time-limit", "0", "--require-converged", code=3)


class TroubleTest(MpiCase):
    def setUp(self):
        super().setUp()
        self.write("d.svm", to_text(make_rows(100, 10)))

    def refused(self, run, identifier):
        self.assertEqual(run.err.count("[" + identifier + "]"), 1, run)
        self.assertFalse((self.dir / "m").exists())

    def test_one_error_for_all(self):
        rows = to_text(make_rows(100, 10))
        self.write("bad.svm", rows + "1 3:x\n" + rows)
        run = self.mpi(3, "train", "bad.svm", "m", code=65)
        self.refused(run, "data.value")
        self.assertRegex(run.err, "bad.svm:101:5: error: rank [01]: ")
        for arguments, code, identifier in thinned([
                ("none.svm m", 66, "io.open"),
                ("d.svm m --solver newton", 64, "mpi.unsupported"),
                ("d.svm m --bias free", 64, "mpi.unsupported"),
                ("d.svm m --folds 3", 64, "mpi.unsupported"),
                ("d.svm m --cost x", 64, "usage.value"),
                ("d.svm m --memory 1K", 81, "memory.limit"),
                ("d.svm none/m", 73, "io.create")], 5):
            with self.subTest(arguments):
                self.refused(self.mpi(2, "train", *arguments.split(), code=code), identifier)

    def test_different_options(self):
        run = self.mpi(1, "train", "d.svm", "m", "--cost", "1", ":", "-n", "1", PROGRAM, "train", "d.svm", "m",
                       "--cost", "2", code=76)
        self.refused(run, "mpi.inconsistent")
        self.assertIn("--cost 1 ", run.err)
        self.assertIn("--cost 2 ", run.err)
        self.write("other.svm", to_text(make_rows(90, 10)))
        run = self.mpi(1, "train", "d.svm", "m", ":", "-n", "1", PROGRAM, "train", "other.svm", "m", code=76)
        self.refused(run, "mpi.inconsistent")

    def test_an_error_of_any_rank(self):
        """Wherever it comes up, it is said once, and ends all."""
        for arguments, code, identifier in thinned([
                ("nothere.svm m", 66, "io.open"),
                ("d.svm m --cost x", 64, "usage.value"),
                ("d.svm m --every 3", 64, "usage.option"),
                ("d.svm m --start nothere", 66, "io.open"),
                ("d.svm m --memory 1K", 81, "memory.limit")], 5):
            for more in ((), ("--diagnostics", "json")) if identifier == "usage.value" else ((),):
                with self.subTest(arguments, more=more):
                    run = self.mpi(2, "train", "d.svm", "m", *more, ":", "-n", "1", PROGRAM, "train",
                                   *arguments.split(), *more, code=code)
                    self.assertIn('"rank":2' if more else "error: rank 2: ", run.err)
                    self.assertEqual(run.err.count(identifier), 1, run)
                    self.assertFalse((self.dir / "m").exists())

    def test_copies_that_differ(self):
        """Same name, same size, another digit in the share of the first or of the second rank."""
        text = to_text(make_rows(100, 10))
        at = [text.index(":", text.index("\n", len(text) * part // 4)) + 1 for part in (1, 3)]
        for k, place in enumerate((None, *at)):
            other = text if place is None else text[:place] + "7" + text[place + 1:]
            for name, rows in (("here", text), ("there", other)):
                (self.dir / name).mkdir(exist_ok=True)
                self.write(f"{name}/d.svm", rows)
            run = self.mpi(1, "--wdir", self.dir / "here", PROGRAM, "train", "d.svm", "m", ":", "-n", "1", "--wdir",
                           self.dir / "there", PROGRAM, "train", "d.svm", "m", code=0 if k == 0 else 76, program=())
            if k > 0:
                self.assertEqual(run.err.count("[mpi.inconsistent]"), 1, run)
                self.assertRegex(run.err, "d.svm: error: rank [01]: the content differs from what rank [01] reads")

    def test_the_same_file_twice(self):
        self.write("part-1.svm", self.read("d.svm"))
        self.write("part-2.svm", to_text(make_rows(90, 10)))
        (self.dir / "part-3.svm").symlink_to("part-1.svm")
        run = self.mpi(2, "train", "part-*.svm", "m", code=76)
        self.refused(run, "mpi.duplicate-shard")
        self.assertIn("part-3.svm: error: rank 0: the same bytes as part-1.svm", run.err)


class CheckpointTest(MpiCase):
    def test_resumed_runs_reach_the_gap(self):
        self.hinge("generate", "d.svm", "--like", "real-sim", "--rows", "3000")
        for solver in ("dual", "focus"):
            with self.subTest(solver):
                self.mpi(3, "train", "d.svm", "m", "--gap", "1e-5", "--solver", solver, "--checkpoint", "c",
                         "--every", "1e-6", "--max-passes", "10")
                self.mpi(2, "train", "d.svm", "m", "--resume", "c", "--require-converged")
                self.check_proof("m", "d.svm", 1e-5)

    def test_one_process_and_several_ranks_differ(self):
        self.hinge("generate", "d.svm", "--like", "real-sim", "--rows", "3000")
        self.hinge("train", "d.svm", "m", "--gap", "1e-12", "--solver", "focus", "--checkpoint", "c", "--every", "1e-6",
                   "--max-passes", "20")
        run = self.mpi(2, "train", "d.svm", "m", "--resume", "c", code=80)
        self.assertEqual(run.err.count("[checkpoint.mismatch]"), 1, run)


if __name__ == "__main__":
    support.main()
