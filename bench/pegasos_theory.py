#!/usr/bin/env python3
"""Whether Pegasos takes the steps its theorems speak of: 1/(lambda excess) of them, however many rows there are.

    python3 bench/pegasos_theory.py [--rows 10000 100000 1000000] [--seeds 5] [--docs docs]

Writes DOCS/pegasos-theory.md and DOCS/pegasos-theory.svg. HINGE names the program (default build/hinge). Rows are those
of `hinge generate --like ccat`: one distribution, rows of length 1, so R = 1. f = lambda * primal, as the papers write it,
and its minimum f* is the bound of the dual solver at a gap of 1e-6.

Steps to an excess: runs of T steps, T from a grid, several seeds each; the first T, between two of the grid by the line
through both (logarithms), at which the median over the seeds of f - f* is at most the excess. Runs draw rows with replacement
(`--sampling replace`), which the theorems speak of, and return the mean of the last half (the default) without rescaling.

Seconds are those of the steps alone, from the difference of two runs with other numbers of steps; and of a whole run with so many
steps as `train` says (solve, which ends with a look at all rows, and certify, which is another).

The method beside it is the one whose proof gives 1/excess^2: sub-gradient steps of size eta/sqrt(t), on one row each, drawn with
replacement, here in numpy; last point, and mean of the last half. It makes nothing of strong convexity, and somebody must choose eta:
the best of a grid for the largest excess, kept for all others, or the best for every excess by itself. Its steps are
counted, not timed.
"""
import argparse
import json
import math
import os
import statistics
import struct
import tempfile
import textwrap

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[variable] = "1"  # before numpy reads it

import numpy as np

from matrix_svg import FAINT, GRID, INK, Axis, page, power, text
from pegasos import generated, hinge, ns_per_step

LAMBDA = 1e-3
GRID_FACTOR = 10 ** 0.25
FIRST, LAST = 100, 1_000_000  # steps
EXCESSES = (0.1, 0.03, 0.01, 0.003, 0.001)
ETAS = tuple(10 ** (k / 4) for k in range(-2, 9))  # 0.3 to 100
KINDS = {"last": "last point", "suffix": "mean of the last half"}
OPTIONS = ("--lambda", LAMBDA, "--sampling", "replace", "--rescale", "off")
COLOURS = ("#2f87c0", "#00805c", "#0a5a9c", "#a8447f")


def grid_of_steps():
    count = round(math.log(LAST / FIRST) / math.log(GRID_FACTOR))
    return [round(FIRST * GRID_FACTOR ** k) for k in range(count + 1)]


def steps_to(curve, excess):
    """curve: [(steps, excess)] -> steps at which it is down to `excess`, nan if it is not."""
    before = None
    for steps, value in curve:
        if value <= excess:
            if before is None or before[1] <= value:
                return steps
            share = math.log(before[1] / excess) / math.log(before[1] / value)
            return before[0] * (steps / before[0]) ** share
        before = steps, value
    return math.nan


# Pegasos, by hinge.


def pegasos_curve(path, folder, best, seeds, kind="suffix"):
    """[(steps, median of f - f*)]"""
    curve = []
    for steps in grid_of_steps():
        options = (*OPTIONS, "--iterate", kind, "--steps", steps)
        values = [LAMBDA * hinge(path, folder, *options, "--seed", seed)["primal"] - best for seed in range(1, seeds + 1)]
        curve.append((steps, statistics.median(values)))
        if curve[-1][1] <= min(EXCESSES):
            break
    return curve


def whole_run(path, folder, steps):
    """Seconds of solving, looks and all, and of the certificate."""
    seconds = [hinge(path, folder, *OPTIONS, "--steps", max(1, round(steps)))["seconds"] for _ in range(3)]
    return min(s["solve"] + s["certify"] for s in seconds)


# Steps of eta/sqrt(t), by numpy.


class Rows:
    """A binary data set of hinge (docs/formats.md)."""

    def __init__(self, path):
        with open(path, "rb") as file:
            header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
            start = file.tell()
        self.features = int(header["__metadata__"]["features"])
        types = {"I64": "<i8", "U64": "<u8", "U32": "<u4", "F32": "<f4", "F64": "<f8"}
        for name in ("offsets", "columns", "values", "labels"):
            begin, end = header[name]["data_offsets"]
            kind = np.dtype(types[header[name]["dtype"]])
            found = np.fromfile(path, kind, (end - begin) // kind.itemsize, offset=start + begin)
            setattr(self, name, found.astype(np.int64 if name in ("offsets", "columns") else np.float64))
        self.y = np.where(self.labels == self.labels.max(), 1.0, -1.0)
        assert (np.diff(self.offsets) > 0).all(), "empty rows"

    def f(self, w):
        scores = np.add.reduceat(self.values * w[self.columns], self.offsets[:-1])
        return LAMBDA / 2 * w @ w + np.maximum(0, 1 - self.y * scores).mean()


def sqrt_curves(rows, best, eta, seed):
    """{kind: [(steps, f - f*)]}. w = s v; a sum of w is total v - late, as docs/pegasos.md has it."""
    draw = np.random.default_rng(seed)
    offsets, columns, values, y = rows.offsets.tolist(), rows.columns, rows.values, rows.y.tolist()
    v, late = np.zeros(rows.features), np.zeros(rows.features)
    s, total, done, sums, curves = 1.0, 0.0, 0, {}, {kind: [] for kind in KINDS}
    wanted = grid_of_steps()
    for mark in sorted({mark for steps in wanted for mark in (steps, steps // 2)}):
        for t, i in enumerate(draw.integers(len(y), size=mark - done).tolist(), done + 1):
            at, x = columns[offsets[i]:offsets[i + 1]], values[offsets[i]:offsets[i + 1]]
            total += s
            step = eta / math.sqrt(t)
            inside = y[i] * s * (v[at] @ x) < 1
            s *= 1 - step * LAMBDA
            if inside:
                gain = step * y[i] / s * x
                v[at] += gain
                late[at] += total * gain
        done = mark
        sums[mark] = total * v - late
        if mark in wanted:
            half = mark // 2
            curves["last"].append((mark, rows.f(s * v) - best))
            curves["suffix"].append((mark, rows.f((sums[mark] - sums[half]) / (mark - half)) - best))
    return curves


def sqrt_steps(rows, best, seeds):
    """{kind: {"each": {excess: (steps, eta)}, "kept": {excess: steps}, "eta": of kept}}"""
    found = {kind: {} for kind in KINDS}  # by eta: {excess: steps}
    for eta in ETAS:
        runs = [sqrt_curves(rows, best, eta, seed) for seed in range(1, seeds + 1)]
        for kind in KINDS:
            curve = [(points[0][0], statistics.median(value for _, value in points))
                     for points in zip(*(run[kind] for run in runs))]
            found[kind][eta] = {excess: steps_to(curve, excess) for excess in EXCESSES}
            print(f"  eta {eta:6.2f}, {kind}: {found[kind][eta]}", flush=True)
    results = {}
    for kind, by_eta in found.items():
        each = {}
        for excess in EXCESSES:
            reached = [(by_eta[eta][excess], eta) for eta in ETAS if not math.isnan(by_eta[eta][excess])]
            each[excess] = min(reached, default=(math.nan, math.nan))
        eta = each[EXCESSES[0]][1]
        results[kind] = {"each": each, "kept": by_eta[eta], "eta": eta}
    return results


# What is written.


def label(number, digits=2):
    """1,200 of 1234."""
    if math.isnan(number):
        return f"above {LAST:,}"
    size = 10 ** max(0, math.floor(math.log10(number)) + 1 - digits)
    return f"{round(number / size) * size:,}"


def slope(points):
    """Of log steps over log 1/excess, by least squares."""
    points = [(math.log(1 / e), math.log(s)) for e, s in points]
    return float(np.polyfit(*zip(*points), 1)[0]) if len(points) > 1 else math.nan


def paragraph(words):
    return textwrap.fill(" ".join(words.split()), 120, break_long_words=False, break_on_hyphens=False)


def figure(curves, pegasos, sqrt, middle):
    top, bottom, left, width, between = 86, 392, 62, 330, 110
    excess = Axis([e for curve in curves.values() for _, e in curve] + list(EXCESSES), bottom, top)
    parts = []

    def frame(begin, x, title, below):
        parts.append(text(begin, top - 12, title, INK, 'font-weight="bold"'))
        for k in excess.decades():
            parts.append(f'<path d="M{begin} {excess(10.0 ** k):.1f}H{begin + width}" stroke="{GRID}"/>')
            parts.append(text(begin - 7, excess(10.0 ** k) + 4, power(k), INK, 'text-anchor="end"'))
        for k in x.decades():
            parts.append(f'<path d="M{x(10.0 ** k):.1f} {top}V{bottom}" stroke="{GRID}"/>')
            parts.append(text(x(10.0 ** k), bottom + 18, power(k), INK, 'text-anchor="middle"'))
        parts.append(text(begin + width / 2, bottom + 40, below, INK, 'text-anchor="middle"'))

    def line(x, points, colour, dashes=""):
        places = [(x(steps), excess(value)) for steps, value in points if not math.isnan(steps)]
        dash = f' stroke-dasharray="{dashes}"' if dashes else ""
        parts.append(f'<path d="M{"L".join(f"{a:.1f} {b:.1f}" for a, b in places)}" fill="none" stroke="{colour}" '
                     f'stroke-width="2"{dash}/>')
        parts.extend(f'<circle cx="{a:.1f}" cy="{b:.1f}" r="2.6" fill="{colour}"/>' for a, b in places)
        return places[-1]

    steps = Axis([FIRST, LAST], left, left + width)
    frame(left, steps, "any number of rows", "steps of Pegasos")
    for number, (rows, curve) in enumerate(curves.items()):
        colour = COLOURS[number % len(COLOURS)]
        line(steps, curve, colour, ("", "7 3", "2 3", "9 3 2 3")[number % 4])
        parts.append(text(left + width - 8, top + 22 + 18 * number, f"{rows:,} rows", colour, 'text-anchor="end"'))
    begin = left + width + between
    steps = Axis([FIRST, LAST], begin, begin + width)
    frame(begin, steps, f"steps to an excess, {middle:,} rows", "steps")
    right = begin + width
    drawn = [("Pegasos, mean of last half", [(pegasos["suffix"][e], e) for e in EXCESSES], COLOURS[2], "")]
    for kind, colour in (("suffix", "#00805c"), ("last", "#d04e00")):
        name = "mean of last half" if kind == "suffix" else "last point"
        drawn.append((f"eta/&#8730;t, {name}, eta kept", [(sqrt[kind]["kept"][e], e) for e in EXCESSES], colour, "7 3"))
        drawn.append((f"eta/&#8730;t, {name}, eta for each", [(sqrt[kind]["each"][e][0], e) for e in EXCESSES], colour, "2 3"))
    for number, (name, points, colour, dashes) in enumerate(drawn):
        line(steps, points, colour, dashes)
        height, dash = top + 10 + 20 * number, f' stroke-dasharray="{dashes}"' if dashes else ""
        parts.append(f'<path d="M{right + 16} {height}h26" stroke="{colour}" stroke-width="2"{dash}/>')
        parts.append(text(right + 48, height + 4, name, colour))
    return page(right + 290, bottom + 56, "Excess f &#8722; f* over steps",
                f"lambda = {LAMBDA:g}, rows like ccat, rows drawn with replacement, medians over seeds", parts)


def document(results, sqrt, middle, arguments):
    pegasos = {"suffix": results[middle]["steps"], "last": results[middle]["last"]}
    rows = list(results)
    spread = {e: max(results[m]["steps"][e] for m in rows) / min(results[m]["steps"][e] for m in rows) for e in EXCESSES}
    out = [
        "# Steps of Pegasos, as its theorems count them", "",
        paragraph(f"""The theorems ([math.md](math.md#pegasos---solver-pegasos)) promise an excess f - f* of order 1/(lambda T) after T
        steps, of which the number of rows is no part. Here it is measured. `bench/pegasos_theory.py` wrote this page and says how; rows of
        `hinge generate --like ccat`, lambda = {LAMBDA:g}, one thread, medians over {arguments.seeds} seeds. Seconds are those of two cores that
        others used, too."""), "",
        "![Excess over steps](pegasos-theory.svg)", "", "## Any number of rows", "",
        paragraph("""Steps to an excess (`--sampling replace`, mean of the last half, no rescaling), beside those with which the proof of the
        last half promises it, 4 (1 + ln 2)/(lambda excess) with R = 1:"""), "",
        "| excess | " + " | ".join(f"{m:,} rows" for m in rows) + " | most / least | proved |",
        "|---|" + "---|" * (len(rows) + 2)]
    for e in EXCESSES:
        out.append(f"| {e:g} | " + " | ".join(label(results[m]["steps"][e]) for m in rows)
                   + f" | {spread[e]:.2f} | {label(4 * (1 + math.log(2)) / (LAMBDA * e))} |")
    e = 0.01
    out += ["", paragraph(f"""Seconds to an excess of {e:g}: of the steps, and of all that `train` does besides reading and writing (`solve` and
        `certify`), which look at all rows two or three times each:"""), "",
            "| rows | f* | ns a step | s of the steps | s of solving, proof included |", "|---|---|---|---|---|"]
    for m in rows:
        r = results[m]
        out.append(f"| {m:,} | {r['best']:.4f} | {r['ns']:.0f} | {1e-9 * r['ns'] * r['steps'][e]:.4f} | {r['whole']:.3f} |")
    out += ["", paragraph("""A step takes longer where rows drawn at random come from memory instead of a cache; their number does not change. What
        grows with the rows is the look at all of them."""), "",
            "## Beside eta/sqrt(t)", "",
            paragraph(f"""Sub-gradient steps of size eta/sqrt(t) make nothing of strong convexity; their proof gives 1/excess^2. On the {middle:,} rows,
            eta being one of {len(ETAS)} between {min(ETAS):.1f} and {max(ETAS):.0f}: *kept*, the best for an excess of {EXCESSES[0]:g} used for all; *for
            each*, the best for every excess by itself (in brackets). "Above": not reached in so many."""), "",
            "| excess | " + " | ".join(f"Pegasos, {name} | eta/sqrt(t), {name}, kept | for each" for name in KINDS.values()) + " |",
            "|---|" + "---|" * (3 * len(KINDS))]
    for e in EXCESSES:
        cells = []
        for kind in KINDS:
            steps, eta = sqrt[kind]["each"][e]
            cells += [label(pegasos[kind][e]), label(sqrt[kind]["kept"][e]),
                      label(steps) + ("" if math.isnan(eta) else f" ({eta:.2g})")]
        out.append(f"| {e:g} | " + " | ".join(cells) + " |")
    for name, many in (("grows like 1/excess to the power", len(EXCESSES)), ("the same, of the last two reached", 2)):
        cells = []
        for kind in KINDS:
            for steps in (pegasos[kind], sqrt[kind]["kept"], {e: sqrt[kind]["each"][e][0] for e in EXCESSES}):
                cells.append(f"{slope([(e, steps[e]) for e in EXCESSES if not math.isnan(steps[e])][-many:]):.2f}")
        out.append(f"| {name} | " + " | ".join(cells) + " |")
    out += ["", paragraph("""So steps of eta/sqrt(t) need not be slower: an eta that fits lambda and the excess asked for makes them about as long, where
        the run ends, as those of Pegasos. But somebody must know that eta, and Pegasos has nothing to choose. With one eta for all excesses the
        steps of the last point come to grow like 1/excess^2, as the proof has it; a mean of the last half makes good most of a wrong eta."""), ""]
    return "\n".join(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--sqrt-rows", type=int, help="rows of the comparison with eta/sqrt(t) (default: the first of --rows)")
    parser.add_argument("--docs", default="docs", help="where to write (default docs)")
    arguments = parser.parse_args()
    middle = arguments.sqrt_rows or arguments.rows[0]
    results, sqrt = {}, {}
    for count in arguments.rows:
        with tempfile.TemporaryDirectory() as folder:
            path = generated(count, folder)
            best = LAMBDA * hinge(path, folder, "--lambda", LAMBDA, "--gap", "1e-6", solver="dual")["dual"]
            curve = pegasos_curve(path, folder, best, arguments.seeds)
            steps = {excess: steps_to(curve, excess) for excess in EXCESSES}
            results[count] = {"best": best, "curve": curve, "steps": steps,
                              "ns": ns_per_step(path, folder, OPTIONS, (200_000, 1_200_000), 3),
                              "whole": whole_run(path, folder, steps[0.01])}
            print(count, results[count], flush=True)
            if count == middle:
                last = pegasos_curve(path, folder, best, arguments.seeds, "last")
                results[count]["last"] = {excess: steps_to(last, excess) for excess in EXCESSES}
                sqrt = sqrt_steps(Rows(path), best, arguments.seeds)
                print(sqrt, flush=True)
    with open(f"{arguments.docs}/pegasos-theory.svg", "w") as file:
        pegasos = {"suffix": results[middle]["steps"], "last": results[middle]["last"]}
        file.write(figure({m: r["curve"] for m, r in results.items()}, pegasos, sqrt, middle))
    with open(f"{arguments.docs}/pegasos-theory.md", "w") as file:
        file.write(document(results, sqrt, middle, arguments))


if __name__ == "__main__":
    main()
