"""Signals, threads, forks: what happens while the library works."""

import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from joblib import Parallel, delayed

import hinge
from conftest import make_sparse


def run(code, timeout=120):
    """In a process of its own; prints go to the result. Ctrl-C is heard, though whoever started the tests may not care."""
    head = (f"import signal, sys\nsys.path.insert(0, {os.path.dirname(__file__)!r})\n"
            "signal.signal(signal.SIGINT, signal.default_int_handler)\n")
    done = subprocess.run([sys.executable, "-c", head + textwrap.dedent(code)], capture_output=True, text=True,
                          timeout=timeout)
    assert done.returncode == 0, done.stderr
    return done.stdout


# A run that would go on for hours: rows that cannot be parted, a large C, and a gap that cannot be reached soon.
LONG = """
import numpy as np, os, signal, threading, time, hinge
random = np.random.default_rng(0)
X, y = random.standard_normal((20_000, 300)), random.integers(0, 2, 20_000)
svm = {estimator}
sent = []
def interrupt():
    time.sleep(1.0)
    sent.append(time.monotonic())
    os.kill(os.getpid(), signal.SIGINT)
"""
FITS = {"dual": "hinge.LinearSVC(C=1e6, gap=1e-12, solver='dual')",
        "focus": "hinge.LinearSVC(C=1e6, gap=1e-12, solver='focus')",
        "pegasos": "hinge.PegasosClassifier(1e-9, epochs=10**9)",
        "several threads": "hinge.LinearSVC(C=1e6, gap=1e-12, solver='dual', n_jobs=2)"}


@pytest.mark.parametrize("name", FITS)
def test_ctrl_c_within_a_second(name):
    late, fitted, after = run(LONG.format(estimator=FITS[name]) + """
threading.Thread(target=interrupt).start()
try:
    svm.fit(X, y)
    print("not interrupted")
except KeyboardInterrupt:
    late = time.monotonic() - sent[0]
    small = hinge.LinearSVC().fit(X[:200, :5], y[:200])  # the interpreter and the library are fine
    print(late, any(hasattr(svm, a) for a in ("coef_", "model_", "classes_", "n_features_in_")), len(small.predict(X[:3, :5])))
""").split()
    assert float(late) < 1.0 and fitted == "False" and after == "3"


def test_other_signals_run_their_handlers():
    """What a handler raises is what fit() raises."""
    out = run(LONG.format(estimator=FITS["dual"]) + """
class Alarm(Exception):
    pass
def handler(number, frame):
    raise Alarm
signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.5)
try:
    svm.fit(X, y)
except Alarm:
    print("alarm")
""")
    assert out.strip() == "alarm"


def test_ctrl_c_in_partial_fit_keeps_the_last_model():
    out = run("""
    import numpy as np, os, signal, threading, time, hinge
    random = np.random.default_rng(0)
    X, y = random.standard_normal((300_000, 100)).astype(np.float32), random.integers(0, 50, 300_000)
    svm = hinge.PegasosClassifier(1e-6).partial_fit(X[:100], y[:100], classes=np.arange(50))
    before = svm.coef_.copy()
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        for _ in range(1000):
            svm.partial_fit(X, y)
            before = svm.coef_.copy()
    except KeyboardInterrupt:
        print((svm.coef_ == before).all(), (svm.partial_fit(X[:10], y[:10]).coef_ == before).all())
    """)
    assert out.split() == ["True", "False"]


@pytest.mark.filterwarnings("ignore:.*solver.limit")
def test_the_lock_is_released():
    """Another thread counts while this one fits."""
    X, y = make_sparse(20_000, 2_000, density=0.02)
    counted, stop = [0], threading.Event()

    def count():
        while not stop.is_set():
            counted[0] += 1
            time.sleep(0.001)
    thread = threading.Thread(target=count)
    thread.start()
    start = time.monotonic()
    hinge.LinearSVC(C=100, gap=1e-7, time_limit=0.5, solver="dual").fit(X, y)
    seconds, during = time.monotonic() - start, counted[0]
    stop.set()
    thread.join()
    assert seconds > 0.1 and during > 100 * seconds  # of about 900 a second


def test_threads_fit_and_predict_at_once(three):
    X, y = three
    wanted = hinge.LinearSVC(gap=1e-6).fit(X, y)
    scores = wanted.decision_function(X)
    with ThreadPoolExecutor(8) as pool:
        fits = [pool.submit(lambda: hinge.LinearSVC(gap=1e-6, n_jobs=2).fit(X, y).coef_) for _ in range(8)]
        predictions = [pool.submit(wanted.decision_function, X) for _ in range(40)]
        for one in fits:
            np.testing.assert_array_equal(one.result(), wanted.coef_)
        for one in predictions:
            np.testing.assert_array_equal(one.result(), scores)


def test_threads_may_share_a_learner(two):
    """Which row comes first is anybody's guess, but no row is lost and nothing breaks."""
    X, y = two
    svm = hinge.PegasosClassifier(0.1).partial_fit(X[:10], y[:10], classes=[-1, 1])
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda k: svm._learner.learn(hinge.Dataset(X[k::8], y[k::8])._core), range(8)))
    assert np.isfinite(hinge.Model(svm._learner.snapshot()).coef).all()


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork.*:DeprecationWarning")
def test_fork(three):
    X, y = three
    svm = hinge.LinearSVC(n_jobs=2, gap=1e-6).fit(X, y)
    scores = svm.decision_function(X)
    context = multiprocessing.get_context("fork")
    with context.Pool(2) as pool:
        for found in [pool.apply_async(svm.decision_function, (X,)) for _ in range(4)]:
            np.testing.assert_array_equal(found.get(timeout=30), scores)
        for found in [pool.apply_async(hinge.LinearSVC(n_jobs=2, gap=1e-6).fit, (X, y)) for _ in range(4)]:
            np.testing.assert_array_equal(found.get(timeout=30).coef_, svm.coef_)


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork.*:DeprecationWarning", "ignore:.*solver.limit")
def test_fork_while_others_fit():
    """A child that is forked in the middle of somebody's fit works, too."""
    X, y = make_sparse(20_000, 2_000, density=0.02)
    small = X[:200], y[:200]
    fitting = threading.Thread(target=hinge.LinearSVC(C=100, gap=1e-9, time_limit=1.0, n_jobs=2, solver="dual").fit,
                               args=(X, y))
    fitting.start()
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if hinge.LinearSVC(n_jobs=2).fit(*small).score(*small) > 0.5 else 1)
        except BaseException:
            os._exit(2)
    deadline, ended = time.monotonic() + 30, (0, 0)
    while ended == (0, 0) and time.monotonic() < deadline:
        time.sleep(0.05)
        ended = os.waitpid(child, os.WNOHANG)
    fitting.join()
    if ended == (0, 0):
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    assert ended == (child, 0), "the child hangs, or failed"


def test_joblib(three):
    X, y = three
    wanted = [hinge.LinearSVC(C=C).fit(X, y).coef_ for C in (0.1, 1, 10)]
    for backend in ("loky", "threading"):
        found = Parallel(2, backend=backend)(delayed(hinge.LinearSVC(C=C).fit)(X, y) for C in (0.1, 1, 10))
        for one, coef in zip(found, wanted):
            np.testing.assert_array_equal(one.coef_, coef)


def test_errors_come_home_from_workers(three):
    X, y = three
    with pytest.raises(hinge.UsageError, match="C: expected"):
        Parallel(2)(delayed(hinge.LinearSVC(C=C).fit)(X, y) for C in (1, -1))


def test_change_while_fitting_does_not_crash():
    """Undefined what comes out, but something does."""
    assert run("""
    import threading, numpy as np, hinge
    from conftest import make_sparse
    X, y = make_sparse(20_000, 500, density=0.05)
    stop = threading.Event()
    def scribble():
        random = np.random.default_rng(0)
        while not stop.is_set():
            X.data[random.integers(0, len(X.data), 1000)] = random.standard_normal(1000)
    thread = threading.Thread(target=scribble)
    thread.start()
    try:
        hinge.LinearSVC(time_limit=0.5).fit(X, y)
    except (ValueError, ArithmeticError):
        pass
    stop.set(); thread.join()
    print("fine")
    """).strip() == "fine"
