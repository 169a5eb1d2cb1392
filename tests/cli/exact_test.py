"""Certificates against exact arithmetic: tools/check_exact.py, which shares no code with hinge, finds every one true.

Problems are small and random: a few rows and columns of all scales, every solver, any bias, weights, classes, gaps,
cost paths, starts and kernels. There are 500 of them; HINGE_EXACT=20000 makes that many and prints what became of them.
A problem is made from the name of its family and its number alone, and one that fails is shown with all that it takes
to repeat it by hand.
"""

import array
import bz2
import collections
import gzip
import json
import lzma
import math
import os
import pathlib
import random
import shlex
import struct
import subprocess
import sys

import support
from support import SLOW, THREE, Case, table, to_text

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools" / "check_exact.py"
sys.path.insert(0, str(TOOL.parent))
import check_exact

PROBLEMS = int(os.environ.get("HINGE_EXACT") or (100 if SLOW else 500))
SHOWN = 3  # failures of a family that are shown in full, the worst ones
REFUSED = (65, 82)  # exit codes: data that cannot be used, an objective that is not finite

SMOOTH_SOLVERS = ("auto", "dual", "newton", "pegasos")  # that take the other losses
SOLVERS = ("auto", "dual", "newton", "cpa", "ocas", "ocas3", "active", "focus", "pegasos")
LABELS = ((1, -1), (1, 0), (7, 2), (1, 2, 3), (-5, 0, 40), (0, 1, 2, 3))

FAMILIES = [  # name, share of the problems in per cent, what part of them hinge may refuse
    ("tame", 21, 0.1),  # values of one scale between 1e-3 and 1e3
    ("integers", 10, 0.1),  # small whole numbers
    ("offsets", 10, 0.1),  # numbers like 1e4 +- 1
    ("columns", 10, 0.1),  # columns of scales from 1e-8 to 1e8, and one of timestamps
    ("extreme", 12, 0.2),  # values and costs from 1e-30 to 1e30
    ("beyond", 5, 0.7),  # and near to where squares are no numbers any more
    ("hard", 12, 0.1),  # few rows that a plane parts, and a cost that lets none stay inside the margin
    ("sparse", 5, 0.1),  # few columns of up to 2^32
    ("path", 7, 0.1),  # several costs
    ("kernel", 8, 0.2),
    ("targets", 10, 0.1),  # and of regression: rows that are tame
    ("targets-columns", 4, 0.1),
    ("targets-extreme", 6, 0.2),
    ("targets-path", 3, 0.1)]


# ---- Random problems.


class Maker:
    """One problem: its rows as text, row weights or None, in which form they are read, how hinge is to train."""

    def __init__(self, family, number):
        self.draw = random.Random(f"{family} {number}")
        self.family = family.removeprefix("targets-") if family != "targets" else "tame"
        self.regression = family.startswith("targets")
        self.labels = self.draw.choice(LABELS[:3] if self.chance(0.65) else LABELS[3:])
        self.value, self.columns = self.values()
        self.rows = self.make_rows()
        if self.regression:
            self.make_targets()
        self.text = "".join(" ".join([str(label), *(f"{j}:{shown(v)}" for j, v in x.items())]) + "\n"
                            for label, x in self.rows)
        self.weights = self.make_weights() if self.chance(0.3) else None
        self.form = self.draw.choice(("gz", "bz2", "xz", "hinge")) if self.chance(0.08) else "svm"
        self.solver = "pegasos" if family == "kernel" else self.draw.choice(SOLVERS)
        # A loss of its own, so that the other problems stay those that they were.
        own = random.Random(f"loss {family} {number}")
        self.loss = "hinge" if family == "kernel" or own.random() < 0.7 else "squared_hinge"
        if self.regression:
            self.loss = own.choice(("epsilon_insensitive", "squared_epsilon"))
            self.solver = own.choice(SMOOTH_SOLVERS)
        elif self.loss != "hinge":
            self.solver = own.choice(SMOOTH_SOLVERS)
            self.loss = own.choice(("squared_hinge", "logistic"))
        self.precision = "f64" if family == "beyond" else self.draw.choice(("f32", "f64"))
        common, costs = self.common_options(), self.cost_options()
        self.arguments = [*common, *costs, *self.solver_options(), *self.loss_options()]
        # Where to begin: another model of these rows.
        self.start = None
        if self.family not in ("path", "kernel") and self.chance(0.08):
            solvers = SMOOTH_SOLVERS[:-1] if self.regression else SOLVERS[:-1]
            self.start = [*common, *self.cost_options(), "--solver", self.draw.choice(solvers), "--max-passes", 20]
            if self.regression:
                self.start += self.loss_options()
            self.arguments += ["--start", "begin"]
        elif self.chance(0.05):
            self.arguments += ["--no-witness"]
        elif self.chance(0.05):
            self.arguments += ["--time-limit", 0]  # some classes are not begun

    def chance(self, share):
        return self.draw.random() < share

    def power(self, low, high):
        """10^x, x being anything from low to high."""
        return 10 ** self.draw.uniform(low, high)

    def number(self, scale):
        """About so large, of either sign, with few digits or with many."""
        x = self.draw.gauss(0, 1) * scale
        return float(f"{x:.{self.draw.randint(1, 4)}g}") if self.chance(0.5) else x

    def values(self):
        """What is in a column of a row, as a function of the column; and the columns, counted from 0 or 1."""
        draw, count = self.draw, self.draw.randint(1, 12)
        base = 0 if self.chance(0.1) else 1
        columns = list(range(base, base + count))
        if self.family == "integers":
            most = draw.choice((1, 2, 9, 1000))
            return (lambda j: draw.randint(-most, most)), columns
        if self.family == "offsets":
            offset = draw.choice((1e4, -1e4, 1e3, 1e6))
            return (lambda j: offset + draw.uniform(-1, 1)), columns
        if self.family == "columns":
            scales, moment = {j: self.power(-8, 8) for j in columns}, draw.choice(columns)
            spread = 10 ** draw.choice((6, 9, 12, 15))  # of microseconds since 1970
            return (lambda j: 1_700_000_000_000_000 + draw.randint(0, spread) if j == moment
                    else self.number(scales[j])), columns
        if self.family == "extreme":
            scale, kind = self.power(-30, 30), draw.randint(0, 2)
            scales = {j: self.power(-30, 30) if kind == 1 else scale for j in columns}
            return (lambda j: self.number(self.power(-30, 30) if kind == 2 else scales[j])), columns
        if self.family == "beyond":
            scale, spread = self.power(-160, 150), draw.choice((0, 3, 100))
            return (lambda j: self.number(scale * self.power(-spread, 0))), columns
        if self.family == "sparse":
            columns = sorted(draw.sample(range(base, draw.choice((100, 100_000, 2**32 - 1))), count))
        scale = self.power(-10, 10) if self.family == "hard" else self.power(-3, 3)
        return (lambda j: self.number(scale)), columns

    def make_rows(self):
        draw, hard = self.draw, self.family == "hard"
        count = draw.randint(1, 40) if self.chance(0.8) and not hard else draw.randint(2, 8)
        filled = draw.choice((0.2, 0.5)) if self.family == "sparse" else draw.choice((0.4, 0.9, 1, 1))
        plane = {j: draw.gauss(0, 1) for j in self.columns}
        ruled, rows = hard or self.chance(0.6), []
        for i in range(count):
            x = {j: self.value(j) for j in self.columns if self.chance(filled)}
            label = draw.choice(self.labels)
            if i < len(self.labels):
                label = self.labels[i]  # every class occurs
            elif ruled and len(self.labels) == 2 and (hard or not self.chance(0.1)):
                label = self.labels[sum(plane[j] * v for j, v in x.items()) > 0]
            rows.append((label, x))
        if self.chance(0.1 if hard else 0.3):  # the same rows again, some of them with another label
            for _ in range(draw.randint(1, 6)):
                label, x = draw.choice(rows)
                rows.append((draw.choice(self.labels) if self.chance(0.5) else label, x))
        if self.chance(0.15):
            rows.append((draw.choice(self.labels), {}))
        draw.shuffle(rows)
        return rows

    def make_targets(self):
        """In place of labels: about a plane, or about the label that was there; some far from 0, some whole, some the same."""
        draw, size = self.draw, self.power(-30, 30) if self.family == "extreme" else self.power(-3, 3)
        middle = draw.choice((0, size, size * self.power(0, 6)))
        kind = draw.choice(("real", "real", "real", "whole", "same"))
        plane = {j: draw.gauss(0, 1) * draw.choice((0, 1)) for j in self.columns}
        targets = []
        for label, x in self.rows:
            score = sum(plane[j] * v for j, v in x.items()) if self.family != "extreme" else 0
            target = middle if kind == "same" else middle + size * (label + 0.3 * draw.gauss(0, 1)) + score
            targets.append(round(max(-1e15, min(1e15, target))) if kind == "whole" else target)
        self.rows = [(target, x) for target, (_, x) in zip(targets, self.rows)]
        self.labels = ()  # which have weights
        self.epsilon = draw.choice((0.0, 0.1 * size, size * self.power(-3, 1), 0.1))

    def make_weights(self):
        kind = self.draw.randint(0, 3)

        def weight():
            if kind == 0:
                return self.draw.choice((0, 1, 1, 2, 5))
            if kind == 1:
                return self.draw.random()
            return self.power(-20, 20) if self.family == "extreme" and kind == 2 else self.power(-3, 3)

        return "".join(f"{weight()!r}\n" for _ in self.rows)

    def cost(self):
        """Of the size that suits the rows, or any."""
        square = max((v * v for _, x in self.rows for v in x.values()), default=1.0) or 1.0
        suits = min(self.power(-3, 3) / square, 1e300)
        if self.family == "extreme":
            return self.draw.choice((self.power(-30, 30), self.power(-3, 3), suits))
        if self.family == "beyond":
            return self.draw.choice((self.power(-300, 300), suits, min(suits * self.power(0, 30), 1e300)))
        if self.family == "hard":
            return suits * self.power(3, 30)
        return self.draw.choice((1.0, self.power(-3, 3), suits, self.power(-8, 8)))

    def cost_options(self):
        if self.family == "path":
            costs = {float(f"{self.cost():.6g}") for _ in range(self.draw.randint(2, 5))}
            return ["--cost", ",".join(map(repr, sorted(costs | {1.5, 2 * max(costs)})))]
        if self.family not in ("extreme", "beyond", "hard") and self.chance(0.1):
            return ["--lambda", repr(self.power(-6, 2))]
        return ["--cost", repr(self.cost())]

    def common_options(self):
        draw = self.draw
        options = ["--seed", draw.randint(1, 1000), "--threads", 1]
        if self.form != "hinge":
            options += ["--precision", self.precision]
        bias = draw.choice(("none", "number", "free"))
        if bias == "number" or (bias == "free" and self.family == "kernel"):
            options += ["--bias", repr(draw.choice((1.0, 0.1, 3.7, 100.0, self.power(-3, 3))))]
        elif bias == "free":
            options += ["--bias", "free"]
        for label in self.labels:
            if self.chance(0.15):
                options += [f"-w{label}", repr(draw.choice((2.0, 0.1, self.power(-3, 3))))]
        if self.weights is not None:
            options += ["--weights", "w"]
        return options

    def solver_options(self):
        """Which solver, how far it shall go, and what stops it before."""
        draw = self.draw
        gap = ["--gap", repr(self.power(-10, -2))]
        options = ["--solver", self.solver]
        if self.solver == "pegasos":
            projection = draw.choice(("off", "off", "on"))
            options += ["--epochs", draw.randint(1, 30), "--rescale", draw.choice(("on", "on", "off")),
                        "--iterate", draw.choice(("suffix", "last", "average", "random")), "--projection", projection,
                        "--update", draw.choice(("margin", "margin", "margin" if self.regression else "mistake")),
                        "--sampling", draw.choice(("permute", "replace", "order"))]
            kernel, bounded = self.kernel_options(projection) if self.family == "kernel" else ([], True)
            return options + kernel + (gap if bounded and self.chance(0.3) else [])
        planes = self.solver not in ("auto", "dual", "newton")  # 10 ms a pass where they cancel each other
        options += [*gap, "--max-passes", draw.choice((1, 3, 10, 50) if planes else (1, 3, 20, 200, 2000))]
        if planes and self.chance(0.3):
            options += ["--planes", draw.choice((2, 3, 10))]
        return options

    def loss_options(self):
        options = [] if self.loss == "hinge" else ["--loss", self.loss]
        return [*options, "--epsilon", repr(self.epsilon)] if self.regression else options

    def kernel_options(self, projection):
        """The options, and whether that kernel has a bound."""
        draw, kind = self.draw, self.draw.choice(("rbf", "rbf", "poly", "poly", "sigmoid"))
        options, coef0 = ["--kernel", kind, "--gamma", repr(self.power(-8, 1))], 0.0
        if kind == "poly":
            coef0 = draw.choice((0.0, 1.0, self.power(-3, 2), -1.0))
            options += ["--degree", draw.randint(1, 4), "--coef0", repr(coef0)]
        if kind == "sigmoid":
            options += ["--coef0", repr(draw.uniform(-1, 1))]
        if projection == "off" and self.chance(0.2):
            options += ["--budget", draw.randint(2, 10)]
        return options, kind == "rbf" or (kind == "poly" and coef0 >= 0)

    def commands(self):
        """What to run, one after the other, in a folder with the rows in d.svm and the row weights in w."""
        data = "d.hinge" if self.form == "hinge" else "d.svm"
        if self.form == "hinge":
            yield ["convert", "d.svm", data, "--quiet", "--precision", self.precision,
                   *(["--real-labels"] if self.regression else [])]
        if self.start is not None:
            yield ["train", data, "begin", "--quiet", *self.start]
        yield ["train", data, "m", "--quiet", *self.arguments]

    def data_bytes(self):
        """d.svm."""
        compress = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}.get(self.form, bytes)
        return compress(self.text.encode())

    def description(self):
        """All that it takes to repeat the runs."""
        lines = ["hinge " + shlex.join(map(str, command)) for command in self.commands()]
        if self.form in ("gz", "bz2", "xz"):
            lines.append(f"(d.svm is compressed: {self.form})")
        return "\n".join([*lines, "d.svm:", self.text, *(["w:", self.weights] if self.weights is not None else [])])


def shown(number):
    """A value as text: a whole number without a point."""
    return repr(int(number)) if number == int(number) and abs(number) < 1e16 else repr(number)


@table(FAMILIES)
class RandomTest(Case):
    """Whatever the problem, what the model claims is so."""

    counts = collections.Counter()  # by family, solver, and what became of the problem

    def check(self, row):
        family, share, may_refuse = row
        count = max(1, PROBLEMS * share // 100)
        ends = collections.Counter()
        false = []  # (by how much, number of the problem, its description)
        for number in range(count):
            problem = Maker(family, number)
            end, excess, sentences = self.judge(problem)
            ends[end] += 1
            self.counts[family, problem.solver, end] += 1
            if end == "false":
                said = "\n".join(sentences)
                false.append((excess, number, f"---- {family} {number}\n{said}\n{problem.description()}"))
        self.assertLessEqual(ends["refused"], max(2, may_refuse * count), f"{family}: too many refused, of {count}")
        if false:
            false.sort(reverse=True)
            self.fail(f"{family}: {len(false)} of {count} are false; the worst:\n" +
                      "\n".join(text for _, _, text in false[:SHOWN]))

    def judge(self, problem):
        """What became of a problem (true, false, refused), by what part of the primal it is false, and sentences."""
        self.write("d.svm", problem.data_bytes())
        if problem.weights is not None:
            self.write("w", problem.weights)
        for command in problem.commands():
            run = self.hinge(*command, code=None)
            if run.code in REFUSED:
                return "refused", 0, []
            if run.code != 0:
                return "false", math.inf, [f"exit code {run.code}", run.err]
        data, weights = self.dir / command[1], self.dir / "w" if problem.weights is not None else None
        try:
            findings = check_exact.check(self.dir / "m", data, weights)
        except check_exact.CannotRead as error:
            return "false", math.inf, [str(error)]
        self.assertGreater(len(findings), 0)
        sentences = [f"class {f.label}, C = {f.cost!r}: {sentence}" for f in findings for sentence in f.false]
        if not sentences:
            return "true", 0, []
        return "false", max(f.excess if f.excess > 0 or not f.false else math.inf for f in findings), sentences

    @classmethod
    def tearDownClass(cls):
        if os.environ.get("HINGE_EXACT"):
            show_counts(cls.counts)


def show_counts(counts):
    ends = ("true", "false", "refused")
    print("\n" + " " * 10 + "".join(f"{end:>9}" for end in ends), file=sys.stderr)
    for place, names in ((1, SOLVERS), (0, [family for family, _, _ in FAMILIES])):
        for name in names:
            numbers = [sum(n for key, n in counts.items() if key[place] == name and key[2] == end) for end in ends]
            print(f"{name:10}" + "".join(f"{n:9}" for n in numbers), file=sys.stderr)


# ---- The checker itself.


def model_bytes(**changes):
    """A model file made by hand, without checksums: w = 0.5 on the rows 1:1 of class 1 and 1:-2 of class -1, C = 1.

    P(w) = 1/8 + 1/2, and with alpha = (1/2, 0) D = 1/2 - 1/8.
    """
    said = {"primal": 0.625, "dual": 0.375, "gap": 0.4, "weight": 0.5, "bias": 0.0, "feature": 0.0, "free_bias": False,
            "states": 2, "free": [0.5], "status": "converged", "asked": 0.5, "cost": 1.0, "class_weights": [],
            "row_weights": False, "bound": "witness", "precision": "f64", **changes}
    certificate = {"class": 1, "primal": said["primal"], "dual": said["dual"], "relative_gap": said["gap"],
                   "bound": said["bound"], "iterations": 1}
    options = {"solver": "dual", "cost": said["cost"], "gap": said["asked"], "bias_feature": said["feature"],
               "class_weights": said["class_weights"], "row_weights": said["row_weights"], "seed": 1, "reject": False,
               "free_bias": said["free_bias"]}
    data = {"rows": 2, "features": 1, "nonzeros": 2, "index_base": 1, "precision": said["precision"], "fingerprint": ""}
    arrays = [("bias", "F64", [1], array.array("d", [said["bias"]])),
              ("weights", "F64", [1, 1], array.array("d", [said["weight"]]))]
    if said["states"] is not None:
        arrays += [("witness.free", "F64", [len(said["free"])], array.array("d", said["free"])),
                   ("witness.free_counts", "U64", [1], array.array("Q", [len(said["free"])])),
                   ("witness.states", "U8", [1, 1], array.array("B", [said["states"]]))]
    header = {"__metadata__": {"format": "hinge.model", "version": "1", "status": said["status"], "labels": "[1,-1]",
                               "options": json.dumps(options), "data": json.dumps(data),
                               "certificate": json.dumps([certificate])}}
    body = b""
    for name, kind, shape, values in arrays:
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [len(body), len(body) + len(values.tobytes())]}
        body += values.tobytes()
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + body


def up(x):
    return math.nextafter(x, math.inf)


def down(x):
    return math.nextafter(x, -math.inf)


HUGE = b"1 1:9e8\n-1 1:-18e8\n"  # w = 1/9e8 rounded to double leaves the first row inside the margin
BY_HAND = [  # name, changes of the model, what is false (nothing: None), data
    ("as it is", {}, None),
    ("primal too low", {"primal": down(0.625)}, "the stored primal .* is below 6.25"),
    ("primal higher", {"primal": up(0.625), "gap": up(0.4)}, None),
    ("bound too high", {"dual": up(0.375)}, "the stored bound .* is above 3.75"),
    ("bound lower", {"dual": 0.3125, "gap": 0.5}, None),
    ("gap too small", {"gap": down(down(0.4))}, "the stored gap .* is below"),
    ("gap rounded down", {"primal": 0.75, "dual": 0.25, "gap": down(2 / 3), "asked": 0.7}, "the stored gap"),
    ("gap rounded to the nearest", {"primal": 0.75, "dual": 0.25, "gap": 2 / 3, "asked": 0.7}, None),
    ("converged too far", {"asked": 0.25}, "said to have converged"),
    ("a limit", {"asked": 0.25, "status": "limit"}, None),
    ("converged without a gap", {"asked": 0.0, "gap": 0.4}, "said to have converged"),
    ("no witness", {"states": None}, None),
    ("no witness, refuted", {"states": None, "dual": 0.75, "gap": 0.0}, "the stored bound .* is above 6.25"),
    ("no bound", {"states": None, "bound": "none", "dual": 0.0, "gap": 1.0, "status": "limit"}, None),
    ("no bound, but a value", {"states": None, "bound": "none", "status": "limit"}, "said to be no bound"),
    ("unknown", {"bound": "unknown", "primal": 0.0, "dual": 0.0, "gap": 1.0, "status": "interrupted"}, None),
    ("a dual variable too large", {"free": [up(1.0)]}, "the dual variable of row 1"),
    ("a dual variable below 0", {"free": [-0.5]}, "the dual variable of row 1"),
    ("an unknown state", {"states": 3}, "witness"),
    ("a state too many", {"states": 2 | 2 << 4}, "witness"),
    ("a value left over", {"states": 1}, "witness"),
    ("at its bound", {"states": 1, "free": [], "dual": 0.5, "gap": 0.2}, None),
    ("bias from nowhere", {"bias": 0.5}, "a bias of 0.5"),
    # Scores are w x + 1, and the last weight is 1/2.
    ("bias of a feature", {"feature": 2.0, "bias": 1.0, "primal": 1.25, "dual": 0.0, "gap": 1.0,
                           "status": "limit"}, None),
    ("bias of a feature, too low", {"feature": 2.0, "bias": 1.0, "primal": down(1.25), "dual": 0.0, "gap": 1.0,
                                    "status": "limit"}, "the stored primal"),
    # P = 1/8 + 2/2, and alpha = (1/4, 1/4) has v = 3/4.
    ("free bias", {"feature": 1.0, "free_bias": True, "bias": 1.0, "primal": 1.125, "states": 10, "free": [0.25, 0.25],
                   "dual": 0.21875, "gap": 0.8055555555555556, "status": "limit"}, None),
    # alpha = (3/4, 1/4): e = 1/2, D = 1 - 25/32 = 7/32, and B = 1 + sqrt(2 * 9/8) 2 = 4: nothing is proved but 0.
    ("free bias, out of balance", {"feature": 1.0, "free_bias": True, "bias": 1.0, "primal": 1.125, "states": 10,
                                   "free": [0.75, 0.25], "dual": 0.21875, "gap": 0.8055555555555556,
                                   "status": "limit"}, "the stored bound"),
    # 2^-20 of imbalance costs 2^-18.
    ("free bias, nearly in balance", {"feature": 1.0, "free_bias": True, "bias": 1.0, "primal": 1.125, "states": 10,
                                      "free": [0.25 + 2**-20, 0.25], "dual": 0.21873, "gap": 0.80558,
                                      "status": "limit"}, None),
    ("free bias, nearly in balance, too high", {
        "feature": 1.0, "free_bias": True, "bias": 1.0, "primal": 1.125, "states": 10, "free": [0.25 + 2**-20, 0.25],
        "dual": 0.21875, "gap": 0.80556, "status": "limit"}, "the stored bound"),
    ("class weights", {"class_weights": [[1, 3.0]], "primal": 1.625, "gap": 0.77, "asked": 0.8}, None),
    ("class weights forgotten", {"class_weights": [[1, 3.0]]}, "the stored primal"),
    ("values of 1e9", {"weight": 1 / 9e8, "primal": 6.172839506172840e-19, "dual": 6.172839506172838e-19, "gap": 1e-15,
                       "free": [1.2345679012345679e-18]}, "below 4.173326906196.*e-17, by 9.85e-1", HUGE),
    ("values of 1e9 in float32", {"weight": 1 / 9e8, "primal": 4.1734e-17, "dual": 6.1728e-19, "gap": 0.9853,
                                  "asked": 1, "free": [1.2345679012345679e-18], "precision": "f32"}, None, HUGE),
]


@table(BY_HAND)
class ByHandTest(Case):
    """What the checker finds in models made by hand."""

    def check(self, row):
        _, changes, false, *data = row
        self.write("d.svm", data[0] if data else b"1 1:1\n-1 1:-2\n")
        self.write("m", model_bytes(**changes))
        (finding,) = check_exact.check(self.dir / "m", self.dir / "d.svm")
        self.assertEqual(len(finding.false), 0 if false is None else 1, finding.false)
        if false is not None:
            self.assertRegex(finding.false[0], false)


class CommandTest(Case):
    """The checker as a program, and what it reads."""

    def setUp(self):
        super().setUp()
        self.write("d.svm", "1 1:1\n-1 1:-2\n")
        self.write("m", model_bytes())

    def run_tool(self, *arguments, code=0):
        done = subprocess.run([sys.executable, "-B", TOOL, *arguments], cwd=self.dir, capture_output=True, text=True,
                              timeout=support.TIMEOUT)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def test_what_it_says(self):
        self.assertIn("the certificate holds\n", self.run_tool("m", "d.svm"))
        found = json.loads(self.run_tool("m", "d.svm", "--json"))
        self.assertTrue(found["holds"])
        self.assertEqual([float(found["problems"][0]["exact"][name]) for name in ("primal", "bound")], [0.625, 0.375])
        self.write("m", model_bytes(primal=0.5, dual=0.375, gap=0.25))
        self.assertRegex(self.run_tool("m", "d.svm", code=1), r"FALSE: .* by 2.00e-1 of the primal")
        self.assertFalse(json.loads(self.run_tool("m", "d.svm", "--json", code=1))["holds"])
        self.write("m", model_bytes(states=None))
        self.assertIn("not proved: 1 of 1 bounds", self.run_tool("m", "d.svm"))

    def test_what_it_cannot_read(self):
        self.write("other.svm", "1 1:1\n-1 1:-2\n1 1:3\n")
        self.write("bad.svm", "1 1:x\n")
        self.write("w", "1\n2\n")
        for arguments, says in ((("none", "d.svm"), "No such file"), (("d.svm", "d.svm"), "not a model"),
                                (("m", "m"), "not a data set"), (("m", "none"), "No such file"),
                                (("m", "other.svm"), "3 instead of 2"), (("m", "bad.svm"), "bad.svm:1"),
                                (("m", "d.svm", "--weights", "w"), "row weights"),
                                (("m", "d.svm", "--weights", "d.svm"), "d.svm:1")):
            self.assertIn(says, self.run_tool(*arguments, code=2))
        self.write("cut", self.read("m")[:-1])
        self.assertIn("error", self.run_tool("cut", "d.svm", code=2))

    def test_nothing_to_check(self):
        self.hinge("train", "d.svm", "m.liblinear")
        self.hinge("stream", "s", "--lambda", "0.1", stdin=b"1 1:1\n-1 1:-2\n")
        for model in ("m.liblinear", "s"):
            self.assertIn("nothing to check", self.run_tool(model, "d.svm"))

    def test_not_far_off(self):
        """What is exact is what was stored, but for rounding: with every kernel, every bias, several classes."""
        self.write("t.svm", to_text(THREE[:30]))
        for options in ("--bias 0.3", "--bias free", "--kernel rbf --gamma 0.2", "--kernel rbf --bias 2",
                        "--kernel sigmoid", "--kernel poly --degree 2 --coef0 1",
                        "--kernel poly --degree 3 --coef0 -0.5 --bias 0.1"):
            self.hinge("train", "t.svm", "k", "--quiet", *options.split())
            near = 1e-11 if "kernel" in options else 1e-13
            for finding in check_exact.check(self.dir / "k", self.dir / "t.svm"):
                self.assertClose(float(finding.primal), finding.stored.primal, near, options)
                self.assertEqual(finding.bound is None, finding.stored.bound == "none", options)
                if finding.bound is not None:
                    self.assertClose(float(finding.bound), finding.stored.dual, near, options)

    def test_numbers_as_hinge_reads_them(self):
        """Rounded once, also where the double on the way lies between two floats."""
        draw, numbers = random.Random(1), ["1e-50", "0", "3.4028235e38", "1e-45", "7e-46", "-0.1", "16777217"]
        for _ in range(200):
            (below,) = struct.unpack("<f", struct.pack("<I", draw.getrandbits(31) % 0x7F000000))
            (above,) = struct.unpack("<f", struct.pack("<I", struct.unpack("<I", struct.pack("<f", below))[0] + 1))
            middle = (check_exact.Fraction(below) + check_exact.Fraction(above)) / 2
            least = check_exact.Fraction(1, 10**40)
            numbers += [check_exact.with_digits(number, 160)
                        for number in (middle, middle * (1 - least), middle * (1 + least))]
            numbers.append(repr(draw.gauss(0, 1)))
        self.write("n.svm", "".join(f"{i % 2} 1:{number} 3:1\n" for i, number in enumerate(numbers)))
        for precision in ("f32", "f64"):
            self.hinge("convert", "n.svm", "n.hinge", "--precision", precision, "--quiet")
            text = check_exact.Data(self.dir / "n.svm").rows(precision, 1)
            binary = check_exact.Data(self.dir / "n.hinge").rows(precision, 1)
            self.assertEqual(text.values, binary.values)
            self.assertEqual(text.labels, binary.labels)

    def test_oddities_of_text(self):
        self.write("odd.svm", b"\xef\xbb\xbf# a comment\r\n+1.0 qid:3 2:5e-1\t1:+1 # unsorted\r\n\n"
                              b" -2\t3:.5 4:0 \n10e-1")
        self.hinge("convert", "odd.svm", "odd.hinge", "--quiet")
        text = check_exact.Data(self.dir / "odd.svm").rows("f32", 1)
        binary = check_exact.Data(self.dir / "odd.hinge").rows("f32", 1)
        self.assertEqual((text.labels, text.values, text.features), (binary.labels, binary.values, binary.features))
        self.assertEqual(text.values, [{1: 0.5, 0: 1.0}, {2: 0.5}, {}])


if __name__ == "__main__":
    support.main()
