#!/usr/bin/env python3
"""Draws docs/pegasos.svg: how far the variants of Pegasos get in how many epochs.

    python3 docs/plot_pegasos.py ccat-train.svm > docs/pegasos.svg

Runs the program ($HINGE, or build/hinge) 450 times, for half a minute or more: every point is a run of its own with
that many epochs, because a trace shows the best point seen so far, not the one a run of that length ends with. The
same data and program give the same picture.
"""
import json
import math
import os
import subprocess
import sys
import tempfile

HINGE = os.environ.get("HINGE", "build/hinge")
EPOCHS = (1, 2, 3, 5, 8, 12, 20, 30, 50)
SEEDS = (1, 2, 3, 4, 5)  # lines are medians over these

# Label, options, colour, dashes. All but the default are shown without rescaling, which the papers do not have.
PLAIN = ["--rescale", "off"]
DEFAULT = "default"
VARIANTS = (
    ("best-of:5", [*PLAIN, "--iterate", "best-of:5"], "#767676", ""),
    ("replace", [*PLAIN, "--sampling", "replace"], "#a86a00", "7 3"),
    ("average", [*PLAIN, "--iterate", "average"], "#2f87c0", "2 3"),
    ("random", [*PLAIN, "--iterate", "random"], "#a8447f", ""),
    ("order", [*PLAIN, "--sampling", "order"], "#00805c", "9 3 2 3"),
    ("last", [*PLAIN, "--iterate", "last"], "#d04e00", ""),
    ("", [*PLAIN, "--batch", "100"], "#0a5a9c", ""),
    ("", [*PLAIN, "--projection", "on"], "#0a5a9c", ""),
    ("suffix", PLAIN, "#0a5a9c", ""),
    (DEFAULT, [], "#000", ""),
)
NOTES = {"suffix": "also batch 100, projection", "random": "each dot a seed", DEFAULT: "suffix, rescaled"}

WIDTH, HEIGHT, TOP, BOTTOM = 960, 500, 96, 52
PANEL = 290                 # width of a panel
LEFTS = (52, 572)           # where the panels begin; their labels stand to the right
INK, FAINT, GRID = "#222", "#666", "#e2e2e2"
LINE = 15                   # height of a label


def train(data, *options):
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([HINGE, "train", data, os.path.join(folder, "model"), "--quiet", "--json", *options],
                              check=True, stdout=subprocess.PIPE, text=True)
        return json.loads(done.stdout)


def dual_trace(data):
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, "trace")
        train(data, "--solver", "dual", "--gap", "1e-7", "--trace", trace)
        with open(trace, encoding="utf-8") as lines:
            return [record for record in map(json.loads, lines) if record["data_passes"] > 0]


def median(values):
    return sorted(values)[len(values) // 2]


class Panel:
    """Log axes: 1 .. 50 epochs, `low` .. `high` percent."""

    def __init__(self, left, low, high, title, notes):
        self.left, self.low, self.high, self.title, self.notes = left, low, high, title, notes
        self.labels = []  # (height wanted, text, colour, bold)
        self.out = []

    def x(self, epochs):
        return self.left + PANEL * math.log(epochs) / math.log(EPOCHS[-1])

    def y(self, percent):
        share = math.log(percent / self.low) / math.log(self.high / self.low)
        return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)

    def axes(self):
        right, floor = self.left + PANEL, HEIGHT - BOTTOM
        self.out.append(f'<text x="{self.left}" y="{TOP - 14}" fill="{INK}" font-weight="bold">{self.title}</text>')
        percent = self.low
        while percent <= self.high * 1.01:
            y = self.y(percent)
            self.out.append(f'<path d="M{self.left} {y:.1f}H{right}" stroke="{GRID}"/>'
                            f'<text x="{self.left - 7}" y="{y + 4:.1f}" fill="{INK}" '
                            f'text-anchor="end">{percent:g}</text>')
            percent *= 10
        for epochs in (1, 2, 5, 10, 20, 50):
            self.out.append(f'<path d="M{self.x(epochs):.1f} {TOP}V{floor}" stroke="{GRID}"/>'
                            f'<text x="{self.x(epochs):.1f}" y="{floor + 18}" fill="{INK}" '
                            f'text-anchor="middle">{epochs}</text>')
        self.out.append(f'<path d="M{self.left} {floor}H{right}" stroke="{INK}"/>'
                        f'<text x="{self.left + PANEL / 2}" y="{floor + 38}" fill="{INK}" text-anchor="middle">'
                        'epochs (dual: passes over the data)</text>')

    def slope(self, first, percent, anchor):
        """A line that falls like 1/epochs, from the point (first, percent) to the right edge."""
        last = EPOCHS[-1]
        x, y = self.x(anchor), self.y(percent * first / anchor)
        angle = math.degrees(math.atan2(self.y(percent * first / last) - self.y(percent), self.x(last) - self.x(first)))
        self.out.append(f'<path d="M{self.x(first):.1f} {self.y(percent):.1f}L{self.x(last):.1f} '
                        f'{self.y(percent * first / last):.1f}" stroke="#aaa"/>'
                        f'<text transform="translate({x:.1f} {y - 6:.1f}) rotate({angle:.1f})" fill="{FAINT}" '
                        'text-anchor="middle" font-size="12">1/epochs</text>')

    def line(self, points, colour, dashes, width):
        """Draws what lies inside the panel; returns its last point."""
        inside, before = [], None
        for e, p in points:
            p = max(p, 1e-9)
            if p < self.low:  # down to the floor, and no further
                if before is not None:
                    share = math.log(before[1] / self.low) / math.log(before[1] / p)
                    inside.append((self.x(before[0] * (e / before[0]) ** share), self.y(self.low)))
                break
            inside.append((self.x(e), self.y(p)))
            before = e, p
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in inside)
        dash = f' stroke-dasharray="{dashes}"' if dashes else ""
        self.out.append(f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="{width}" '
                        f'stroke-linejoin="round" stroke-linecap="round"{dash}/>')
        return inside[-1]

    def dots(self, points, colour):
        for e, p in points:
            self.out.append(f'<circle cx="{self.x(e):.1f}" cy="{self.y(p):.1f}" r="2.2" fill="{colour}" '
                            'opacity="0.55"/>')

    def write_labels(self):
        """Beside the ends of their lines, moved apart where they would touch; a thin line leads to each."""
        order = sorted(self.labels)
        heights = [label[0] for label in order]
        for _ in range(1000):
            moved = False
            for k in range(len(order) - 1):
                need = LINE * (2 if order[k][1] in self.notes else 1)
                overlap = need - (heights[k + 1] - heights[k])
                if overlap > 0.01:
                    heights[k] -= overlap / 2
                    heights[k + 1] += overlap / 2
                    moved = True
            if not moved:
                break
        right = self.left + PANEL
        for (wanted, text, colour, bold), y in zip(order, heights):
            weight = ' font-weight="bold"' if bold else ""
            self.out.append(f'<path d="M{right + 3} {wanted:.1f}L{right + 17} {y:.1f}" stroke="{colour}" fill="none"/>'
                            f'<text x="{right + 21}" y="{y + 4:.1f}" fill="{colour}"{weight}>{text}</text>')
            if text in self.notes:
                self.out.append(f'<text x="{right + 21}" y="{y + 4 + LINE - 1:.1f}" fill="{colour}" '
                                f'font-size="12">{self.notes[text]}</text>')


def main(data):
    dual = dual_trace(data)
    best = dual[-1]["primal"]
    panels = (Panel(LEFTS[0], 0.1, 1000, "primal above the optimum, %", NOTES),
              Panel(LEFTS[1], 0.1, 100, "certified gap, %", {}))
    measures = (lambda run: 100 * (run["primal"] / best - 1), lambda run: 100 * run["relative_gap"])
    for panel in panels:
        panel.axes()
    panels[0].slope(5, 500, 16)
    panels[1].slope(12, 100, 25)
    for panel, measure in zip(panels, measures):
        points = [(r["data_passes"], measure(r)) for r in dual if r["data_passes"] <= EPOCHS[-1]]
        x, y = panel.line(points, INK, "3 4", 1.5)
        panel.out.append(f'<text x="{x + 4:.1f}" y="{y - 10:.1f}" fill="{INK}">dual</text>')
    for name, options, colour, dashes in VARIANTS:
        runs = {epochs: [train(data, "--solver", "pegasos", "--epochs", str(epochs), "--seed", str(seed), *options)
                         for seed in SEEDS] for epochs in EPOCHS}
        emphasised = name == DEFAULT
        for panel, measure in zip(panels, measures):
            values = {epochs: [measure(run) for run in runs[epochs]] for epochs in EPOCHS}
            if name == "random":  # chance is the point of it: no line
                if panel is panels[0]:
                    panel.dots([(e, v) for e in EPOCHS for v in values[e]], colour)
                    panel.labels.append((panel.y(median(values[EPOCHS[-1]])), name, colour, False))
                continue
            end = panel.line([(e, median(values[e])) for e in EPOCHS], colour, dashes, 3.5 if emphasised else 1.8)
            if name:
                panel.labels.append((end[1], name, colour, emphasised))
    rows, cost = runs[1][0]["rows"], runs[1][0]["cost"]
    print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
          f'font-size="13">\n<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>\n'
          f'<text x="{LEFTS[0]}" y="24" fill="{INK}" font-size="15" font-weight="bold">Variants of Pegasos on '
          f'{rows:,} rows, C = {cost:g}</text>\n'
          f'<text x="{LEFTS[0]}" y="45" fill="{FAINT}">Each point is the result of a run of that many epochs, the '
          f'median of {len(SEEDS)} seeds. All but the default without rescaling.</text>')
    for panel in panels:
        panel.write_labels()
        print("\n".join(panel.out))
    print("</svg>")


if __name__ == "__main__":
    main(sys.argv[1])
