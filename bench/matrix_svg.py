"""The figures of the matrix: time-to-gap curves, one panel a cost, and bars of file to model. Logarithmic throughout."""
import math

INK, FAINT, GRID = "#222", "#666", "#e2e2e2"
# Told apart without colour, too: (colour, dashes).
STYLES = {
    "hinge": ("#0a5a9c", ""), "hinge, all cores": ("#2f87c0", "6 3"), "hinge, binary": ("#2f87c0", ""),
    "LIBLINEAR": ("#d04e00", ""), "libocas": ("#00805c", "7 3"), "libocas, all cores": ("#00805c", "2 3"),
    "LinearSVC": ("#a86a00", "9 3 2 3"), "SGDClassifier": ("#a8447f", "12 3"), "dlib": ("#767676", "2 3"),
}


def text(x, y, content, colour=INK, more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}"{more and " "}{more}>{content}</text>'


def power(exponent):
    return f'10<tspan dy="-5" font-size="10">{"&#8722;" if exponent < 0 else ""}{abs(exponent)}</tspan>'


def page(width, height, title, below, parts):
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="13">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        text(58, 24, title, INK, 'font-size="15" font-weight="bold"'), text(58, 45, below, FAINT), *parts, "</svg>", ""])


class Axis:
    """Whole decades around the values, onto begin .. end."""

    def __init__(self, values, begin, end):
        self.low = math.floor(math.log10(min(values)) + 1e-9)
        self.high = max(math.ceil(math.log10(max(values)) - 1e-9), self.low + 1)
        self.begin, self.end = begin, end

    def __call__(self, value):
        return self.begin + (self.end - self.begin) * (math.log10(value) - self.low) / (self.high - self.low)

    def decades(self):
        return range(self.low, self.high + 1)


def curves(title, below, panels, styles=STYLES, leads=lambda solver: solver.startswith("hinge"),
           width=250):
    """panels: [(title, {solver: [(seconds, gap)]})] -> SVG; all panels have the same axes. Who leads is drawn on top."""
    top, bottom, left, between, legend = 86, 392, 58, 24, 150
    points = [point for _, lines in panels for line in lines.values() for point in line]
    y = Axis([max(min(gap, 1), 1e-9) for _, gap in points] or [1e-3], bottom, top)
    whole = max(left + len(panels) * (width + between) + legend, 620)
    parts, used = [], []
    for number, (name, lines) in enumerate(panels):
        begin = left + number * (width + between)
        x = Axis([seconds for seconds, _ in points] or [1], begin, begin + width)
        parts.append(text(begin, top - 12, name, INK, 'font-weight="bold"'))
        for k in y.decades():
            parts.append(f'<path d="M{begin} {y(10.0 ** k):.1f}H{begin + width}" stroke="{GRID}"/>')
            if number == 0:
                parts.append(text(begin - 7, y(10.0 ** k) + 4, power(k), INK, 'text-anchor="end"'))
        for k in x.decades():
            parts.append(f'<path d="M{x(10.0 ** k):.1f} {top}V{bottom}" stroke="{GRID}"/>')
            parts.append(text(x(10.0 ** k), bottom + 18, power(k), INK, 'text-anchor="middle"'))
        parts.append(f'<path d="M{begin} {bottom}H{begin + width}" stroke="{INK}"/>')
        parts.append(text(begin + width / 2, bottom + 40, "seconds of solving", INK, 'text-anchor="middle"'))
        for solver, line in sorted(lines.items(), key=lambda item: leads(item[0])):
            if not line:
                continue
            used += [solver] * (solver not in used)
            colour, dashes = styles[solver]
            places = [(x(seconds), y(max(min(gap, 1), 1e-9))) for seconds, gap in line]
            parts.append(f'<path d="M{"L".join(f"{a:.1f} {b:.1f}" for a, b in places)}" fill="none" stroke="{colour}" '
                         f'stroke-width="{2.6 if leads(solver) else 1.6}" stroke-linejoin="round"'
                         + (f' stroke-dasharray="{dashes}"' if dashes else "") + "/>")
            parts += [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="2.4" fill="{colour}"/>' for a, b in places]
    for number, solver in enumerate(solver for solver in styles if solver in used):
        colour, dashes = styles[solver]
        height = top + 8 + 20 * number
        begin = left + len(panels) * (width + between)
        dash = f' stroke-dasharray="{dashes}"' if dashes else ""
        parts.append(f'<path d="M{begin} {height}h26" stroke="{colour}" stroke-width="2"{dash}/>')
        parts.append(text(begin + 32, height + 4, solver, colour))
    return page(whole, bottom + 56, title, below, parts)


def bars(title, below, groups):
    """groups: [(set, {solver: seconds})] -> SVG"""
    left, width, line, top = 130, 560, 15, 70
    values = [seconds for _, group in groups for seconds in group.values()]
    x = Axis(values or [1], left, left + width)
    floor = top + sum(line * len(group) + 14 for _, group in groups)
    parts = []
    for k in x.decades():
        parts.append(f'<path d="M{x(10.0 ** k):.1f} {top - 6}V{floor}" stroke="{GRID}"/>')
        parts.append(text(x(10.0 ** k), floor + 18, power(k), INK, 'text-anchor="middle"'))
    y = top
    for name, group in groups:
        parts.append(text(left - 8, y + line * len(group) / 2 + 4, name, INK, 'text-anchor="end" font-weight="bold"'))
        for solver, seconds in group.items():
            colour = STYLES[solver][0]
            parts.append(f'<rect x="{left}" y="{y:.1f}" width="{max(x(seconds) - left, 1):.1f}" height="{line - 3}" '
                         f'fill="{colour}"/>')
            parts.append(text(x(seconds) + 5, y + line - 5, f"{solver}, {seconds:.3g} s", colour, 'font-size="11"'))
            y += line
        y += 14
    return page(left + width + 170, floor + 36, title, below, parts)
