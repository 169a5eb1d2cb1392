#!/usr/bin/env python3
"""hinge beside its peers, on the same files, in one run, interleaved, best of --repeat.

    python3 bench/peers.py read FILE              reading text, seconds and MB/s
    python3 bench/peers.py formats FILE           the same rows compressed and binary; beside gzip, xz, ... alone
    python3 bench/peers.py train FILE... [--gap]  file to model, seconds; C = 1, no bias

Peers are the programs liblinear-train and svmocas (packages liblinear-tools, libocas-tools) and, for
reading, scikit-learn if Python has it. LIBLINEAR prints no load time: its reading is a run stopped
after one pass. How good a peer's model is, is judged by the primal value computed here from its weights.
"""
import argparse
import json
import lzma
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

HINGE = os.environ.get("HINGE", "build/hinge")


def timed(command):
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return time.perf_counter() - start, done.stdout


def unpack(name, part, path, folder):
    """The set's train or test rows of `folder`, plain or .xz, as plain text at `path`; False where there are none."""
    plain = f"{folder}/{name}-{part}.svm"
    if os.path.exists(plain):
        os.symlink(os.path.abspath(plain), path)
    elif os.path.exists(f"{plain}.xz"):
        with lzma.open(f"{plain}.xz") as packed, open(path, "wb") as out:
            shutil.copyfileobj(packed, out)
    else:
        return False
    return True


def hinge_read(path, threads):
    _, out = timed([HINGE, "info", "-n", str(threads), "--json", path])
    return json.loads(out)["seconds"]["load"]


def liblinear_read(path, folder):
    seconds, _ = timed(["liblinear-train", "-s", "3", "-c", "1e-9", "-e", "1e9", "-q", path, f"{folder}/m"])
    return seconds


def libocas_read(path, folder):
    _, out = timed(["svmocas", "-c", "1e-9", "-t", "0.001", path, f"{folder}/m"])
    return float(re.search(r"load_time\s*:\s*([0-9.]+)", out).group(1))


def sklearn_read(path):
    code = ("import sys, time; from sklearn.datasets import load_svmlight_file; t = time.perf_counter(); "
            "load_svmlight_file(sys.argv[1]); print(time.perf_counter() - t)")
    return float(timed([sys.executable, "-c", code, path])[1])


def best_of(runs, repeat, in_a_row=1):
    """{name: function} -> {name: smallest result}, all of them run in turn `repeat` times.

    A virtual machine hands unused memory back to its host, and getting it again can take longer than
    reading a file: `in_a_row` runs of each program let it find memory as it left it itself.
    """
    best = {}
    for _ in range(repeat):
        for name, run in runs.items():
            for _ in range(in_a_row):
                best[name] = min(best.get(name, float("inf")), run())
    return best


def read(arguments):
    size = os.path.getsize(arguments.file[0]) / 1e6
    with tempfile.TemporaryDirectory() as folder:
        path = arguments.file[0]
        runs = {"hinge, 1 thread": lambda: hinge_read(path, 1), "hinge, 2 threads": lambda: hinge_read(path, 2)}
        if shutil.which("svmocas"):
            runs["libocas"] = lambda: libocas_read(path, folder)
        if shutil.which("liblinear-train"):
            runs["LIBLINEAR (and one pass)"] = lambda: liblinear_read(path, folder)
        if subprocess.run([sys.executable, "-c", "import sklearn"], capture_output=True).returncode == 0:
            runs["scikit-learn"] = lambda: sklearn_read(path)
        best = best_of(runs, arguments.repeat, in_a_row=2)
    for name, seconds in best.items():
        print(f"{name:26} {seconds:8.3f} s {size / seconds:8.0f} MB/s   "
              f"{seconds / best['hinge, 1 thread']:6.1f} x / {seconds / best['hinge, 2 threads']:6.1f} x "
              "of hinge on 1 / 2 threads")


TOOLS = {"gz": ["gzip", "-6"], "bz2": ["bzip2"], "xz": ["xz", "-1"], "zst": ["zstd", "-q", "-3"]}


def formats(arguments):
    """Reading what is compressed, beside decompressing it with the tool alone; mapping a binary data set."""
    path = arguments.file[0]
    with tempfile.TemporaryDirectory() as folder:
        runs = {"text": lambda: hinge_read(path, 2), "text, 1 thread": lambda: hinge_read(path, 1)}
        binary = f"{folder}/data.hinge"
        subprocess.run([HINGE, "convert", path, binary, "-q"], check=True)
        runs["binary"] = lambda: hinge_read(binary, 2)
        runs["binary, 1 thread"] = lambda: hinge_read(binary, 1)
        for suffix, tool in TOOLS.items():
            if not shutil.which(tool[0]):
                print(f"{tool[0]} is not installed; skipped")
                continue
            packed = f"{folder}/data.{suffix}"
            with open(packed, "wb") as out:
                subprocess.run([*tool, "-c", path], stdout=out, check=True)
            runs[suffix] = lambda packed=packed: hinge_read(packed, 2)
            runs[f"{suffix}, 1 thread"] = lambda packed=packed: hinge_read(packed, 1)
            runs[f"{suffix}, {tool[0]} -dc alone"] = lambda packed=packed, tool=tool: decompress(tool[0], packed)
        best = best_of(runs, arguments.repeat, in_a_row=2)
    for name, seconds in best.items():
        beside = next((best[k] for k in best if k.startswith(name.split(",")[0]) and k.endswith("alone")), best["text"])
        print(f"{name:24} {seconds:8.3f} s   {seconds / beside:6.2f} x of "
              f"{'the tool alone' if beside is not best['text'] else 'text on 2 threads'}")


def decompress(tool, path):
    start = time.perf_counter()
    subprocess.run([tool, "-dc", path], stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - start


def liblinear_primal(path, model_path, cost=1):
    """P(w) of a binary LIBLINEAR model without bias, from the text itself."""
    with open(model_path) as model:
        lines = model.read().split("\n")
    head = lines.index("w")
    labels = [line.split()[1:] for line in lines[:head] if line.startswith("label")][0]
    weights = [float(x) for x in lines[head + 1:] if x.strip()]
    loss = 0.0
    with open(path) as rows:
        for row in rows:
            parts = row.split()
            score = sum(weights[int(i) - 1] * float(v) for i, v in (p.split(":") for p in parts[1:])
                        if int(i) <= len(weights))
            y = 1 if int(float(parts[0])) == int(labels[0]) else -1
            loss += max(0.0, 1 - y * score)
    return sum(w * w for w in weights) / 2 + cost * loss


def train(arguments):
    print(f"{'set':10} {'hinge s':>8} {'LIBLINEAR s':>12} {'ratio':>6}  hinge P, gap; LIBLINEAR P above hinge's bound")
    for path in arguments.file:
        with tempfile.TemporaryDirectory() as folder:
            def ours():
                seconds, out = timed([HINGE, "train", path, f"{folder}/h", "--gap", arguments.gap, "--json", "-q"])
                ours.result = json.loads(out)
                return seconds

            def theirs():
                try:
                    return timed(["liblinear-train", "-s", "3", "-c", "1", "-e", arguments.tolerance, "-q", path,
                                  f"{folder}/l"])[0]
                except subprocess.CalledProcessError:
                    return float("inf")  # it refuses some files, such as those with rows without features

            best = best_of({"hinge": ours, "liblinear": theirs}, arguments.repeat)
            result = ours.result
            excess = "several classes"
            if best["liblinear"] == float("inf"):
                excess = "refused by LIBLINEAR"
            elif len(result["classes"]) == 2:
                primal = liblinear_primal(path, f"{folder}/l")
                excess = f"{(primal - result['dual']) / primal:.1e}"
            print(f"{os.path.basename(path).split('-')[0]:10} {best['hinge']:8.3f} {best['liblinear']:12.3f} "
                  f"{best['liblinear'] / best['hinge']:6.1f}  {result['primal']:.6f}, "
                  f"{result['relative_gap']:.1e}; {excess}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["read", "formats", "train"])
    parser.add_argument("file", nargs="+")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--gap", default="1e-5", help="hinge's --gap (default 1e-5)")
    parser.add_argument("--tolerance", default="0.1", help="LIBLINEAR's -e (default 0.1, its own)")
    arguments = parser.parse_args()
    {"read": read, "formats": formats, "train": train}[arguments.what](arguments)


if __name__ == "__main__":
    main()
