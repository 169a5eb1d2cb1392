#!/usr/bin/env python3
"""hinge stream: how fast, how good, and how much memory.

    python3 bench/stream.py speed FILE...   MB/s and rows/s beside hinge's own reader, and beside Vowpal Wabbit
    python3 bench/stream.py memory          ten million rows made on the fly; the peak at 1, 10 and 100 % of them

HINGE names the program (default build/hinge). FILEs are plain text of two classes. Everything is run in turn, --repeat times;
times are the best of these. hinge and vw have one CPU (--cpu) each for all their threads; `cat`, which feeds the pipe,
has another if there is one.

speed, first table: "reader" is the load time of `hinge info FILE -n 1 --json`, the batch reader on one thread, which keeps all
  rows in memory; "reader, pipe" the same from `cat FILE |`. "stream" is all of `cat FILE | hinge stream --lambda 1/rows`, from
  start to end of the process, learning included, no model saved; "and model" with one saved at the end; "one CPU" with
  `cat` on the same CPU. "share" is stream's MB/s over the reader's (file, then pipe).

speed, second table: one pass from text, each row predicted before it is learned. hinge as above (lambda 1/rows), and
  "tuned": --lambda 1e-4 --t0 10000, which was tried out on these sets; vw with --loss_function hinge, its defaults otherwise (adaptive, normalised steps) and without a constant, on the same rows in its
  own text, inside a process that is already running (importing it takes a second). "error" is the progressive error. "loss"
  is the progressive hinge loss: vw clips its scores to the range of the labels, [-1, 1], so its loss is at most 2 a row, while
  hinge's first rows, judged by steps of size 1/lambda, may cost thousands; "2nd half" is hinge's loss over about the last
  half of the rows, where that no longer matters.

memory: rows of 10 nonzeros of 1,000 columns, 3 classes, piped in; VmHWM as /proc says when so many rows were written.
"""
import argparse
import json
import multiprocessing
import os
import re
import subprocess
import tempfile
import time

from peers import HINGE


def on(cpu):
    return lambda: os.sched_setaffinity(0, {cpu})


TUNED = ["stream", "--lambda", "1e-4", "--t0", "10000"]


class Cpus:
    def __init__(self, cpu):
        others = os.sched_getaffinity(0) - {cpu}
        self.main, self.other = cpu, min(others, default=cpu)


def piped(path, cpus, arguments, cat_cpu):
    """Seconds of `cat path | hinge ...`, and what it printed."""
    start = time.perf_counter()
    cat = subprocess.Popen(["cat", path], stdout=subprocess.PIPE, preexec_fn=on(cat_cpu))
    done = subprocess.run([HINGE, *arguments], stdin=cat.stdout, stdout=subprocess.PIPE, check=True, text=True,
                          preexec_fn=on(cpus.main))
    seconds = time.perf_counter() - start
    cat.stdout.close()
    cat.wait()
    return seconds, done.stdout


def last_figures(out):
    return [json.loads(line) for line in out.splitlines()]


def vw_rows(path, folder):
    """The rows as vw's text, labels as +1 and -1; and how many columns there are."""
    labels, columns, out = set(), 0, f"{folder}/{os.path.basename(path)}.vw"
    with open(path) as file:
        for line in file:
            labels.add(int(float(line.split(None, 1)[0])))
            columns = max(columns, int(line.rsplit(None, 1)[-1].split(":")[0]) if ":" in line else 0)
    larger = max(labels)
    with open(path) as file, open(out, "w") as text:
        for line in file:
            label, _, rest = line.partition(" ")
            text.write(f"{1 if int(float(label)) == larger else -1} | {rest}")
    return out, columns


def vw_once(text, columns, cpu, binary, answer):
    os.sched_setaffinity(0, {cpu})
    import vowpalwabbit
    start = time.perf_counter()
    trained = vowpalwabbit.Workspace(f"--loss_function hinge --noconstant -b {columns.bit_length()} -d {text} --no_stdin "
                                     f"{'--binary' if binary else ''}", quiet=True)
    seconds = time.perf_counter() - start
    answer.put((seconds, trained.get_sum_loss()))
    trained.finish()


def vw(text, columns, cpu, binary=False):
    """(seconds, sum of the losses) of one pass, in a process of its own."""
    context = multiprocessing.get_context("spawn")
    answer = context.Queue()
    process = context.Process(target=vw_once, args=(text, columns, cpu, binary, answer))
    process.start()
    result = answer.get()
    process.join()
    return result


def speed(arguments):
    cpus = Cpus(arguments.cpu)
    quality = []
    print(f"{'set':8} {'MB':>5} {'rows':>7} | MB/s: {'reader':>7} {'pipe':>6} {'stream':>7} {'and model':>9} {'one CPU':>7} | "
          f"{'share':>6} {'pipe':>6} | {'rows/s':>9}")
    for path in arguments.file:
        name = os.path.basename(path).split("-")[0]
        megabytes = os.path.getsize(path) / 1e6
        with open(path, "rb") as file:
            rows = sum(1 for _ in file)
        with tempfile.TemporaryDirectory() as folder:
            stream = ["stream", "--lambda", repr(1 / rows), "--json"]
            best, figures = {}, []

            def keep(what, seconds):
                best[what] = min(best.get(what, seconds), seconds)

            text, columns = vw_rows(path, folder)
            with_vw = has_vw()
            for _ in range(arguments.repeat):
                out = subprocess.run([HINGE, "info", path, "-n", "1", "--json"], stdout=subprocess.PIPE, check=True,
                                     preexec_fn=on(cpus.main)).stdout
                keep("reader", json.loads(out)["seconds"]["load"])
                seconds, out = piped(path, cpus, stream, cpus.other)
                keep("stream", seconds)
                figures = last_figures(out)
                _, out = piped(path, cpus, ["info", "-", "-n", "1", "--json"], cpus.other)
                keep("pipe", json.loads(out)["seconds"]["load"])
                keep("model", piped(path, cpus, [*stream, f"{folder}/model"], cpus.other)[0])
                keep("one", piped(path, cpus, stream, cpus.main)[0])
                if with_vw:
                    seconds, loss = vw(text, columns, cpus.main)
                    keep("vw", seconds)
            tuned = last_figures(piped(path, cpus, [*TUNED, "--json"], cpus.other)[1])[-1]
            errors = vw(text, columns, cpus.main, binary=True)[1] if with_vw else 0
        rate = {what: megabytes / seconds for what, seconds in best.items()}
        print(f"{name:8} {megabytes:5.1f} {rows:7} |       {rate['reader']:7.0f} {rate['pipe']:6.0f} {rate['stream']:7.0f} "
              f"{rate['model']:9.0f} {rate['one']:7.0f} | {rate['stream'] / rate['reader']:6.2f} "
              f"{rate['stream'] / rate['pipe']:6.2f} | {rows / best['stream']:9.0f}", flush=True)
        if with_vw:
            half = [f for f in figures if f["rows"] > rows / 2]
            since = sum(f["loss_since"] * n for f, n in zip(half, spans(figures)[-len(half):])) / sum(
                spans(figures)[-len(half):])
            quality.append((name, rows / best["stream"], rows / best["vw"], figures[-1], since, tuned, loss / rows,
                            errors / rows))
    if quality:
        print(f"\n{'set':8} | {'hinge rows/s':>12} {'loss':>9} {'2nd half':>8} {'error':>7} {'tuned: loss':>11} {'error':>7} | {'vw rows/s':>9} {'loss':>8} "
              f"{'error':>7} | {'rows/s: hinge/vw':>16}")
    for name, ours, theirs, last, since, tuned, loss, error in quality:
        print(f"{name:8} | {ours:12.0f} {last['loss']:9.4f} {since:8.4f} {last['error']:7.4f} {tuned['loss']:11.4f} "
              f"{tuned['error']:7.4f} | {theirs:9.0f} {loss:8.4f} "
              f"{error:7.4f} | {ours / theirs:16.1f}")


def spans(figures):
    """How many rows each line of figures speaks of."""
    counts = [f["rows"] for f in figures]
    return [b - a for a, b in zip([0, *counts], counts)]


def has_vw():
    try:
        import vowpalwabbit  # noqa: F401
        return True
    except ImportError:
        print("vowpalwabbit is not installed; skipped")
        return False


def memory(arguments):
    import random
    draw = random.Random(1)
    block_rows = 10_000
    block = "".join(f"{draw.randrange(3)} " + " ".join(f"{j}:{draw.random():.4f}"
                    for j in sorted(draw.sample(range(1, 1001), 10))) + "\n" for _ in range(block_rows)).encode()
    blocks = arguments.rows // block_rows
    process = subprocess.Popen([HINGE, "stream", "--lambda", "1e-6", "-q"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    start = time.perf_counter()
    for k in range(1, blocks + 1):
        process.stdin.write(block)
        if k in (blocks // 100, blocks // 10, blocks):
            process.stdin.flush()
            with open(f"/proc/{process.pid}/status") as status:
                peak = int(re.search(r"VmHWM:\s*(\d+)", status.read())[1])
            print(f"{k * block_rows:10} rows: VmHWM {peak} KB", flush=True)
    process.stdin.close()
    assert process.wait() == 0
    seconds = time.perf_counter() - start
    print(f"{seconds:.1f} s, {blocks * len(block) / 1e6 / seconds:.0f} MB/s, {blocks * block_rows / seconds:.0f} rows/s")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("speed")
    command.add_argument("file", nargs="+")
    command.add_argument("--repeat", type=int, default=7)
    command.add_argument("--cpu", type=int, default=max(os.sched_getaffinity(0)))
    command.set_defaults(run=speed)
    command = commands.add_parser("memory")
    command.add_argument("--rows", type=int, default=10_000_000)
    command.set_defaults(run=memory)
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
