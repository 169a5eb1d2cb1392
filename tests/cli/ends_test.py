"""Training ends: on small data of any kind, with any cost, bias, gap and solver that promises it, a run reaches its gap or
says that it stalled, and why.

A problem is made from the name of its family and its number alone. There are 120 of them, of up to 20 KB;
HINGE_ENDS=2000 makes that many, of up to 1 MB, and prints what became of them and which took longest.
"""

import collections
import os
import random
import time

import support
from support import Case, table

PROBLEMS = int(os.environ.get("HINGE_ENDS") or 120)
LONG = "HINGE_ENDS" in os.environ
MOST_BYTES = 1_000_000 if LONG else 20_000
MOST_SECONDS = 20  # of a program on a machine that does nothing else; said, not asserted

SOLVERS = ("auto", "dual", "newton", "ocas", "ocas3", "active", "focus")
BIASES = ("none", "free", "1", "100")


class Maker:
    """The rows of one problem as libsvm text, and how hinge is to train on them."""

    def __init__(self, family, number):
        self.draw = random.Random(f"ends {family} {number}")
        self.solver = SOLVERS[number % len(SOLVERS)]
        self.bias = self.draw.choice(BIASES)
        self.cost = 10 ** self.draw.uniform(-6, 6)
        self.gap = self.draw.choice(("1e-1", "1e-3", "1e-3", "1e-3", "1e-6", "1e-9"))
        self.text = "".join(f"{label} " + " ".join(f"{column}:{value:.9g}" for column, value in sorted(row.items())) + "\n"
                            for label, row in getattr(self, family)())

    def options(self):
        return "--solver", self.solver, "--bias", self.bias, "--cost", f"{self.cost:.6g}", "--gap", self.gap

    def shape(self, most=1.0):
        """Rows and columns of full rows that take about MOST_BYTES or, mostly, far fewer."""
        entries = MOST_BYTES * most / 16 * 10 ** -self.draw.uniform(0, 3)
        rows = max(2, min(int(entries ** self.draw.uniform(0.2, 0.9)), 20000))
        return rows, max(1, int(entries / rows))

    def labels(self):
        return self.draw.choice(((1, -1), (1, -1), (1, -1), (1, 2, 3), tuple(range(8))))

    def full(self, value, most=1.0):
        rows, columns = self.shape(most)
        labels = self.labels()
        for k in range(rows):
            label = labels[k] if k < len(labels) else self.draw.choice(labels)
            yield label, {j + 1: value(j, label) for j in range(columns)}

    # ---- The families.

    def twins(self):
        """The same rows with both labels, of any length."""
        scale = 10 ** self.draw.uniform(-3, 6)
        for _ in range(self.draw.choice((1, 1, 2, 5))):
            row = {j + 1: scale * self.draw.choice((1, self.draw.gauss(0, 1))) for j in range(self.draw.choice((1, 1, 3)))}
            yield 1, row
            yield -1, row

    def far(self):
        """Columns far from 0, and near to each other."""
        offset, spread = 10 ** self.draw.uniform(0, 5), 10 ** self.draw.uniform(-2, 0)
        return self.full(lambda j, label: offset + spread * (self.draw.gauss(0, 1) + 0.3 * (label == 1)))

    def scales(self):
        """Columns of different scales, with and without an offset."""
        scales = [10 ** self.draw.uniform(-4, 4) for _ in range(100_000)]
        offset = self.draw.choice((0, 0, 3))
        return self.full(lambda j, label: scales[j] * (offset + self.draw.gauss(0, 1) + 0.2 * (label == 1)))

    def parted(self):
        """Rows that a hyperplane parts, narrowly."""
        margin = 10 ** self.draw.uniform(-4, 0)
        return self.full(lambda j, label: self.draw.gauss(0, 1) if j else margin * (1 if label == 1 else -1) + self.draw.uniform(0, margin))

    def repeated(self):
        """Few rows, again and again, not always with the same label."""
        rows, columns = self.shape()
        kinds = [{j + 1: self.draw.gauss(0, 10) for j in range(columns)} for _ in range(self.draw.randint(1, 5))]
        yield 1, kinds[0]
        yield -1, kinds[-1]
        for _ in range(rows):
            yield self.draw.choice((1, 1, -1)), self.draw.choice(kinds)

    def text_like(self):
        """Sparse rows of counts, with more columns than rows."""
        rows = self.shape()[0]
        width = self.draw.randint(1, max(2, int(MOST_BYTES / 10 / rows)))
        labels = self.labels()
        for k in range(rows):
            row = {}
            for _ in range(min(width, 200)):
                row[1 + int(10 ** self.draw.uniform(0, 5))] = self.draw.randint(1, 9)
            yield labels[k % len(labels)], row

    def heavy(self):
        """A few values that are very much larger than the others."""
        power = self.draw.uniform(1, 3)
        return self.full(lambda j, label: self.draw.gauss(0, 1) * self.draw.paretovariate(1 / power))

    def short(self):
        """Many rows of a column or two."""
        labels, columns = self.labels(), self.draw.choice((1, 2))
        for k in range(int(MOST_BYTES / (7 * columns) * self.draw.uniform(0.1, 1))):
            yield labels[k % len(labels)], {j + 1: self.draw.randint(1, 9) for j in range(columns)}

    def ones(self):
        """Columns of 0 and 1, one-hot, and a constant one."""
        return self.full(lambda j, label: 1 if j == 0 else float(self.draw.random() < 0.1))


FAMILIES = [name for name in vars(Maker) if name not in ("options", "shape", "labels", "full") and not name.startswith("_")]
ended = collections.Counter()
slowest = []


@table([(family,) for family in FAMILIES])
class Ends(Case):
    def check(self, row):
        family, = row
        for number in range(max(1, PROBLEMS // len(FAMILIES))):
            problem = Maker(family, number)
            name = f"{family}-{number}.svm"
            self.write(name, problem.text)
            begun = time.monotonic()
            run = self.hinge("train", name, "m", "--json", *problem.options(), code=None)
            seconds = time.monotonic() - begun
            with self.subTest(family=family, number=number, options=problem.options()):
                self.judge(run, problem, f"{family} {number}", seconds)
            (self.dir / name).unlink()

    def judge(self, run, problem, name, seconds):
        if run.code == 82:  # the objective is not finite
            ended["refused"] += 1
            return
        self.assertEqual(run.code, 0, run)
        result = run.json
        if result["status"] == "converged":
            ended["converged"] += 1
        else:
            self.assertEqual(result["status"], "limit", run)
            self.assertIn("solver.stalled", run.err, run)
            self.assertTrue(result["why"], run)
            ended[f"stalled: {problem.solver}: {' '.join(w for w in result['why'].split() if not w[0].isdigit())[:60]}"] += 1
        slowest.append((seconds, name, len(problem.text), result["status"], problem.options()))


if __name__ == "__main__":
    try:
        support.main()
    finally:
        if LONG:
            slowest.sort(reverse=True)
            late = sum(seconds > MOST_SECONDS for seconds, *_ in slowest)
            print(f"{sum(ended.values())} runs, {late} longer than {MOST_SECONDS} s: {'TOO LONG' if late else 'good'}")
            for what, count in ended.most_common():
                print(f"  {count:6} {what}")
            for seconds, *what in slowest[:12]:
                print(f"  {seconds:6.2f} s ", *what)
