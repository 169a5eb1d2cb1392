"""evaluate() and curves() beside scikit-learn's figures."""

import math

import numpy as np
import pytest
from sklearn import metrics as reference
from sklearn.calibration import calibration_curve

import hinge
from conftest import make_sparse

CLOSE = {"rel": 0, "abs": 1e-12}


def fitted(classes, estimator=hinge.LogisticRegression, seed=1):
    X, y = make_sparse(rows=600, classes=classes, seed=seed)
    return estimator(C=0.3).fit(X[:300], y[:300]), X[300:], y[300:]


def check_labels(found, model, X, y):
    said = model.predict(X)
    assert found["accuracy"] == pytest.approx(reference.accuracy_score(y, said), **CLOSE)
    assert found["balanced_accuracy"] == pytest.approx(reference.balanced_accuracy_score(y, said), **CLOSE)
    assert np.array_equal(found["confusion"], reference.confusion_matrix(y, said, labels=found["labels"]))
    each = reference.precision_recall_fscore_support(y, said, labels=found["labels"], zero_division=np.nan)
    for k, one in enumerate(found["classes"]):
        for name, value in zip(("precision", "recall", "f1", "rows"), (column[k] for column in each)):
            assert one[name] == pytest.approx(value, nan_ok=True, **CLOSE), name
    for mean in ("macro", "weighted"):
        whole = reference.precision_recall_fscore_support(y, said, labels=np.unique(y), average=mean, zero_division=0)
        for name, value in zip(("precision", "recall", "f1"), whole):
            assert found[mean][name] == pytest.approx(value, **CLOSE), (mean, name)


@pytest.mark.parametrize("estimator", [hinge.LinearSVC, hinge.LogisticRegression])
@pytest.mark.parametrize("classes", [2, 5])
def test_labels_and_ranks(classes, estimator):
    model, X, y = fitted(classes, estimator)
    found = hinge.evaluate(model, X, y)
    check_labels(found, model, X, y)
    scores = model.decision_function(X)
    if classes == 2:
        assert found["auc"] == pytest.approx(reference.roc_auc_score(y, scores), **CLOSE)
        assert found["average_precision"] == pytest.approx(reference.average_precision_score(y, scores), **CLOSE)
        scores = np.column_stack([-scores, scores])
    for k, one in enumerate(found["classes"]):
        truth = y == one["label"]
        assert one["auc"] == pytest.approx(reference.roc_auc_score(truth, scores[:, k]), **CLOSE)
        assert one["average_precision"] == pytest.approx(reference.average_precision_score(truth, scores[:, k]), **CLOSE)
    assert ("log_loss" in found) == (estimator is hinge.LogisticRegression)


def test_a_class_that_is_never_said():
    X, y = np.eye(4).repeat(30, axis=0), np.array([0, 1, 2, 3]).repeat(30)
    y[::15] = 3  # every group has some, and the last is all of them
    X[90:] = X[0]
    model = hinge.LinearSVC(C=10).fit(X, y)
    found = hinge.evaluate(model, X, y)
    check_labels(found, model, X, y)
    assert any(math.isnan(one["precision"]) for one in found["classes"])
    only = hinge.evaluate(model, X[y == 1], y[y == 1])
    assert math.isnan(only["auc"]) and math.isnan(only["classes"][2]["recall"])


@pytest.mark.parametrize("classes", [2, 4])
def test_probabilities(classes):
    model, X, y = fitted(classes)
    found, likely = hinge.evaluate(model, X, y), model.predict_proba(X)
    assert found["log_loss"] == pytest.approx(reference.log_loss(y, likely, labels=model.classes_), **CLOSE)
    truth = np.searchsorted(model.classes_, y)
    off = likely - np.eye(classes)[truth]
    brier = (off**2).sum(axis=1).mean()
    assert found["brier"] == pytest.approx(brier / 2 if classes == 2 else brier, **CLOSE)
    asked = np.full(len(y), 1) if classes == 2 else likely.argmax(axis=1)
    p, hit = likely[np.arange(len(y)), asked], asked == truth
    bins = np.searchsorted(np.linspace(0, 1, 11)[1:-1], p)
    error = sum(abs(hit[bins == k].sum() - p[bins == k].sum()) for k in range(10)) / len(y)
    assert found["calibration_error"] == pytest.approx(error, **CLOSE)


def test_brier_of_two_is_scikit_learns():
    model, X, y = fitted(2)
    expected = reference.brier_score_loss(y, model.predict_proba(X)[:, 1])
    assert hinge.evaluate(model, X, y)["brier"] == pytest.approx(expected, **CLOSE)


def test_curves():
    model, X, y = fitted(2)
    (found,) = hinge.curves(model, X, y)
    scores = model.decision_function(X)
    fpr, tpr, thresholds = reference.roc_curve(y, scores, drop_intermediate=False)
    for name, expected in (("threshold", thresholds), ("x", fpr), ("y", tpr)):
        np.testing.assert_allclose(found["roc"][name], expected, rtol=0, atol=1e-12)
    precision, recall, thresholds = reference.precision_recall_curve(y, scores)
    for name, expected in (("threshold", thresholds[::-1]), ("x", recall[-2::-1]), ("y", precision[-2::-1])):
        np.testing.assert_allclose(found["precision_recall"][name], expected, rtol=0, atol=1e-12)
    part, mean = calibration_curve(y, model.predict_proba(X)[:, 1], n_bins=10)
    np.testing.assert_allclose(found["calibration"]["x"], mean, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found["calibration"]["y"], part, rtol=0, atol=1e-12)
    assert found["calibration"]["rows"].sum() == len(y)


def test_curves_of_classes_and_many_rows():
    model, X, y = fitted(3)
    assert [one["label"] for one in hinge.curves(model, X, y)] == [0, 1, 2]
    X, y = make_sparse(rows=9000, seed=2)
    (found,) = hinge.curves(hinge.LinearSVC().fit(X[:500], y[:500]), X, y)
    assert len(found["precision_recall"]["x"]) == 2000 and len(found["roc"]["x"]) == 2001
    assert found["roc"]["x"][-1] == found["roc"]["y"][-1] == 1 and len(found["calibration"]["x"]) == 0


def test_labels_with_names_models_and_data_sets():
    X, y = make_sparse()
    names = np.where(y > 0, "up", "down")
    estimator = hinge.LinearSVC().fit(X, names)
    found = hinge.evaluate(estimator, X, names)
    assert found["labels"] == ["down", "up"] and found["accuracy"] == estimator.score(X, names)
    with pytest.raises(ValueError, match="label 'left' is none of those of the model"):
        hinge.evaluate(estimator, X, np.where(y > 0, "up", "left"))
    model = hinge.LinearSVC().fit(X, y).model_
    data = hinge.Dataset(X, y)
    assert hinge.evaluate(model, data) == hinge.evaluate(model, X, y)
    with pytest.raises(TypeError, match="y: expected labels"):
        hinge.evaluate(model, X)


def test_regression():
    X, y = make_sparse(seed=3)
    targets = X @ np.arange(X.shape[1]) + y
    model = hinge.LinearSVR(C=1.0).fit(X, targets)
    found = hinge.evaluate(model, X, targets)
    assert found["r2"] == pytest.approx(reference.r2_score(targets, model.predict(X)), rel=1e-12)
    assert found["mae"] == pytest.approx(reference.mean_absolute_error(targets, model.predict(X)), rel=1e-12)
    with pytest.raises(hinge.UsageError, match="regression"):
        hinge.curves(model, X, targets)
