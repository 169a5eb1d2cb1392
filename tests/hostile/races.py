"""Races: several at once onto one model, one checkpoint, one cache, and readers beside writers.

Whoever reads sees one whole version, and nobody fails for another's sake but where a lock is held (75).
"""

import os

from trial import Trial

BUSY = 75
CHANGED = (0, 74)  # 74: a file changed while it was read, which is noticed and said


class Races(Trial):
    timed = True

    def play(self):
        self.write("d.svm", self.rows(most=1000))
        self.costs = self.draw.sample(("0.01", "0.1", "1", "10", "100"), self.draw.randint(2, 4))
        race = self.draw.choice((self.one_model, self.one_checkpoint, self.one_cache, self.readers_beside_writers,
                                 self.data_replaced, self.one_stream))
        race()
        self.expect(not self.leftovers() and not [name for name in self.files() if name.endswith(".lock")],
                    f"{race.__name__}: a temporary file or a lock was left")

    def at_once(self, lines, codes=(0,), source=None):
        """Runs all of them at the same time; returns how they ended, in their order."""
        processes = [self.start(*line, source=source) for line in lines]
        runs = [self.finish(process) for process in processes]
        for run in runs:
            self.last = run
            self.expect(run.code in codes, f"{run.arguments[0]} ended with {run.code} beside others")
        return runs

    def alone(self, *words, output="alone"):
        """The output of a command that runs by itself."""
        self.hinge(*words, code=0)
        return self.read(output)

    def one_model(self):
        models = [self.alone("train", "d.svm", "alone", "-c", cost) for cost in self.costs]
        self.at_once([("train", "d.svm", "m", "-c", cost, "-n", self.draw.choice("12")) for cost in self.costs])
        self.expect(self.read("m") in models, "trainers onto one model leave one that none of them made")

    def one_checkpoint(self):
        """Of the same training: who is late waits for nobody, and who is early is not disturbed."""
        solver = self.draw.choice(("dual", "ocas", "newton", "pegasos"))
        words = ("-s", solver, "--gap", "1e-4", "--max-passes", "200")
        whole = self.alone("train", "d.svm", "alone", *words)
        runs = self.at_once([("train", "d.svm", f"m{k}", *words, "--checkpoint", "ck", "--every", "1e-9") for k in range(4)],
                            codes=(0, BUSY))
        self.expect(any(run.code == 0 for run in runs), "of several trainers with one checkpoint none came through")
        for k, run in enumerate(runs):
            self.expect(self.bytes_of(f"m{k}") == [whole if run.code == 0 else None], "a checkpoint was shared")
        if (self.dir / "ck").exists():
            self.hinge("train", "d.svm", "m", "--resume", "ck", *words, code=0)
            self.expect(self.read("m") == whole, "a checkpoint that several wrote resumes to something else")

    def one_cache(self):
        whole = self.alone("train", "d.svm", "alone")
        labels = self.alone("predict", "d.svm", "alone", "labels", output="labels")
        lines = [("train", "d.svm", "m0", "--cache"), ("train", "d.svm", "m1", "--cache"),
                 ("predict", "d.svm", "alone", "p0", "--cache"), ("evaluate", "d.svm", "alone", "--cache")]
        self.draw.shuffle(lines)
        self.at_once(lines)
        self.expect(self.bytes_of("m0", "m1", "p0") == [whole, whole, labels], "a cache that several write changes the result")
        self.hinge("train", "d.svm", "m0", "--cache", code=0)
        self.expect(self.read("m0") == whole, "a cache that several wrote changes the result")

    def readers_beside_writers(self):
        models = {}
        for cost in self.costs:
            model = self.alone("train", "d.svm", "alone", "-c", cost)
            models[model] = self.hinge("predict", "d.svm", "alone", "--scores", code=0).out
        self.write("m", self.draw.choice(list(models)))
        reading = (("predict", "d.svm", "m", "--scores"), ("verify", "m", "d.svm"), ("info", "m"), ("evaluate", "d.svm", "m"))
        lines = [self.draw.choice(reading) for _ in range(4)] + [("train", "d.svm", "m", "-c", cost, "-q") for cost in self.costs]
        self.draw.shuffle(lines)
        for run in self.at_once(lines):
            if run.arguments[0] == "predict":
                self.expect(run.out in models.values(), "a reader beside writers saw a model that nobody wrote")
        self.expect(self.read("m") in models, "writers beside readers leave a model that none of them made")

    def data_replaced(self):
        """Data replaced while trainers read it and keep it in a cache: old or new, and never one under the other's name."""
        self.write("new.svm", self.rows(most=1000))
        models = [self.alone("train", name, "alone", *precision) for name in ("d.svm", "new.svm")
                  for precision in ((), ("--precision", "f64"))]
        lines = [("train", "d.svm", f"m{k}", "--cache", *self.draw.choice(((), ("--precision", "f64")))) for k in range(3)]
        processes = []
        for line in lines:
            processes.append(self.start(*line))
            if len(processes) == 2:
                os.replace(self.dir / "new.svm", self.dir / "d.svm")
        for k, process in enumerate(processes):
            run = self.finish(process)
            self.expect(run.code in CHANGED, f"train ended with {run.code} while its data was replaced")
            self.expect(run.code != 0 or self.read(f"m{k}") in models, "a model of data that was never there")
        self.hinge("train", "d.svm", "m", "--cache", code=0)
        self.expect(self.read("m") == models[2], "a cache of the data before it was replaced is used for the new")

    def one_stream(self):
        words = ("stream", "m", "--lambda", "0.01", "--save-every", "7")
        self.hinge(*words, source="d.svm", code=0)
        whole = self.read("m")
        self.at_once([words] * 3, source="d.svm")
        self.expect(self.read("m") == whole, "streams onto one model leave one that none of them made")
