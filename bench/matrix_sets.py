"""The data sets of the matrix as text and as hinge's binary form, and P(w) of anybody's weights on them.

Weights are arrays of hyperplanes x features: one hyperplane for the larger of two labels, or one for each of several
labels in ascending order (one-vs-rest). P is 1/2|w|^2 + C sum of the losses (LOSSES) of each hyperplane, in double. It takes
the values from the binary set, so that everybody is judged on the very numbers that hinge's bound is about.
"""
import json
import os
import struct
import subprocess
from dataclasses import dataclass

import numpy as np

from peers import HINGE, timed, unpack

REAL = ("covtype", "ccat", "imdb", "news20", "a9a", "w8a", "digits")
GENERATED = {  # what `hinge generate` is told
    "like-ccat": ("--like", "ccat"),
    "like-cov1": ("--like", "cov1"),
    "like-real-sim": ("--like", "real-sim"),
    "like-news20": ("--like", "news20"),
    "dense-200": ("--like", "dense", "--rows", "200000", "--features", "200"),
    "dense-768": ("--like", "dense", "--rows", "50000", "--features", "768"),
}
SMALL = {  # of the quick run and the self-test
    "cov1-small": ("--like", "cov1", "--rows", "100000"),
    "dense-small": ("--like", "dense", "--rows", "20000", "--features", "200"),
    "tiny": ("--like", "ccat", "--rows", "300", "--features", "1000"),
}
ALL = (*REAL, *GENERATED)


def tensors(path):
    """The arrays of a safetensors file, mapped."""
    kinds = {"I64": "<i8", "U64": "<u8", "U32": "<u4", "F32": "<f4", "F64": "<f8"}
    with open(path, "rb") as file:
        size = struct.unpack("<Q", file.read(8))[0]
        header = json.loads(file.read(size))
    found = {}
    for name, about in header.items():
        if name != "__metadata__":
            found[name] = np.memmap(path, kinds[about["dtype"]], "r", 8 + size + about["data_offsets"][0],
                                    tuple(about["shape"]))
    return found, header["__metadata__"]


def insensitive(off, epsilon):
    return np.maximum(0, np.abs(off) - epsilon)


# Of a margin y <w,x>, or of regression of <w,x> - y; and epsilon.
LOSSES = {
    "hinge": lambda z, _: np.maximum(0, 1 - z),
    "squared_hinge": lambda z, _: np.maximum(0, 1 - z) ** 2,
    "logistic": lambda z, _: np.logaddexp(0, -z),
    "epsilon_insensitive": insensitive,
    "squared_epsilon": lambda off, epsilon: insensitive(off, epsilon) ** 2,
}
REGRESSION = ("epsilon_insensitive", "squared_epsilon")


class Rows:
    """The rows of a binary data set, mapped."""

    CHUNK = 1 << 22  # nonzeros looked at together
    loss, epsilon = "hinge", 0.1

    def __init__(self, path):
        arrays, about = tensors(path)
        self.values, self.columns = arrays["values"], arrays["columns"]
        self.offsets = np.asarray(arrays["offsets"]).astype(np.int64)
        self.labels = np.asarray(arrays["targets" if "targets" in arrays else "labels"])
        self.features = int(about["features"])
        if "targets" in arrays:
            self.signs = [self.labels]
            return
        classes = np.unique(self.labels)
        self.signs = [np.where(self.labels == one, 1.0, -1.0) for one in (classes[1:] if len(classes) == 2 else classes)]

    def scores(self, w):
        out = np.zeros(len(self.labels))
        begin = 0
        while begin < len(out):
            end = int(np.searchsorted(self.offsets, self.offsets[begin] + self.CHUNK, "right")) - 1
            end = min(max(end, begin + 1), len(out))
            low, high = self.offsets[begin], self.offsets[end]
            weights = w[self.columns[low:high]] if len(self.columns) == len(self.values) else np.tile(w, end - begin)
            products = self.values[low:high].astype(np.float64) * weights
            starts = self.offsets[begin:end] - low
            filled = self.offsets[begin + 1:end + 1] > self.offsets[begin:end]  # reduceat knows no empty sums
            if filled.any():
                out[begin:end][filled] = np.add.reduceat(products, starts[filled])
            begin = end
        return out

    def primal(self, weights, cost):
        """[P of each hyperplane]"""
        weights = np.atleast_2d(weights)
        assert len(weights) == len(self.signs), f"{len(weights)} hyperplanes, {len(self.signs)} expected"
        values = []
        for w, y in zip(weights, self.signs):
            whole = np.zeros(self.features)
            whole[:len(w)] = w[:self.features]
            scores = self.scores(whole)
            at = scores - y if self.loss in REGRESSION else y * scores
            values.append(float(whole @ whole / 2 + cost * LOSSES[self.loss](at, self.epsilon).sum()))
        return values


def liblinear_weights(path):
    """The hyperplanes of a LIBLINEAR model without bias."""
    with open(path) as file:
        head = {}
        for line in file:
            words = line.split()
            if words[0] == "w":
                break
            head[words[0]] = words[1:]
        numbers = np.array(file.read().split(), dtype=np.float64)
    if "label" not in head:  # of regression
        return numbers[None, :]
    labels = [int(label) for label in head["label"]]
    if len(labels) == 2:
        return numbers[None, :] * (1 if labels[0] > labels[1] else -1)
    return numbers.reshape(-1, len(labels)).T[np.argsort(labels)]


@dataclass
class Set:
    name: str
    text: str
    binary: str
    about: dict  # what the results say of it

    def __post_init__(self):
        self.data = Rows(self.binary)


def without_blank_lines(path):
    """w8a ends in one, which hinge passes over and LIBLINEAR and libocas refuse."""
    with open(path, "rb") as file:
        rows = file.readlines()
    if any(not row.strip() for row in rows):
        os.remove(path)  # it may be a link
        with open(path, "wb") as file:
            file.writelines(row for row in rows if row.strip())


def prepare(name, shared, work):
    """-> Set, made if it is not there yet; None where it is one of the shared sets and they are not there."""
    os.makedirs(work, exist_ok=True)
    text, binary = f"{work}/{name}.svm", f"{work}/{name}.hinge"
    if not os.path.exists(text):
        if name in REAL:
            if not unpack(name, "train", f"{text}.part", shared):
                print(f"{name}: no {name}-train.svm[.xz] in {shared}; left out", flush=True)
                return None
            without_blank_lines(f"{text}.part")
        else:
            print(f"{name}: generating", flush=True)
            options = {**GENERATED, **SMALL}[name]
            subprocess.run([HINGE, "generate", f"{text}.part", *options, "-q"], check=True)
        os.rename(f"{text}.part", text)
    if not os.path.exists(binary):
        subprocess.run([HINGE, "convert", text, binary, "-q"], check=True)
    info = json.loads(timed([HINGE, "info", "--json", binary])[1])
    about = {"rows": info["rows"], "features": info["features"], "nonzeros": info["nonzeros"],
             "classes": info["classes"],
             "text_bytes": os.path.getsize(text), "binary_bytes": os.path.getsize(binary),
             "real": name in REAL}
    return Set(name, text, binary, about)
