"""LinearSVR: the same minimum as scikit-learn's."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.svm import LinearSVR

import hinge
from conftest import make_sparse


def rows(count=300, features=12, seed=0):
    X, _ = make_sparse(count, features, density=0.5, seed=seed)
    random = np.random.default_rng(seed)
    return X, X @ random.standard_normal(features) + 2 + 0.3 * random.standard_normal(count)


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.5])
@pytest.mark.parametrize("C", [0.01, 1, 100])
def test_minimum_is_that_of_scikit_learn(loss, epsilon, C):
    X, y = rows()
    ours = hinge.LinearSVR(loss=loss, epsilon=epsilon, C=C, intercept="scaled").fit(X, y)
    theirs = LinearSVR(loss=loss, epsilon=epsilon, C=C, tol=1e-8, max_iter=1_000_000, dual=True).fit(X, y)
    assert ours.certificate_.primal <= primal(theirs, X, y) * (1 + 1e-9)
    assert ours.certificate_.primal == pytest.approx(primal(ours, X, y), rel=1e-9)
    assert hinge.verify(ours, X, y).agrees
    assert ours.coef_.shape == (12,) and ours.intercept_.shape == (1,)


def primal(estimator, X, y):
    """The objective, by numpy alone; b counts in |w|^2."""
    off = np.maximum(0, np.abs(estimator.predict(X) - y) - estimator.epsilon)
    off = off**2 if "squared" in estimator.loss else off
    b = float(np.ravel(estimator.intercept_)[0])
    return (estimator.coef_ @ estimator.coef_ + b * b) / 2 + estimator.C * off.sum()


def test_a_free_intercept_takes_up_any_shift():
    X, y = rows()
    here, there = hinge.LinearSVR().fit(X, y), hinge.LinearSVR().fit(X, y + 1000)
    np.testing.assert_allclose(here.coef_, there.coef_, atol=1e-4)
    np.testing.assert_allclose(here.intercept_ + 1000, there.intercept_, atol=1e-3)
    assert there.score(X, y + 1000) > 0.9


def test_score_is_r_squared():
    X, y = rows()
    found = hinge.LinearSVR(C=10, loss="squared_epsilon_insensitive").fit(X, y)
    off = y - found.predict(X)
    assert found.score(X, y) == pytest.approx(1 - (off**2).sum() / ((y - y.mean()) ** 2).sum())
    assert found.score(X, y) > 0.95


def test_model_files(tmp_path):
    X, y = rows()
    found = hinge.LinearSVR(epsilon=0.2, loss="squared_epsilon_insensitive", C=2.0).fit(X, y)
    found.save(tmp_path / "m")
    again = hinge.LinearSVR.load(tmp_path / "m")
    np.testing.assert_array_equal(again.predict(X), found.predict(X))
    assert (again.epsilon, again.loss, again.C) == (0.2, "squared_epsilon_insensitive", 2.0)
    assert clone(again).get_params() == again.get_params()
    with pytest.raises(ValueError, match="LinearSVR"):
        hinge.LinearSVC.load(tmp_path / "m")


@pytest.mark.parametrize("wrong", [{"loss": "hinge"}, {"epsilon": -1}, {"epsilon": float("nan")}, {"C": 0}, {"dual": None},
                                   {"tol": -1}, {"solver": "focus"}])
def test_bad_parameters(wrong):
    with pytest.raises(ValueError, match=list(wrong)[0]):
        hinge.LinearSVR(**wrong).fit(*rows(50))


def test_weights_of_rows():
    X, y = rows(200)
    weights = np.random.default_rng(1).integers(0, 3, len(y))
    ours = hinge.LinearSVR(epsilon=0.1).fit(X, y, weights)
    repeated = hinge.LinearSVR(epsilon=0.1).fit(X[np.repeat(np.arange(len(y)), weights)], np.repeat(y, weights))
    np.testing.assert_allclose(ours.coef_, repeated.coef_, atol=1e-5)
    assert hinge.verify(ours, X, y, weights).agrees


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
@pytest.mark.parametrize("intercept", ["free", "scaled"])
def test_pegasos_ends_after_its_epochs_or_at_the_goal(loss, intercept):
    X, y = rows(400)
    best = hinge.LinearSVR(epsilon=0.1, loss=loss, C=0.1, intercept=intercept).fit(X, y).certificate_.primal
    quick = hinge.LinearSVR(epsilon=0.1, loss=loss, C=0.1, intercept=intercept, solver="pegasos").fit(X, y)
    assert quick.n_iter_ == 20 * len(y)
    assert best * (1 - 1e-9) <= quick.certificate_.primal <= 1.05 * best
    near = hinge.LinearSVR(epsilon=0.1, loss=loss, C=0.1, intercept=intercept, solver="pegasos", gap=0.05).fit(X, y)
    assert near.certificate_.relative_gap <= 0.05
    assert hinge.verify(near, X, y).agrees
