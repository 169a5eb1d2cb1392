"""The cost model of docs/scale-out.md: its parameters from what bench/mpi.py measured, its check, its projection.

A run of I iterations that looks at every nonzero D times takes, on K ranks,

    T(K) = c(K) p D n/K + (q/K + s) I + l(K) M I + B I/b(K)

n nonzeros; p seconds a nonzero, and q seconds an iteration for vectors that ranks share out, from one rank with all
rows and one with a quarter of them; c(K) how much longer a pass takes where K processes share a memory; s seconds an
iteration for what every rank of several does by itself, from the least number of them; M messages and B bytes an
iteration; l(K) seconds a message and b(K) bytes a second, from mpi_probe.cc. One rank has no s: it is in q.
"""

import math

RANKS = (1, 4, 16, 64, 256, 1024)
GIGABYTES = 64  # more than this on a rank is marked
BYTES_A_NONZERO = 8


def of_sums(ranks, *sizes):
    """(messages, bytes a rank sends) of sums of so many numbers."""
    messages = sent = 0
    for n in sizes:
        small = n <= 8 or (n <= 512 and n * ranks <= 8192)
        messages += 1 if small else 2
        sent += 8 * (n + 3) * (ranks - 1) if small else 16 * n * (ranks - 1) / ranks
    return messages, sent


def formula(solver, features, ranks):
    """(messages, bytes a rank sends) of an iteration whose line search takes 3 rounds more and whose vectors are dense."""
    if ranks == 1:
        return 0, 0
    search = (256, 17, 17, 17)
    # dual: what is chosen, the steps, P and D, the loss found. Planes: inner products, b, the value found.
    messages, sent = of_sums(ranks, *search, *((2, 2, 2, 1) if solver == "dual" else (100, 1, 1)))
    # How many entries there are at most; then a sum, its halves at two places in planes.
    return messages + 3, sent + 8 * (ranks - 1) + 16 * features * (ranks - 1) / ranks


def counted(run):
    steps = max(1, run["iterations"])
    return run.get("messages", 0) / steps, run.get("bytes_sent", 0) / steps


def solve_time(run):
    return run["seconds"]["solve"]


def touched(run):
    return run["data_passes"] * run["nonzeros"]


class Model:
    def __init__(self, measured):
        self.probes = {probe["ranks"]: probe for probe in measured["probes"]}
        self.crowd = {1: 1.0, **{int(k): v for k, v in measured["crowd"].items()}}
        self.runs = {run["ranks"]: {**run, "crowd": self.crowd[run["ranks"]]} for run in measured["ranks"]}
        self.cores = measured["cores"]
        self.alone = self.runs[1]
        self.features = self.alone["features"]
        # Two sizes, two unknowns.
        whole, part = self.alone, measured["quarter"]
        (a, b), (c, d) = [(touched(run), run["iterations"]) for run in (whole, part)]
        x, y = solve_time(whole), solve_time(part)
        determinant = a * d - b * c
        self.p = (x * d - b * y) / determinant
        self.q = max(0.0, (a * y - c * x) / determinant)
        if self.p <= 0 or self.q == 0:  # too alike to tell them apart
            self.p = x / a
        self.s = 0.0
        several = sorted(k for k in self.runs if k > 1)
        self.fitted = {1}
        if several:
            first = self.runs[several[0]]
            self.s = max(0.0, (solve_time(first) - sum(self.parts(first))) / first["iterations"])
            self.fitted.add(several[0])

    def latency(self, ranks):
        if ranks == 1:
            return 0.0
        if ranks in self.probes:
            return self.probes[ranks]["small"]
        known = max(self.probes)
        return self.probes[known]["small"] * math.log2(ranks) / math.log2(known)

    def bandwidth(self, ranks):
        probe = self.probes[ranks if ranks in self.probes else max(self.probes)]
        k = probe["ranks"]
        bytes_moved = 16 * self.features * (k - 1) / k
        return bytes_moved / max(1e-9, probe["share"] + probe["collect"] - 2 * probe["small"])

    def parts(self, run):
        """Seconds of passes, vectors, messages and bytes of a run."""
        ranks, steps = run["ranks"], run["iterations"]
        messages, sent = counted(run)
        own = self.s if ranks > 1 else 0.0
        return (run["crowd"] * self.p * touched(run) / ranks, (self.q / ranks + own) * steps,
                self.latency(ranks) * messages * steps, sent * steps / self.bandwidth(ranks) if ranks > 1 else 0.0)

    def elsewhere(self, run, ranks, nonzeros):
        """The same run with other ranks, on machines as full as this one can be without ranks waiting for cores."""
        messages, sent = formula(run["solver"], self.features, ranks)
        full = max(k for k in self.crowd if k == 1 or k <= min(ranks, self.cores))
        return {**run, "ranks": ranks, "nonzeros": nonzeros, "crowd": self.crowd[full],
                "messages": messages * run["iterations"], "bytes_sent": sent * run["iterations"]}

    def parameters(self):
        most = max(self.probes)
        yield "| parameter | measured |"
        yield "|---|---|"
        yield f"| p, a nonzero | {self.p * 1e9:.2f} ns |"
        yield f"| q, vectors of an iteration | {self.q * 1e3:.2f} ms |"
        yield f"| s, each rank by itself | {self.s * 1e3:.2f} ms |"
        for k in sorted(self.probes):
            yield (f"| {k} ranks: c, l, b | {self.crowd.get(k, 1):.2f}, {self.latency(k) * 1e6:.1f} us, "
                   f"{self.bandwidth(k) / 1e9:.2f} GB/s |")
        yield f"| beyond {most} ranks | l grows with log K, b stays; c is that of {self.cores} cores at most |"

    def check(self):
        yield "| ranks | measured s | predicted s | passes | vectors | messages | bytes |"
        yield "|---|---|---|---|---|---|---|"
        for k, run in sorted(self.runs.items()):
            parts = self.parts(run)
            used = " (fitted)" if k in self.fitted else ""
            yield f"| {k} | {solve_time(run):.3g} | {sum(parts):.3g}{used} | " + " | ".join(f"{x:.3g}" for x in parts) + " |"

    def projection(self):
        run = self.runs[max(self.runs)]
        a_row = self.alone["nonzeros"] / self.alone["rows"]
        yield "| rows | " + " | ".join(f"{k} rank{'s' if k > 1 else ''}" for k in RANKS) + " |"
        yield "|---" * (1 + len(RANKS)) + "|"
        for power in range(6, 13):
            cells = []
            for k in RANKS:
                there = self.elsewhere(run, k, 10**power * a_row)
                large = BYTES_A_NONZERO * there["nonzeros"] / k > GIGABYTES * 1e9
                cells.append(in_words(sum(self.parts(there))) + (" *" if large else ""))
            yield f"| 10^{power} | " + " | ".join(cells) + " |"
        yield ""
        yield f"\\* more than {GIGABYTES} GB of rows on a rank"


def in_words(seconds):
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.3g} {unit}"
    return f"{seconds:.3g} s"
