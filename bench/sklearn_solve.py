"""Models of scikit-learn, and snapml's LogisticRegression, without intercept.

    sklearn_solve.py serve BINARY           rows of a binary data set in memory; then lines "COST KNOB WEIGHTS" on stdin
    sklearn_solve.py once TEXT COST KNOB WEIGHTS

A KNOB is tol=T, which means LinearSVC(loss="hinge"), epochs=N, which means SGDClassifier(loss="hinge"), or one of KINDS with
T; of regression with epsilon and T, as in svr=0.1:1e-3. `serve` answers as libsvm_rows.h says;
its seconds are those of fit(). `once` is text to saved weights, by load_svmlight_file() and numpy.save(). LinearSVC's
limit of iterations is lifted; SGDClassifier has alpha = 1/(C rows), its own step sizes, and runs all its epochs. Rows of
which half the values are there are handed over dense.
"""
import os
import sys
import time
import warnings

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[variable] = "1"  # before numpy reads it

import numpy as np


NEVER = 2_000_000_000  # iterations


def logistic(solver):
    def make(cost, value):
        from sklearn.linear_model import LogisticRegression
        return LogisticRegression(solver=solver, C=cost, tol=float(value), fit_intercept=False, max_iter=NEVER, random_state=1)
    return make


def squared_hinge(cost, value):
    from sklearn.svm import LinearSVC
    return LinearSVC(loss="squared_hinge", dual="auto", C=cost, tol=float(value), fit_intercept=False, max_iter=NEVER,
                     random_state=1)


def regression(loss):
    def make(cost, value):
        from sklearn.svm import LinearSVR
        epsilon, _, tolerance = value.partition(":")
        return LinearSVR(loss=loss, epsilon=float(epsilon), C=cost, tol=float(tolerance), fit_intercept=False, max_iter=NEVER,
                         dual="auto", random_state=1)
    return make


def snapml(threads):
    def make(cost, value):
        from snapml import LogisticRegression
        return LogisticRegression(regularizer=1 / cost, tol=float(value), fit_intercept=False, max_iter=100_000,
                                  random_state=1, n_jobs=threads, dual=True)
    return make


KINDS = {"squared_hinge": squared_hinge, "lbfgs": logistic("lbfgs"), "newton-cholesky": logistic("newton-cholesky"),
         "saga": logistic("saga"), "svr": regression("epsilon_insensitive"), "svr2": regression("squared_epsilon_insensitive"),
         "snapml": snapml(1), "snapml2": snapml(2)}


def fit(x, y, cost, knob):
    """-> hyperplanes, seconds"""
    from sklearn.linear_model import SGDClassifier
    from sklearn.svm import LinearSVC
    kind, _, value = knob.partition("=")
    if kind in KINDS:
        model = KINDS[kind](cost, value)
    elif kind == "tol":
        model = LinearSVC(loss="hinge", C=cost, tol=float(value), fit_intercept=False, max_iter=2_000_000_000,
                          random_state=1)
    else:
        model = SGDClassifier(loss="hinge", fit_intercept=False, alpha=1 / (cost * x.shape[0]), max_iter=int(value),
                              tol=None, random_state=1)
    start = time.perf_counter()
    model.fit(x, y)
    return np.atleast_2d(model.coef_), time.perf_counter() - start


def memory_form(x):
    if 2 * x.nnz >= x.shape[0] * x.shape[1]:
        return np.ascontiguousarray(x.toarray())
    x.indices, x.indptr = x.indices.astype(np.int32), x.indptr.astype(np.int32)  # both want it
    return x


def serve(path):
    from scipy.sparse import csr_matrix

    from matrix_sets import Rows
    rows = Rows(path)
    x = memory_form(csr_matrix((rows.values.astype(np.float64), rows.columns.astype(np.int32), rows.offsets),
                               shape=(len(rows.labels), rows.features)))
    y = np.asarray(rows.labels)
    fit(x[:200], np.arange(200) % 2, 1, "tol=1")  # what is imported and compiled at the first call is no solving
    print("ready", flush=True)
    for line in sys.stdin:
        cost, knob, out = line.split()
        weights, seconds = fit(x, y, float(cost), knob)
        weights.astype(np.float64).tofile(out)
        print(seconds, flush=True)


def once(path, cost, knob, out):
    from sklearn.datasets import load_svmlight_file
    x, y = load_svmlight_file(path, zero_based=False)
    with open(out, "wb") as file:
        np.save(file, fit(memory_form(x), y, float(cost), knob)[0])


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    {"serve": serve, "once": once}[sys.argv[1]](*sys.argv[2:])
