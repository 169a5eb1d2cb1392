"""PegasosClassifier: in one go, online, and with kernels."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.datasets import make_moons

import hinge
from conftest import make_sparse


def test_reaches_what_linear_svc_reaches(two):
    X, y = two
    exact = hinge.LinearSVC(C=1 / (0.01 * len(y)), gap=1e-8, fit_intercept=False).fit(X, y)
    svm = hinge.PegasosClassifier(0.01, epochs=200, fit_intercept=False).fit(X, y)
    found = svm.certificate_
    assert exact.certificate_.dual <= found.primal <= exact.certificate_.primal * 1.02
    assert found.bound == "witness" and hinge.verify(svm, X, y).agrees
    assert svm.n_iter_ == 200


@pytest.mark.parametrize("parameters", [dict(batch_size=10), dict(average=False), dict(average=True),
                                        dict(average="random"), dict(average=3), dict(projection=True),
                                        dict(sampling="replace"), dict(sampling="order"), dict(rescale=False),
                                        dict(intercept="scaled"), dict(fit_intercept=False)], ids=str)
def test_parameters_reach_the_library(parameters, two):
    X, y = two
    plain = hinge.PegasosClassifier(0.01, epochs=30).fit(X, y)
    other = hinge.PegasosClassifier(0.01, epochs=30, **parameters).fit(X, y)
    assert (other.coef_ != plain.coef_).any()
    assert other.score(X, y) > 0.85 and other.certificate_.relative_gap < 0.5


def test_gap_and_trace(two):
    X, y = two
    svm = hinge.PegasosClassifier(0.1, epochs=500, gap=0.1, fit_intercept=False).fit(X, y)
    assert svm.certificate_.relative_gap <= 0.1 and svm.n_iter_ < 500
    svm = hinge.PegasosClassifier(0.1, epochs=6, check_every=2, fit_intercept=False).fit(X, y)
    assert len(svm.trace_["primal"]) >= 3


def test_steps_and_t0(two):
    X, y = two
    svm = hinge.PegasosClassifier(0.01, steps=3 * len(y), batch_size=2).fit(X, y)
    assert svm.n_iter_ == 6 and svm.model_._core.iterations.max() == 3 * len(y)
    np.testing.assert_array_equal(svm.coef_, hinge.PegasosClassifier(0.01, epochs=6, batch_size=2).fit(X, y).coef_)
    later = hinge.PegasosClassifier(0.01, steps=100, t0=50).fit(X, y)
    assert (later.coef_ != hinge.PegasosClassifier(0.01, steps=100).fit(X, y).coef_).any()
    np.testing.assert_array_equal(hinge.PegasosClassifier(0.01, steps=100, t0=0).fit(X, y).coef_,
                                  hinge.PegasosClassifier(0.01, steps=100).fit(X, y).coef_)


def test_reject(three):
    X, y = three
    svm = hinge.PegasosClassifier(0.1, reject=-7).fit(X, y)
    none = (svm.decision_function(X) <= 0).all(axis=1)
    np.testing.assert_array_equal(svm.predict(X) == -7, none)
    assert svm.model_._core.reject
    with pytest.raises(ValueError, match="reject: partial_fit"):
        svm.partial_fit(X, y)


BAD = [(dict(steps=0), "steps: "), (dict(steps=1.5), "steps: "), (dict(t0=-1), "t0: "),
       (dict(lambda_=0), "lambda_: "), (dict(lambda_=None), "lambda_: "), (dict(batch_size=0), "batch_size: "),
       (dict(batch_size=10**6), "batch_size: "), (dict(epochs=0), "epochs: "), (dict(epochs=None), "epochs: "),
       (dict(average="mean"), "average: "), (dict(average=0), "average: "), (dict(sampling="all"), "sampling: "),
       (dict(update="mistakes"), "update: "), (dict(update=None), "update: "),
       (dict(kernel="cubic"), "kernel: "), (dict(kernel="rbf", gamma=-1.0), "gamma: "),
       (dict(kernel="poly", degree=0), "degree: "), (dict(kernel="rbf", budget=0), "budget: "),
       (dict(gap=2), "gap: "), (dict(intercept="none"), "intercept: "), (dict(check_every=0), "check_every: ")]


@pytest.mark.parametrize("parameters, message", BAD, ids=str)
def test_bad_parameters(parameters, message, two):
    with pytest.raises(ValueError, match=message):
        hinge.PegasosClassifier(**parameters).fit(*two)


def test_kernels():
    X, y = make_moons(300, noise=0.1, random_state=0)
    line = hinge.PegasosClassifier(1e-3).fit(X, y).score(X, y)
    svm = hinge.PegasosClassifier(1e-3, kernel="rbf", gamma=2.0).fit(X, y)
    assert svm.score(X, y) > 0.97 > line
    assert svm.certificate_.bound == "witness" and hinge.verify(svm, X, y).agrees
    rows = np.asarray(svm.support_vectors_)
    squares = ((X[:, None, :] - rows[None, :, :]) ** 2).sum(axis=2)
    np.testing.assert_allclose(svm.decision_function(X), np.exp(-2 * squares) @ svm.dual_coef_[0] + svm.intercept_,
                               rtol=1e-9, atol=1e-9)
    with pytest.raises(AttributeError, match="dual_coef_"):
        svm.coef_
    again = pickle.loads(pickle.dumps(svm))
    np.testing.assert_array_equal(again.decision_function(X), svm.decision_function(X))
    assert hinge.PegasosClassifier(1e-3, kernel="rbf", gamma=2.0, budget=20).fit(X, y).dual_coef_.shape[1] <= 20
    poly = hinge.PegasosClassifier(1e-3, kernel="poly", gamma=1.0, coef0=1.0, degree=3).fit(X, y)
    assert poly.score(X, y) > 0.9
    sigmoid = hinge.PegasosClassifier(1e-2, kernel="sigmoid", gamma=0.1).fit(X, y)
    assert sigmoid.certificate_.bound == "none" and sigmoid.certificate_.relative_gap == 1


def in_parts(svm, X, y, cuts, **more):
    for begin, end in zip([0, *cuts], [*cuts, len(y)]):
        svm.partial_fit(X[begin:end], y[begin:end], **more)
    return svm


def test_partial_fit_is_the_same_however_rows_are_cut(three):
    X, y = three
    whole = hinge.PegasosClassifier(0.01).partial_fit(X, y, classes=[0, 1, 2])
    parts = in_parts(hinge.PegasosClassifier(0.01), X, y, [1, 7, 200], classes=[0, 1, 2])
    np.testing.assert_array_equal(whole.coef_, parts.coef_)
    np.testing.assert_array_equal(whole.intercept_, parts.intercept_)
    stopped = hinge.PegasosClassifier(0.01).partial_fit(X[:99], y[:99], classes=[0, 1, 2])
    resumed = pickle.loads(pickle.dumps(stopped)).partial_fit(X[99:], y[99:])
    np.testing.assert_array_equal(whole.coef_, resumed.coef_)


def test_partial_fit_takes_the_loss(two, tmp_path):
    """Implicit steps, written down again."""
    X, y = make_sparse(50, 8)
    svm = hinge.PegasosClassifier(0.1, loss="squared_hinge", fit_intercept=False).partial_fit(X, y, classes=[-1, 1])
    w = np.zeros(8)
    for t, (x, sign) in enumerate(zip(X.toarray(), y), start=1):
        w = (1 - 1 / t) * w
        share = 2 * max(0, 1 - sign * (w @ x)) / (1 + 2 * (x @ x) / (0.1 * t))
        w = w + share * sign * x / (0.1 * t)
    np.testing.assert_allclose(svm.coef_[0], w, rtol=1e-10, atol=1e-12)
    assert svm.model_.origin["loss"] == "squared_hinge"
    svm.save(tmp_path / "m")
    assert hinge.PegasosClassifier.load(tmp_path / "m").loss == "squared_hinge"
    with pytest.raises(ValueError, match="loss: "):
        hinge.PegasosClassifier(0.1, loss="none").partial_fit(X, y, classes=[-1, 1])


def test_loss_reaches_the_library(two):
    X, y = two
    exact = hinge.LinearSVC(C=1 / (0.01 * len(y)), loss="squared_hinge", gap=1e-8, fit_intercept=False).fit(X, y)
    svm = hinge.PegasosClassifier(0.01, loss="squared_hinge", epochs=60, fit_intercept=False).fit(X, y)
    assert svm.certificate_.relative_gap < 0.05 and hinge.verify(svm, X, y).agrees
    assert exact.certificate_.primal * (1 - 1e-8) <= svm.certificate_.primal <= exact.certificate_.primal * 1.05
    with pytest.raises(ValueError, match="kernel"):
        hinge.PegasosClassifier(0.01, loss="squared_hinge", kernel="rbf").fit(X, y)


@pytest.mark.parametrize("update", ["margin", "mistake"])
def test_partial_fit_is_pegasos(update, two):
    """The steps, written down again."""
    X, y = make_sparse(50, 8)
    svm = hinge.PegasosClassifier(0.1, update=update, fit_intercept=False).partial_fit(X, y, classes=[-1, 1])
    w = np.zeros(8)
    for t, (x, sign) in enumerate(zip(X.toarray(), y), start=1):
        active = sign * (w @ x) < 1 if update == "margin" else sign * (w @ x) <= 0
        w = (1 - 1 / t) * w + active * sign * x / (0.1 * t)
    np.testing.assert_allclose(svm.coef_[0], w, rtol=1e-10, atol=1e-12)
    assert svm.certificate_.bound == "none"


def test_update_reaches_the_library(two):
    """Mistakes promise no gap, but what is said of the result is true."""
    X, y = two
    exact = hinge.LinearSVC(C=1 / (0.01 * len(y)), gap=1e-8, fit_intercept=False).fit(X, y).certificate_
    plain = hinge.PegasosClassifier(0.01, epochs=30, fit_intercept=False).fit(X, y)
    svm = hinge.PegasosClassifier(0.01, epochs=30, update="mistake", fit_intercept=False).fit(X, y)
    assert (svm.coef_ != plain.coef_).any() and svm.score(X, y) > 0.85
    assert svm.certificate_.primal >= exact.primal * (1 - 1e-8) and 0 < svm.certificate_.dual <= exact.primal
    assert svm.certificate_.relative_gap > plain.certificate_.relative_gap
    assert hinge.verify(svm, X, y).agrees


def test_update_is_remembered(two, tmp_path):
    """A pickled stream, and a model from a file, go on as they were begun."""
    X, y = two
    svm = hinge.PegasosClassifier(0.01, update="mistake")
    whole = hinge.PegasosClassifier(0.01, update="mistake").partial_fit(X, y, classes=[-1, 1])
    first = svm.partial_fit(X[:99], y[:99], classes=[-1, 1])
    assert first.model_.origin["update"] == "mistake"
    resumed = pickle.loads(pickle.dumps(first)).set_params(update="margin").partial_fit(X[99:], y[99:])
    np.testing.assert_array_equal(whole.coef_, resumed.coef_)
    assert (hinge.PegasosClassifier(0.01).partial_fit(X, y, classes=[-1, 1]).coef_ != whole.coef_).any()
    fitted = hinge.PegasosClassifier(0.01, update="mistake").fit(X, y)
    assert hinge.verify(fitted, X, y).agrees
    fitted.save(tmp_path / "m")
    assert hinge.PegasosClassifier.load(tmp_path / "m").update == "mistake"
    with pytest.raises(ValueError, match="update: "):
        hinge.PegasosClassifier(0.01, update="none").partial_fit(X, y, classes=[-1, 1])


def test_partial_fit_learns(three):
    X, y = three
    names = np.array(["ant", "bee", "cat"])[y]
    svm = hinge.PegasosClassifier(0.01)
    for _ in range(20):
        svm.partial_fit(X, names, classes=["cat", "ant", "bee"])
    assert svm.classes_.tolist() == ["ant", "bee", "cat"] and svm.score(X, names) > 0.85
    assert svm.coef_.shape == (3, 60)
    # Classes that do not occur in a call are there all the same.
    only = names == "cat"
    svm.partial_fit(X[only], names[only])
    assert svm.predict(X).shape == names.shape


@pytest.mark.parametrize("update", ["margin", "mistake"])
def test_partial_fit_goes_on_from_fit(update, two):
    X, y = two
    svm = hinge.PegasosClassifier(0.01, update=update, fit_intercept=False).fit(X[:300], y[:300])
    w = svm.coef_[0].copy()
    inside = y[300:] * (X[300:] @ w)  # of the rows to come, one that the two rules differ about
    k = 300 + int(np.flatnonzero((inside > 0) & (inside < 1))[0])
    svm.partial_fit(X[k:k + 1], y[k:k + 1])
    x, steps = X[k:k + 1].toarray()[0], 20 * 300 + 1
    active = update == "margin"
    np.testing.assert_allclose(svm.coef_[0], (1 - 1 / steps) * w + active * y[k] * x / (0.01 * steps), rtol=1e-9,
                               atol=1e-12)


def test_partial_fit_weights(two):
    X, y = two
    by_class = hinge.PegasosClassifier(0.01, class_weight={1: 2.0}).partial_fit(X, y, classes=[-1, 1])
    by_row = hinge.PegasosClassifier(0.01).partial_fit(X, y, classes=[-1, 1], sample_weight=np.where(y == 1, 2.0, 1.0))
    np.testing.assert_allclose(by_class.coef_, by_row.coef_)


@pytest.mark.parametrize("message, call", [
    ("first call needs classes", lambda X, y: hinge.PegasosClassifier().partial_fit(X, y)),
    ("at least two", lambda X, y: hinge.PegasosClassifier().partial_fit(X, y, classes=[1])),
    ("is not one of classes", lambda X, y: hinge.PegasosClassifier().partial_fit(X, y, classes=[1, 2])),
    ("not those of the first", lambda X, y: hinge.PegasosClassifier().partial_fit(X, y, classes=[-1, 1]).partial_fit(
        X, y, classes=[1, 2])),
    ("60 features", lambda X, y: hinge.PegasosClassifier().partial_fit(X, y, classes=[-1, 1]).partial_fit(X[:, :5], y)),
    ("kernel", lambda X, y: hinge.PegasosClassifier(kernel="rbf").partial_fit(X, y, classes=[-1, 1])),
    ("balanced", lambda X, y: hinge.PegasosClassifier(class_weight="balanced").partial_fit(X, y, classes=[-1, 1])),
])
def test_partial_fit_refuses(message, call, two):
    with pytest.raises(ValueError, match=message):
        call(*two)


def test_partial_fit_that_fails_changes_nothing(two):
    X, y = two
    svm = hinge.PegasosClassifier(0.01).partial_fit(X[:50], y[:50], classes=[-1, 1])
    before = svm.coef_.copy()
    bad = X[50:60].toarray()
    bad[5, 3] = np.nan
    with pytest.raises(ValueError, match="NaN: row 5, column 3"):
        svm.partial_fit(bad, y[50:60])
    np.testing.assert_array_equal(svm.coef_, before)
    whole = hinge.PegasosClassifier(0.01).partial_fit(X, y, classes=[-1, 1])
    np.testing.assert_array_equal(svm.partial_fit(X[50:], y[50:]).coef_, whole.coef_)


def test_warm_start(two):
    X, y = two
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        svm = hinge.PegasosClassifier(0.01, epochs=2, warm_start=True, fit_intercept=False).fit(X, y)
        first = svm.certificate_.primal
        for _ in range(5):
            svm.fit(X, y)
    assert svm.certificate_.primal < first
