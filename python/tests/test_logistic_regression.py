"""LogisticRegression: the same minimum as scikit-learn's, and probabilities."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.multiclass import OneVsRestClassifier

import hinge
from conftest import make_sparse


@pytest.mark.parametrize("C", [0.01, 1, 100])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_coefficients_are_those_of_scikit_learn(C, fit_intercept, weighted):
    X, y = make_sparse(300, 20)
    weights = np.random.default_rng(3).integers(0, 4, len(y)) if weighted else None
    ours = hinge.LogisticRegression(C=C, fit_intercept=fit_intercept).fit(X, y, weights)
    theirs = LogisticRegression(C=C, fit_intercept=fit_intercept, tol=1e-10, max_iter=10_000).fit(X, y, weights)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-4)
    assert ours.certificate_.relative_gap <= 1e-10
    assert hinge.verify(ours, X, y, weights).agrees


def test_probabilities_of_two_classes(two):
    X, y = two
    found = hinge.LogisticRegression().fit(X, y)
    p = found.predict_proba(X)
    assert p.shape == (len(y), 2)
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-15)
    np.testing.assert_allclose(p[:, 1], 1 / (1 + np.exp(-found.decision_function(X))), rtol=1e-12)
    np.testing.assert_array_equal(found.classes_[p.argmax(axis=1)], found.predict(X))
    np.testing.assert_allclose(found.predict_log_proba(X), np.log(p), rtol=1e-12, atol=1e-15)


def test_probabilities_of_several_classes_are_of_each_against_the_rest(three):
    X, y = three
    ours = hinge.LogisticRegression(gap=1e-11).fit(X, y)
    theirs = OneVsRestClassifier(LogisticRegression(tol=1e-10, max_iter=10_000)).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-4)
    np.testing.assert_allclose(ours.predict_proba(X).sum(axis=1), 1, rtol=1e-14)
    np.testing.assert_allclose(ours.predict_log_proba(X), np.log(ours.predict_proba(X)), rtol=1e-12)
    np.testing.assert_array_equal(ours.classes_[ours.predict_proba(X).argmax(axis=1)], ours.predict(X))
    assert abs(log_loss(y, ours.predict_proba(X)) - log_loss(y, theirs.predict_proba(X))) < 1e-4


@pytest.mark.parametrize("classes", ["two", "three"])
def test_extreme_scores(classes, request):
    X, y = request.getfixturevalue(classes)
    found = hinge.LogisticRegression().fit(X, y)
    far = X * 1e6
    with np.errstate(all="raise", under="ignore"):
        p, logs = found.predict_proba(far), found.predict_log_proba(far)
    assert np.isfinite(p).all() and np.isfinite(logs).all() and (logs <= 0).all()
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-12)
    assert logs.min() < -1000


@pytest.mark.parametrize("classes", ["two", "three"])
def test_the_program_says_the_same(classes, request, program, tmp_path):
    X, y = request.getfixturevalue(classes)
    found = hinge.LogisticRegression().fit(X, y)
    found.save(tmp_path / "m")
    hinge.Dataset(X, y).save(tmp_path / "d.hinge")
    lines = program("predict", tmp_path / "d.hinge", tmp_path / "m", "-b", "1", "-q").splitlines()
    labels = [int(word) for word in lines[0].split()[1:]]
    p = np.array([[float(word) for word in line.split()[1:]] for line in lines[1:]])
    np.testing.assert_allclose(p, found.predict_proba(X)[:, np.searchsorted(found.classes_, labels)], rtol=1e-12)


def test_names_of_scikit_learn(two, tmp_path):
    X, y = two
    best = hinge.LogisticRegression(gap=1e-4).fit(X, y)
    for solver in ("lbfgs", "liblinear", "newton-cg", "newton-cholesky", "sag", "saga"):
        same = hinge.LogisticRegression(penalty="l2", dual=False, tol=1e-4, solver=solver, multi_class="ovr").fit(X, y)
        np.testing.assert_array_equal(same.coef_, best.coef_)
    for wrong in ({"penalty": "l1"}, {"penalty": "elasticnet"}, {"multi_class": "multinomial"}, {"solver": "focus"}):
        with pytest.raises(ValueError, match=list(wrong)[0]):
            hinge.LogisticRegression(**wrong).fit(X, y)
    best.save(tmp_path / "m")
    again = hinge.LogisticRegression.load(tmp_path / "m")
    np.testing.assert_array_equal(again.predict_proba(X), best.predict_proba(X))
    assert clone(again).get_params() == again.get_params()


def test_a_model_of_another_loss_is_refused(two, tmp_path):
    hinge.LinearSVC().fit(*two).save(tmp_path / "m")
    with pytest.raises(ValueError, match="loss"):
        hinge.LogisticRegression.load(tmp_path / "m")
    hinge.LogisticRegression().fit(*two).save(tmp_path / "m")
    with pytest.raises(ValueError, match="LogisticRegression"):
        hinge.LinearSVC.load(tmp_path / "m")


def test_class_weights(three):
    X, y = three
    y = np.array(["a", "b", "c"])[y]
    even = hinge.LogisticRegression(class_weight="balanced").fit(X, y)
    assert even.model_.origin["class_weights"]
    heavy = hinge.LogisticRegression(class_weight={"a": 10}).fit(X, y)
    assert (heavy.predict(X) == "a").sum() > (even.predict(X) == "a").sum()
