"""tune() beside cross-validation by scikit-learn."""

import numpy as np
import pytest
from sklearn.model_selection import cross_val_score

import hinge
from conftest import make_sparse


def test_the_best_of_the_means():
    X, y = make_sparse(rows=500)
    estimator = hinge.LinearSVC(C=7.0)
    found = hinge.tune(estimator, X, y, C=[1.0, 0.001, 0.03], all_folds=True)
    assert [cost["C"] for cost in found.costs] == [0.001, 0.03, 1.0]
    for cost in found.costs:
        assert len(cost["figures"]) == 5 and cost["mean"] == pytest.approx(np.mean(cost["figures"]))
        assert cost["spread"] == pytest.approx(np.std(cost["figures"], ddof=1))
        alone = cross_val_score(hinge.LinearSVC(C=cost["C"]), X, y, cv=5)
        assert cost["mean"] == pytest.approx(alone.mean(), abs=0.05)
    assert found.C == max(found.costs, key=lambda cost: cost["mean"])["C"]
    assert estimator.C == 7.0 and not hasattr(estimator, "model_")
    assert np.array_equal(found.estimator.coef_, hinge.LinearSVC(C=found.C).fit(X, y).coef_)


def test_names_metrics_groups_and_order():
    X, y = make_sparse(rows=400)
    names = np.where(y > 0, "up", "down")
    for how in ({"metric": "auc"}, {"metric": "f1", "one_standard_error": True}, {"groups": np.arange(400) // 8},
                {"time_order": True, "folds": 3}):
        found = hinge.tune(hinge.LinearSVC(class_weight="balanced"), X, names, C=[0.01, 1], **how)
        assert set(found.estimator.classes_) == {"down", "up"} and found.C in (0.01, 1)
    assert hinge.tune(hinge.LogisticRegression(), X, y, metric="logloss", C=[0.01, 1]).costs[0]["mean"] > 0


def test_costs_of_its_own_and_regression():
    X, y = make_sparse(rows=300)
    assert len(hinge.tune(hinge.LinearSVC(), X, y).costs) > 4
    found = hinge.tune(hinge.LinearSVR(), X, X @ np.arange(X.shape[1]))
    assert found.costs[0]["C"] == 2**-10 and found.estimator.C == found.C


def test_refused():
    X, y = make_sparse()
    with pytest.raises(hinge.UsageError, match="--metric|metric"):
        hinge.tune(hinge.LinearSVC(), X, y, metric="roc")
    with pytest.raises(hinge.UsageError, match="folds: expected at least 2"):
        hinge.tune(hinge.LinearSVC(), X, y, folds=1)
    with pytest.raises(hinge.DataError, match="3 groups for 400 rows"):
        hinge.tune(hinge.LinearSVC(), X, y, groups=[1, 2, 3])
