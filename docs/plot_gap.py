#!/usr/bin/env python3
"""Draws docs/gap.svg: primal value and lower bound of a run against passes over the data.

    hinge train ccat-train.svm --gap 1e-6 --trace run.jsonl
    python3 docs/plot_gap.py run.jsonl > docs/gap.svg
"""
import json
import math
import sys

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 720, 300, 70, 150, 20, 45
PRIMAL, BOUND, INK, GRID = "#b3402a", "#20639b", "#333", "#ddd"


def main(path):
    records = [json.loads(line) for line in open(path)]
    records = [r for r in records if r["data_passes"] > 0]
    best = (records[-1]["primal"] + records[-1]["dual"]) / 2
    passes = [r["data_passes"] for r in records]
    above = [100 * (r["primal"] / best - 1) for r in records]
    below = [100 * (r["dual"] / best - 1) for r in records]

    # Both sides on a logarithmic scale of the distance to the optimum, from 0.0001 % outwards.
    floor, top = 1e-4, 10 ** math.ceil(math.log10(max(above[0], -below[0])))
    half = (HEIGHT - TOP - BOTTOM) / 2
    decades = math.log10(top / floor)

    def y(percent):
        share = max(0.0, math.log10(max(abs(percent), floor) / floor)) / decades
        return TOP + half - math.copysign(share * half, percent)

    first, last = math.log10(passes[0]), math.log10(passes[-1])

    def x(count):
        return LEFT + (math.log10(count) - first) / (last - first) * (WIDTH - LEFT - RIGHT)

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
           'font-family="sans-serif" font-size="12">',
           f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>']
    exponent = math.log10(top)
    while exponent > math.log10(floor) + 0.5:
        for sign in (1, -1):
            percent = sign * 10 ** exponent
            out.append(f'<path d="M{LEFT} {y(percent):.1f}H{WIDTH - RIGHT}" stroke="{GRID}"/>'
                       f'<text x="{LEFT - 6}" y="{y(percent) + 4:.1f}" fill="{INK}" '
                       f'text-anchor="end">{percent:+g} %</text>')
        exponent -= 1
    out.append(f'<path d="M{LEFT} {y(0):.1f}H{WIDTH - RIGHT}" stroke="{INK}" stroke-dasharray="4 3"/>'
               f'<text x="{LEFT - 6}" y="{y(0) + 4:.1f}" fill="{INK}" text-anchor="end">optimum</text>')
    for count in (1, 2, 5, 10, 20, 50, 100, 200, 500):
        if passes[0] <= count <= passes[-1]:
            out.append(f'<path d="M{x(count):.1f} {HEIGHT - BOTTOM}v5" stroke="{INK}"/>'
                       f'<text x="{x(count):.1f}" y="{HEIGHT - BOTTOM + 18}" fill="{INK}" '
                       f'text-anchor="middle">{count}</text>')
    out.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 8}" fill="{INK}" '
               'text-anchor="middle">passes over the data</text>')
    for values, colour, name in ((above, PRIMAL, "primal: this model"), (below, BOUND, "bound: any model")):
        points = " ".join(f"{x(p):.1f},{y(v):.1f}" for p, v in zip(passes, values))
        dots = "".join(f'<circle cx="{x(p):.1f}" cy="{y(v):.1f}" r="2.5" fill="{colour}"/>'
                       for p, v in zip(passes, values))
        label_y = y(values[1]) + (-10 if values is above else 20)
        out.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>{dots}'
                   f'<text x="{x(passes[1]) + 12:.1f}" y="{label_y:.1f}" fill="{colour}" '
                   f'font-weight="bold">{name}</text>')
    out.append(f'<text x="{x(passes[-1]) + 8:.1f}" y="{y(0) + 4:.1f}" fill="{INK}">'
               f'proved gap {records[-1]["relative_gap"]:.0e}</text>')
    print("\n".join(out) + "\n</svg>")


if __name__ == "__main__":
    main(sys.argv[1])
