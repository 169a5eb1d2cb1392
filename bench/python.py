#!/usr/bin/env python3
"""The Python package beside scikit-learn, on the same arrays in memory, as Markdown.

    make python && build/python/venv/bin/python bench/python.py [--sets covtype,ccat] [--repeat 3] [--data FOLDER]

Fits have the same C and no intercept; hinge proves a gap of 1e-3, on one thread and on all cores. scikit-learn's
LinearSVC(loss="hinge"), which has no threads, gets the loosest tol of a list at which its objective is no worse than hinge's,
SGDClassifier the fewest epochs; objectives are computed here, in double. Which tol does depends on the random order of rows, so
hinge and LinearSVC are run with several random states, each against the other's same: seconds are means over them. Of each
the fastest of --repeat runs counts, all taken in turn. SGDClassifier has one state. Reading is of covtype as plain text,
scores are of the test rows of imdb against scipy's product. Sets that are not in FOLDER (NAME-train.svm[.xz]) are left out. A
ratio is theirs / ours: above 1 hinge is faster.
"""
import argparse
import copy
import glob
import os
import subprocess
import sys
import tempfile
import time
import warnings

import numpy as np
from sklearn.datasets import load_svmlight_file
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import SGDClassifier
from sklearn.svm import LinearSVC

import hinge

from peers import unpack

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SETS = ("covtype", "ccat", "imdb", "news20", "digits", "dense")
TOLERANCES = (3, 2, 1, 0.5, 0.3, 0.2, 0.15, 0.1, 0.07, 0.05, 0.03, 0.02, 0.01, 3e-3, 1e-3, 3e-4, 1e-4, 1e-5, 1e-6)
EPOCHS = (1, 2, 5, 10, 20, 50, 100, 200)
GAP = 1e-3


def best_of(repeat, *calls):
    """The fastest of `repeat` runs of each, taken in turn."""
    seconds = [[] for _ in calls]
    for _ in range(repeat):
        for call, own in zip(calls, seconds):
            start = time.perf_counter()
            call()
            own.append(time.perf_counter() - start)
    return [min(own) for own in seconds]


def primal(coef, X, y, cost):
    classes = np.unique(y)
    total = 0.0
    for w, label in zip(np.atleast_2d(coef), classes[1:] if len(classes) == 2 else classes):
        margins = np.where(y == label, 1.0, -1.0) * (X @ w)
        total += 0.5 * w @ w + cost * np.maximum(0, 1 - margins).sum()
    return total


def load(name, folder, part="train", dtype=np.float64):
    if name == "dense":
        random = np.random.default_rng(1)
        X = random.standard_normal((200_000, 200))
        y = np.where(X @ random.standard_normal(200) + 5 * random.standard_normal(200_000) > 0, 1, -1)
        return X, y
    for path in (f"{folder}/{name}-{part}.svm", f"{folder}/{name}-{part}.svm.xz"):
        if os.path.exists(path):
            return hinge.load_svmlight_file(path, dtype=dtype)
    return None


def first_that_reaches(goal, make, choices, limit, X, y, cost):
    """-> (the estimator with the first choice whose objective is no worse, choice, its objective)"""
    for choice in choices:
        estimator = make(choice)
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            estimator.fit(X, y)
        reached = primal(estimator.coef_, X, y, cost)
        if reached <= goal:
            return estimator, choice, reached
        if time.perf_counter() - start > limit:
            break
    return None, choice, reached


def fits(names, arguments):
    print("\n| set | C | hinge, s | on all cores, s | solver | LinearSVC, s | at tol | ratio | on all cores | each | SGDClassifier, s | epochs | ratio |\n|" +
          "---|" * 13)
    for name in names:
        data = load(name, arguments.data)
        if data is None:
            print(f"| {name} | not in {os.path.basename(arguments.data)} |")
            continue
        X, y = data
        cost = arguments.cost
        alone, shared, theirs, tolerances = [], [], [], []
        for state in range(arguments.states):
            ours = hinge.LinearSVC(C=cost, gap=GAP, fit_intercept=False, random_state=state)
            goal = primal(ours.fit(X, y).coef_, X, y, cost)
            assert ours.certificate_.relative_gap <= GAP
            peer, tolerance, value = first_that_reaches(
                goal, lambda tol: LinearSVC(loss="hinge", C=cost, fit_intercept=False, tol=tol, max_iter=arguments.epochs,
                                            random_state=state), TOLERANCES, arguments.limit, X, y, cost)
            alone.append(ours)
            shared.append(hinge.LinearSVC(C=cost, gap=GAP, fit_intercept=False, random_state=state, n_jobs=-1))
            theirs.append(peer)
            tolerances.append(tolerance)
            if peer is None:
                break  # in its time; another state would take as long
        sgd, epochs, sgd_value = first_that_reaches(
            goal, lambda n: SGDClassifier(loss="hinge", alpha=1 / (cost * len(y)), fit_intercept=False, max_iter=n, tol=None),
            EPOCHS, arguments.limit, X, y, cost)
        running = [estimator for estimator in (*alone, *shared, *theirs, sgd) if estimator is not None]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            seconds = dict(zip(running, best_of(arguments.repeat, *(lambda e=e: e.fit(X, y) for e in running))))

        def mean(estimators):
            return sum(seconds[e] for e in estimators) / len(estimators)
        one, all_cores = mean(alone), mean(shared)
        if None in theirs:
            peer_columns = f"- | {value / goal - 1:+.2%} at {tolerances[-1]:g} | - | - | -"
        else:
            each = [seconds[t] / seconds[h] for t, h in zip(theirs, shared)]
            peer_columns = (f"{mean(theirs):.3f} | {', '.join(f'{t:g}' for t in sorted(set(tolerances)))} | {mean(theirs) / one:.1f} | "
                            f"{mean(theirs) / all_cores:.1f} | {min(each):.1f} to {max(each):.1f}")
        sgd_columns = (f"- | {sgd_value / goal - 1:+.2%} at {epochs:g} | -" if sgd is None
                       else f"{seconds[sgd]:.3f} | {epochs:g} | {seconds[sgd] / one:.1f}")
        print(f"| {name} {X.shape[0]} x {X.shape[1]} | {cost:g} | {one:.3f} | {all_cores:.3f} | {alone[0].model_.origin['solver']} | "
              f"{peer_columns} | {sgd_columns} |", flush=True)


def reading(arguments):
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/covtype.svm"
        if not unpack("covtype", "train", path, arguments.data):
            return
        with open(path, "rb") as file:  # into the cache, for both
            while file.read(1 << 24):
                pass
        ours, alone, theirs = best_of(arguments.repeat, lambda: hinge.load_svmlight_file(path),
                                      lambda: hinge.load_svmlight_file(path, n_jobs=1), lambda: load_svmlight_file(path))
    print(f"\nload_svmlight_file, covtype as text: hinge {ours:.3f} s ({alone:.3f} s on one thread), scikit-learn "
          f"{theirs:.2f} s: {theirs / ours:.1f} times ({theirs / alone:.1f} on one thread)", flush=True)


def scoring(arguments):
    for dtype in (np.float64, np.float32):
        train, test = (load("imdb", arguments.data, part, dtype) for part in ("train", "test"))
        if train is None or test is None:
            return
        X, y = train
        rows = type(X)((test[0].data, test[0].indices, test[0].indptr), shape=(len(test[1]), X.shape[1]))
        for name, labels in (("two classes", y), ("four", y + 2 * (np.arange(len(y)) % 2))):
            svm = hinge.LinearSVC(gap=0.1).fit(X, labels)
            w, b = np.ascontiguousarray(svm.coef_.T).astype(dtype), svm.intercept_
            w, b = (w[:, 0], b[0]) if w.shape[1] == 1 else (w, b)
            all_cores = copy.deepcopy(svm).set_params(n_jobs=-1)
            ours, shared, theirs = best_of(20 * arguments.repeat, lambda: svm.decision_function(rows),
                                           lambda: all_cores.decision_function(rows), lambda: rows @ w + b)
            print(f"decision_function, imdb test, {np.dtype(dtype)}, {name}: hinge {1e3 * ours:.2f} ms, on all cores "
                  f"{1e3 * shared:.2f} ms, scipy's product {1e3 * theirs:.2f} ms: {theirs / ours:.2f} and "
                  f"{theirs / shared:.2f} times", flush=True)


def imports(arguments):
    codes = ["pass", "import numpy", "import hinge", "import hinge; hinge.LinearSVC", "import sklearn.svm"]
    seconds = best_of(3 * arguments.repeat, *(lambda code=code: subprocess.run([sys.executable, "-c", code], check=True)
                                              for code in codes))
    print("\nStarting Python, best of several: " + ", ".join(f"`{code}` {1e3 * s:.0f} ms" for code, s in zip(codes, seconds)))
    for wheel in glob.glob(f"{ROOT}/build/python/wheel/*.whl"):
        print(f"Wheel: {os.path.basename(wheel)}, {os.path.getsize(wheel) / 1e6:.2f} MB")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", default=",".join(SETS), help=f"of {', '.join(SETS)}")
    parser.add_argument("--cost", type=float, default=1.0)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--states", type=int, default=5, help="random states of each fit")
    parser.add_argument("--data", default=f"{ROOT}/../shared/data", help="where NAME-train.svm[.xz] are")
    parser.add_argument("--epochs", type=int, default=10_000, help="most passes of LinearSVC (its max_iter)")
    parser.add_argument("--limit", type=float, default=120, help="seconds after which looser runs of a peer are the last")
    parser.add_argument("--only", default="fit,read,score,import")
    arguments = parser.parse_args()
    import sklearn
    print(f"hinge {hinge.__version__}, scikit-learn {sklearn.__version__}, Python {sys.version.split()[0]}, gap {GAP:g}, "
          f"best of {arguments.repeat}")
    wanted = arguments.only.split(",")
    if "fit" in wanted:
        fits([name for name in arguments.sets.split(",") if name], arguments)
    if "read" in wanted:
        reading(arguments)
    if "score" in wanted:
        scoring(arguments)
    if "import" in wanted:
        imports(arguments)


if __name__ == "__main__":
    main()
