"""Solvers: on random data, with random options, a run ends, its model verifies, and threads do not change a byte."""

from ends_test import FAMILIES, Maker
from trial import Trial

SOLVERS = ("auto", "dual", "newton", "pegasos", "cpa", "ocas", "ocas3", "active", "focus")
REFUSED = (64, 65, 82)  # options that do not go together, one class only, an objective that is not finite


class Solvers(Trial):
    def options(self, problem):
        """What train is given besides its files."""
        draw = self.draw
        solver = draw.choice(SOLVERS)
        several = draw.choice(("0.01,1,30", "0.5,2"))
        words = ["--solver", solver, "--bias", problem.bias, "--max-passes", draw.choice((1, 3, 30, 300))]
        words += ["--cost", several if self.chance(0.1) else f"{problem.cost:.6g}"]
        words += ["--gap", problem.gap] if solver != "pegasos" or self.chance(0.3) else ["--epochs", draw.choice((1, 2, 7))]
        if self.chance(0.3):
            goal = draw.choice(("--gap-absolute", "--gap-per-row", "--target"))
            words += [goal, f"{10 ** draw.uniform(-6, 3):.3g}"]
        if solver == "pegasos":
            words += ["--batch", draw.choice((1, 1, 3, 17, "all")), "--projection", draw.choice(("on", "off")),
                      "--sampling", draw.choice(("permute", "replace", "order")),
                      "--iterate", draw.choice(("last", "average", "suffix", "random", "best-of:3")),
                      "--update", draw.choice(("margin", "margin", "mistake"))]
            if self.chance(0.3) and len(problem.text) < 5000:
                words += ["--kernel", draw.choice(("rbf", "poly", "sigmoid")), "--degree", draw.randint(1, 4)]
                words += ["--budget", draw.randint(1, 20)] if self.chance(0.3) else []
        elif solver in ("cpa", "ocas", "ocas3", "active", "focus"):
            words += ["--planes", draw.choice((2, 3, 20, 100))] if self.chance(0.4) else []
            words += ["--mu", draw.choice((0.001, 0.2, 1))] if self.chance(0.3) else []
        for share, more in ((0.2, ("--precision", "f64")), (0.2, ("--class-weight", "balanced")), (0.1, ("--reject",)),
                            (0.1, ("--no-witness",)), (0.2, ("--seed", draw.randint(0, 99)))):
            words += more if self.chance(share) else ()
        return words

    def play(self):
        problem = Maker(self.draw.choice(FAMILIES), self.draw.getrandbits(40))
        self.write("d.svm", problem.text)
        weights = []
        if self.chance(0.1):
            self.write("weights", "".join(f"{self.draw.choice((0, 0.5, 1, 3))}\n" for _ in problem.text.splitlines()))
            weights = ["--weights", "weights"]
        words = [*self.options(problem), *weights]
        other = ["-n", 3, *(["--cpu", "scalar"] if self.chance(0.3) else [])]
        one = self.hinge("train", "d.svm", "one", "--json", *words, "-n", 1)
        three = self.hinge("train", "d.svm", "three", "--json", *words, *other)
        self.expect(one.code == three.code, "threads change the exit code")
        if one.code != 0:
            self.expect(one.code in REFUSED, f"train ended with {one.code}")
            self.expect(self.bytes_of("one") == [None], "a run that failed wrote a model")
            return
        self.expect(self.read("one") == self.read("three"), "threads change the model")
        path = "path" in one.json or "," in words[words.index("--cost") + 1]
        cost = ["--cost", words[words.index("--cost") + 1].partition(",")[0]] if path else []
        verified = self.hinge("verify", "one", "d.svm", "--json", *weights, *cost)
        self.expect(verified.code == 0 or verified.code == 3 and "--no-witness" in words, "a model does not verify")
        self.expect(self.hinge("evaluate", "d.svm", "one", *cost).code == 0, "a model cannot be evaluated")
