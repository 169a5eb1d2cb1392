#!/usr/bin/env python3
"""Writes the seeds of the fuzz targets: the odd cases of our own tests, and small files made with the program.

    HINGE=build/hinge fuzz/make_seeds.py     adds what is missing to fuzz/corpus/TARGET

Files are named by the SHA-1 of their content, as libFuzzer names what it finds, so running it again changes nothing.
"""

import array
import bz2
import gzip
import hashlib
import json
import lzma
import os
import random
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
MOST = 2000  # bytes of a seed: small ones are tried more often
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE.parent / "tests" / "cli"))
import catalogue_test as tables  # noqa: E402  (needs the path; and HINGE, as we do)
import labels_test as labels  # noqa: E402


def add(target, content):
    if len(content) > MOST:
        return
    folder = HERE / "corpus" / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / hashlib.sha1(content).hexdigest()).write_bytes(content)


# ---- Text: the first byte says how to read it, see text_input.h.

F64, BASE_0, BASE_1, STRICT, NO_LABELS, CUT = 1, 2, 4, 8, 16, 7 << 5


def add_text(text, mode):
    content = bytes([mode]) + tables.encoded(text)
    add("text_reader", content)
    if mode & CUT == 0:
        add("text_naive", content)


def halfway(number):
    bits = struct.unpack("<I", struct.pack("<f", number))[0]
    low, high = struct.unpack("<2f", struct.pack("<2I", bits, bits + 1))
    return (low + high) / 2


def text_seeds():
    bad = tables.BAD_TEXT + tables.BAD_LABELS + tables.BAD_VALUES + tables.BAD_INDICES
    for row in bad + tables.ODD_DATA:
        mode = F64 if "f64" in row.options else 0
        mode |= BASE_1 if "--index-base 1" in row.options else 0
        mode |= STRICT if "--strict" in row.options else 0
        add_text(row.data, mode)
    add_text("".join(f"{text} 1:1\n" for _, text, _ in tables.LABELS), 0)
    for precision, mode in (("f32", 0), ("f64", F64)):
        for _, wanted, text, _ in tables.VALUES:
            if wanted == precision:
                add_text(f"1 1:{text} 2:1\n", mode)
    rng = random.Random(2)
    for places in (9, 14, 15, 16, 17, 25):  # beside the middle between two floats
        middles = (halfway(rng.uniform(0.1, 0.9)) for _ in range(12))
        add_text("".join(f"1 1:{middle:.{places}f}\n" for middle in middles), 0)
    rows = "1 1:0.5 3:-2\n-1 2:1e-3 4:.25 # note\n+1 qid:3 1:12345678 7:0.123456789\r\n\n0 5:0\n"
    for mode in (0, F64, BASE_0, BASE_1, STRICT, CUT, CUT | F64, CUT | BASE_0):
        add_text(rows, mode)
        add_text("\ufeff" + rows + "2 0:1 4294967294:7", mode)
    for mode in (NO_LABELS, NO_LABELS | F64 | BASE_0, NO_LABELS | CUT):
        add_text("1:0.5 3:-2\n2:1\n\n4:3 2:1\n", mode)


def compressed_seeds():
    for text in (b"1 1:0.5 3:-2\n-1 2:1e-3\n", b"1 1:x\n", b"1 1:1\n-1 1:2\n" * 40):
        for compress in (gzip_of, bz2.compress, lzma.compress, zstd_of):
            content = compress(text)
            for packed in (content, content + content, content[:-1], content + b"x"):
                add("compressed", packed)


def gzip_of(text):
    return gzip.compress(text, mtime=0)


def zstd_of(text):
    return subprocess.run(["zstd", "-qc"], input=text, stdout=subprocess.PIPE, check=True).stdout


def weight_seeds():
    good = ("1\n0\n0.5", "1\r\n2\r\n", " 1e-3\t\n\n3.", "-0\n.5\n", "1e-400\n5e-324\n")
    bad = ("-1", "nan", "inf", "1e400", "+1", "1 2", "x", "1,5", "0x1", "\r5\n", "1\r2", "1\r\r\n", "#", "\0")
    for text in (*good, *bad, *("3\n" + x for x in bad)):
        rows = len(text.split())
        add("weights", bytes([rows - 1 if rows else 0]) + text.encode())


# ---- Models and containers.


def checkpoint_seeds():
    """States of every solver on the rows of checkpoint_fuzz.cc, after the byte that chooses it there."""
    lines = ["1 1:1 2:-2", "2 2:0.5 3:1", "1 1:-1", "2 1:2 3:1", "1 2:1", "3 1:-0.5 2:1", "3 2:1 3:-1"]
    planes = "--planes 4"
    choices = ["-s dual", "-s pegasos --epochs 3", *(f"-s {s} {planes}" for s in "cpa ocas ocas3 active focus".split()),
               "-s pegasos --epochs 3 --kernel rbf --gamma 0.5 --budget 3"]
    with tempfile.TemporaryDirectory() as folder:
        data, model, state = (Path(folder, name) for name in ("d", "m", "c"))
        for many in (0, 8):
            data.write_text("\n".join(lines[: 7 if many else 5]) + "\n")
            for number, choice in enumerate(choices):
                for path in (state, Path(f"{state}.previous")):
                    path.unlink(missing_ok=True)
                subprocess.run([os.environ["HINGE"], "train", data, model, "-q", "-n", "1", "--precision", "f64",
                                *choice.split(), "--checkpoint", state, "--every", "1e-9"], check=True)
                for path in (state, Path(f"{state}.previous")):
                    if path.exists():
                        add("checkpoint", bytes([many + number]) + path.read_bytes())


def model_seeds():
    two = "1 1:1 2:0.5\n-1 1:-1 2:2\n1 1:0.25 3:1\n-1 2:1 3:-1\n1 1:0.1\n"
    three = "0 1:1\n1 2:1\n2 3:1\n0 1:2 3:0.1\n1 2:2 1:0.1\n2 3:3\n"
    wide = "1 1:1 60:2\n-1 2:1 900:1\n"
    cases = [
        (two, []), (two, ["--no-witness"]), (two, ["--cost", "0.1,1"]), (two, ["--bias", "1", "--cost", "0.1"]),
        (two, ["--class-weight", "1=2.5", "--class-weight", "-1=0.5"]), (two, ["--precision", "f64", "--seed", "7"]),
        (three, []), (three, ["--reject", "--no-witness"]), (three, ["--bias", "2", "--max-passes", "1"]),
        (wide, []), (wide, ["--index-base", "0", "--no-witness"]), ("1\n-1\n", []),
        (two, ["--kernel", "rbf"]), (three, ["--kernel", "poly", "--coef0", "1", "--bias", "1"]),
        (two, ["--kernel", "sigmoid", "--precision", "f64", "--budget", "2"]), (wide, ["--kernel", "rbf"]),
    ]
    with tempfile.TemporaryDirectory() as folder:
        data, model = Path(folder, "d"), Path(folder, "m")
        for text, options in cases:
            data.write_text(text)
            subprocess.run([os.environ["HINGE"], "train", data, model, "-q", *options], check=True)
            add("model", model.read_bytes())
            add("container", model.read_bytes())
            if not {"0", "--reject", "--kernel"} & set(options) and ":" in text:  # what LIBLINEAR can say
                subprocess.run([os.environ["HINGE"], "train", data, model, "-q", *options, "--model-format", "liblinear"],
                               check=True)
                add("liblinear", model.read_bytes())


def stream_seeds():
    two = "1 1:1 2:0.5\n-1 1:-1 2:2\n1 1:0.25 3:1\n"
    three = "5 1:1\n1 2:1\n9 3:1\n5 0:2 3:0.1\n"
    cases = [(two, []), (two, ["--labels", "1,-1", "--bias", "1"]), (three, ["--reject", "--class-weight", "7=2"]),
             (three, ["--labels", "1,5,9", "--t0", "3", "--precision", "f64"]), ("4 1:1\n", []),
             ("1 7:1 4000000000:1\n2 1:1\n", ["--index-base", "0"])]
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder, "m")
        for text, options in cases:
            subprocess.run([os.environ["HINGE"], "stream", "--lambda", "0.1", model, *options], input=text.encode(),
                           stdout=subprocess.DEVNULL, check=True)
            add("model", model.read_bytes())
            add("container", model.read_bytes())


def dataset_seeds():
    texts = ["1 1:1 2:0.5\n-1 1:-1 2:2\n3\n", "1 0:1\n-1 4294967293:1\n", "0\n1\n"]
    with tempfile.TemporaryDirectory() as folder:
        text, weights, data = Path(folder, "d"), Path(folder, "w"), Path(folder, "d.hinge")
        for content in texts:
            text.write_text(content)
            weights.write_text("0.5\n" * content.count("\n"))
            for options in ([], ["--precision", "f64"], ["--weights", weights]):
                subprocess.run([os.environ["HINGE"], "convert", text, data, "-q", *options], check=True)
                add("dataset", data.read_bytes())
                add("container", data.read_bytes())


def label_seeds():
    """Data sets with names or real targets, models of such classes, and models with sections."""
    names = labels.data_set(labels.ROWS, labels.NAMES)
    for content in (names, labels.data_set([(k / 4, x) for k, (_, x) in enumerate(labels.ROWS)])):
        add("dataset", content)
        add("container", content)
    with tempfile.TemporaryDirectory() as folder:
        data, model = Path(folder, "d"), Path(folder, "m")
        data.write_bytes(labels.data_set(labels.ROWS[:4], labels.NAMES))  # two of the three classes
        for options in ([], ["--cost", "0.1,1"], ["--kernel", "rbf"]):
            subprocess.run([os.environ["HINGE"], "train", data, model, "-q", "--no-witness", *options], check=True)
            add("model", model.read_bytes())
            file = labels.Container(model)
            marks = json.loads(file.metadata["sections"])
            file.metadata["section.lanes"] = '{"count":2}'
            file.arrays["section.lanes.ends"], file.types["section.lanes.ends"] = array.array("B", [1, 2]), "U8"
            for affects in (False, True):
                file.metadata["sections"] = json.dumps([*marks, {"name": "lanes", "affects_predictions": affects}])
                add("model", file.to_bytes())


# ---- Options: lines of `name value`.


def option_seeds():
    numbers = "0 1 -1 0.5 1e-3 100 1e150 1e151 1e300 1e301 1e309 5e-324 1e-400 nan inf -inf 0x1 +1 1x".split()
    values = {
        "cost": [*numbers, "1,10", "10,1,0.1", "1,1", "1,", ",1", "1,x"],
        "path": ["1e-3:1e3:20", "1:2:2", "1:2:1000", "2:1:3", "1:1:2", "0:1:3", "1:2:1", "1:2:1001", "1:2", "1:2:3:4", ""],
        "lambda": numbers, "gap": numbers, "tolerance": numbers, "time-limit": numbers,
        "bias": ["none", *numbers], "loss": ["hinge", "squared_hinge", "squared"],
        "solver": [*"auto dual pegasos cpa ocas ocas3 active focus 3 duel".split(), *map(str, range(22))],
        "class-weight": ["balanced", "1=2", "+1=0.5", "-1=1e-300", "1=0", "1=nan", "1", "=", "a=1", "1=1=1"],
        "threads": ["0", "4096", "4097", "-1", "2.5", "99999999999"],
        "max-passes": ["0", "1", "18446744073709551615", "18446744073709551616", "-1"],
        "seed": ["0", "18446744073709551615", "18446744073709551616", "x"],
        "cpu": ["auto", "scalar", "avx2", "avx512", "avx", "AVX2", ""],
        "max-classes": ["2", "1", "0", "100000", "x"], "memory": ["1", "2G", "1T", "17000000T", "0", "1.5G", "G", ""],
        "epochs": ["1", "0", "18446744073709551615"], "steps": ["1", "0"], "batch": ["1", "all", "0", "x"],
        "sampling": ["permute", "replace", "order", "permut"], "t0": ["0", "9007199254740992", "9007199254740993"],
        "iterate": ["last", "average", "suffix", "random", "best-of:3", "best-of:0", "best-of:", "best"],
        "delta": ["0.05", "1", "5e-324", *numbers], "update": ["mistake", "margin", "mistakes"],
        "projection": ["on", "off", "of"], "rescale": ["on", "off"], "check-every": ["1", "0"],
        "kernel": ["rbf", "poly", "sigmoid", "linear", "gauss"], "gamma": numbers, "coef0": numbers,
        "degree": ["1", "3", "100", "0", "101"], "budget": ["1", "0"],
        "planes": ["2", "1", "10000", "10001", "-2", "x"], "mu": numbers,
        "reject": [""], "no-witness": [""], "there-is-none": ["1"],
    }
    for name, words in values.items():
        for word in words:
            add("options", f"{name} {word}".encode())
    add("options", "\n".join(f"{name} {words[0]}" for name, words in values.items()).encode())


# ---- Kernels: a dense vector, a factor, and gaps and values of a row.


def kernel_seeds():
    rng = random.Random(1)
    special = [0.0, -0.0, 1.0, 5e-324, 1e-310, 1e308, -1e308, 1e-40, 3.4e38, 0.1]
    for features in (1, 2, 7, 8, 9, 16, 17, 31, 63):
        for kind in ("d", "f"):
            numbers = [rng.choice(special) if rng.random() < 0.3 else rng.uniform(-1, 1) for _ in range(features + 1)]
            content = bytes([features - 1]) + struct.pack(f"<{features + 1}d", *numbers)
            for _ in range(features):
                value = rng.uniform(-1, 1) if kind == "f" else rng.choice([*special, rng.uniform(-1, 1)])
                content += bytes([rng.choice([0, 0, 0, 1])]) + struct.pack("<" + kind, value)
            add("kernels", content)


def main():
    text_seeds()
    compressed_seeds()
    weight_seeds()
    model_seeds()
    checkpoint_seeds()
    stream_seeds()
    dataset_seeds()
    label_seeds()
    option_seeds()
    kernel_seeds()
    for folder in sorted((HERE / "corpus").iterdir()):
        files = list(folder.iterdir())
        print(f"{folder.name}: {len(files)} files, {sum(f.stat().st_size for f in files)} bytes")


if __name__ == "__main__":
    main()
