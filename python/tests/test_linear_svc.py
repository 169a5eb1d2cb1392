"""LinearSVC: that it finds the minimum, and minds its parameters."""

import re
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC, LinearSVC

import hinge
from conftest import make_sparse, primal


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("intercept", [None, "free", "scaled"])
@pytest.mark.parametrize("classes", [2, 3])
def test_certificate_is_the_objective(dense, dtype, intercept, classes):
    X, y = make_sparse(classes=classes, dtype=dtype)
    X = X.toarray() if dense else X
    svm = hinge.LinearSVC(C=0.7, gap=1e-5, fit_intercept=intercept is not None, intercept=intercept or "free").fit(X, y)
    found = svm.certificate_
    assert found.primal == pytest.approx(primal(svm, X, y, 0.7), rel=1e-9)
    assert found.dual <= found.primal and found.relative_gap <= 1e-5 and found.bound == "witness"
    assert svm.status_ == "converged"
    assert (svm.intercept_ == 0).all() == (intercept is None)
    assert svm.coef_.shape == (1 if classes == 2 else classes, X.shape[1])
    verified = hinge.verify(svm, X, y)
    assert verified.agrees and verified.recomputed.bound == "witness"


def test_same_minimum_as_libsvm(two):
    X, y = two
    ours = hinge.LinearSVC(C=0.5, gap=1e-9).fit(X, y)
    theirs = SVC(kernel="linear", C=0.5, tol=1e-7).fit(X.toarray(), y)
    assert ours.certificate_.primal <= primal(theirs_as_linear(theirs, ours), X, y, 0.5) * (1 + 1e-6)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=2e-3)


def theirs_as_linear(theirs, ours):
    class Linear:
        classes_, coef_, intercept_ = theirs.classes_, np.asarray(theirs.coef_), theirs.intercept_
        fit_intercept, intercept = True, "free"
    return Linear


@pytest.mark.parametrize("solver", ["dual", "newton", "cpa", "ocas", "ocas3", "active", "focus"])
def test_solvers_agree(solver, two):
    X, y = two
    best = hinge.LinearSVC(gap=1e-9).fit(X, y).certificate_
    svm = hinge.LinearSVC(solver=solver, gap=1e-4).fit(X, y)
    assert best.dual * (1 - 1e-9) <= svm.certificate_.primal <= best.primal * (1 + 2e-4)
    assert svm.model_.origin["solver"] == solver


@pytest.mark.parametrize("solver", ["auto", "dual", "newton"])
@pytest.mark.parametrize("classes", ["two", "three"])
def test_squared_hinge_is_that_of_scikit_learn(solver, classes, request):
    X, y = request.getfixturevalue(classes)
    for intercept in (None, "scaled"):
        ours = hinge.LinearSVC(C=0.5, loss="squared_hinge", gap=1e-10, solver=solver, fit_intercept=intercept is not None,
                               intercept=intercept or "free").fit(X, y)
        theirs = LinearSVC(C=0.5, loss="squared_hinge", tol=1e-10, max_iter=100_000, fit_intercept=intercept is not None,
                           dual=True).fit(X, y)
        np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
        np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-4)
        assert ours.certificate_.relative_gap <= 1e-10


def test_loss_comes_back(two, tmp_path):
    svm = hinge.LinearSVC(loss="squared_hinge").fit(*two)
    assert svm.model_.origin["loss"] == "squared_hinge" and hinge.verify(svm, *two).agrees
    svm.save(tmp_path / "m")
    assert hinge.LinearSVC.load(tmp_path / "m").get_params()["loss"] == "squared_hinge"
    assert clone(svm).loss == "squared_hinge"
    assert hinge.LinearSVC().fit(*two).model_.origin["loss"] == "hinge"


def test_threads_do_not_matter(three):
    models = [hinge.LinearSVC(n_jobs=n, gap=1e-6).fit(*three).model_._core.to_bytes() for n in (None, 1, 2, -1)]
    assert len(set(models)) == 1


def test_random_state(two):
    X, y = two
    fit = lambda state: hinge.LinearSVC(solver="dual", gap=0.05, random_state=state).fit(X, y).coef_
    np.testing.assert_array_equal(fit(None), fit(None))
    np.testing.assert_array_equal(fit(7), fit(7))
    assert (fit(7) != fit(8)).any()
    np.testing.assert_array_equal(fit(np.random.RandomState(3)), fit(np.random.RandomState(3)))


def test_sample_weight(two):
    X, y = two
    weights = np.random.default_rng(1).uniform(0, 2, len(y))
    svm = hinge.LinearSVC(C=0.3, gap=1e-6).fit(X, y, sample_weight=weights)
    assert svm.certificate_.primal == pytest.approx(primal(svm, X, y, 0.3, weights), rel=1e-9)
    assert hinge.verify(svm, X, y, weights).agrees
    with pytest.raises(hinge.DataError) as error:
        hinge.verify(svm, X, y)
    assert error.value.id == "verify.data"


def test_weight_zero_is_no_row(two):
    X, y = two
    weights = np.ones(len(y))
    weights[::3] = 0
    with_zeros = hinge.LinearSVC().fit(X, y, sample_weight=weights)
    without = hinge.LinearSVC().fit(X[weights > 0], y[weights > 0])
    np.testing.assert_array_equal(with_zeros.coef_, without.coef_)
    assert hinge.verify(with_zeros, X, y, weights).agrees


def test_weight_zero_takes_a_class_away(three):
    X, y = three
    names = np.array(["ant", "bee", "cat"])[y]
    for labels in (y, names):
        svm = hinge.LinearSVC().fit(X, labels, sample_weight=(y != 1).astype(float))
        assert svm.classes_.tolist() == sorted(set(labels[y != 1].tolist()))
        assert set(svm.predict(X)) <= set(svm.classes_)


def test_class_weight(two):
    X, y = two
    rows = np.where(y == 1, 3.0, 0.5)
    by_class = hinge.LinearSVC(gap=1e-6, class_weight={1: 3, -1: 0.5}).fit(X, y)
    assert by_class.certificate_.primal == pytest.approx(primal(by_class, X, y, 1.0, rows), rel=1e-9)
    counts = {c: (y == c).sum() for c in (-1, 1)}
    balanced = hinge.LinearSVC(gap=1e-6, class_weight="balanced").fit(X, y)
    rows = np.array([len(y) / (2 * counts[label]) for label in y])
    assert balanced.certificate_.primal == pytest.approx(primal(balanced, X, y, 1.0, rows), rel=1e-9)


def test_class_weight_balanced_minds_sample_weight(two):
    X, y = two
    repeats = np.random.default_rng(2).integers(1, 4, len(y))
    weighted = hinge.LinearSVC(class_weight="balanced", gap=1e-8).fit(X, y, sample_weight=repeats)
    repeated = hinge.LinearSVC(class_weight="balanced", gap=1e-8).fit(X[np.repeat(np.arange(len(y)), repeats)],
                                                                      np.repeat(y, repeats))
    assert weighted.certificate_.primal == pytest.approx(repeated.certificate_.primal, rel=1e-7)


def test_class_weight_of_named_classes(three):
    X, y = three
    names = np.array(["ant", "bee", "cat"])[y]
    a = hinge.LinearSVC(class_weight={"bee": 5}).fit(X, names)
    b = hinge.LinearSVC(class_weight={1: 5}).fit(X, y)
    np.testing.assert_array_equal(a.coef_, b.coef_)
    with pytest.warns(UserWarning, match="no row has label 'dog'"):
        hinge.LinearSVC(class_weight={"dog": 5}).fit(X, names)
    with pytest.raises(ValueError, match="class_weight: expected a dict"):
        hinge.LinearSVC(class_weight="unbalanced").fit(X, names)


def test_default_gap_is_finer_on_small_data():
    X, y = make_sparse(400, 60)  # 4,800 values
    assert hinge.LinearSVC().fit(X, y).model_.origin["gap"] == 1e-10
    X, y = make_sparse(4000, 60)
    assert hinge.LinearSVC().fit(X, y).model_.origin["gap"] == 1e-3
    assert hinge.LinearSVC(gap=0.01).fit(X, y).model_.origin["gap"] == 0.01


def test_warm_start_begins_where_the_last_fit_ended():
    X, y = make_sparse(2000, 200)
    warm = hinge.LinearSVC(solver="dual", gap=1e-5, warm_start=True).fit(X, y)
    cold = warm.n_iter_
    first = warm.trace_["relative_gap"][0]
    assert warm.fit(X, y).n_iter_ < cold
    assert warm.trace_["relative_gap"][0] < first
    assert warm.certificate_.relative_gap <= 1e-5
    warm.set_params(C=2.0, solver="auto").fit(X, y)
    fresh = hinge.LinearSVC(C=2.0, gap=1e-5).fit(X, y)
    assert warm.certificate_.primal == pytest.approx(fresh.certificate_.primal, rel=2e-5)


def test_warm_start_with_other_classes_or_columns_begins_anew(two, three):
    svm = hinge.LinearSVC(warm_start=True).fit(*two)
    svm.fit(*three)
    np.testing.assert_array_equal(svm.coef_, hinge.LinearSVC().fit(*three).coef_)
    X, y = three
    svm.fit(X[:, :30], y)
    np.testing.assert_array_equal(svm.coef_, hinge.LinearSVC().fit(X[:, :30], y).coef_)


def test_limits_warn_and_keep_the_best():
    X, y = make_sparse(3000, 300)
    with pytest.warns(ConvergenceWarning, match="solver.limit"):
        svm = hinge.LinearSVC(max_iter=1, gap=1e-9, solver="dual").fit(X, y)
    assert svm.status_ == "limit" and 1e-9 < svm.certificate_.relative_gap < 1
    assert hinge.verify(svm, X, y).agrees
    with pytest.warns(ConvergenceWarning):
        svm = hinge.LinearSVC(time_limit=0, gap=1e-9).fit(X, y)
    assert svm.status_ == "limit" and svm.predict(X).shape == y.shape


def test_converged_fits_do_not_warn(two, three):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        hinge.LinearSVC().fit(*two)
        hinge.LinearSVC().fit(*three)


def test_trace():
    X, y = make_sparse(3000, 300, classes=3)
    svm = hinge.LinearSVC(solver="dual", gap=1e-6).fit(X, y)
    trace = svm.trace_
    assert set(trace) == {"seconds", "passes", "iteration", "problem", "primal", "dual", "relative_gap", "active_rows",
                          "planes", "step", "objective_rows", "search_rows", "objective_seconds", "search_seconds"}
    assert len({len(column) for column in trace.values()}) == 1 and len(trace["seconds"]) > 3
    for k in range(3):
        own = trace["problem"] == k
        assert own.any()
        assert (np.diff(trace["primal"][own]) <= 0).all() and (np.diff(trace["dual"][own]) >= 0).all()
        assert (np.diff(trace["passes"][own]) >= 0).all() and (np.diff(trace["seconds"][own]) >= 0).all()
        assert trace["relative_gap"][own][-1] <= 1e-6


def test_verbose(capsys):
    X, y = make_sparse(3000, 300)
    hinge.LinearSVC(solver="dual", gap=1e-6).fit(X, y)
    assert capsys.readouterr().out == ""
    svm = hinge.LinearSVC(solver="dual", gap=1e-6, verbose=2).fit(X, y)
    *progress, last = capsys.readouterr().out.splitlines()
    line = re.compile(r"training: \d+\.\d s, \d+ passes(, gap \d\S*)?")
    assert len(progress) >= len(svm.trace_["seconds"]) and all(line.fullmatch(text) for text in progress)
    found = svm.certificate_
    assert re.fullmatch(re.escape(f"gap {found.relative_gap:.2g} (primal {found.primal:.8g}, bound {found.dual:.8g})")
                        + r" after \S+ s", last)
    hinge.LinearSVC(gap=1e-6, verbose=1).fit(X, y)
    shown = capsys.readouterr().out.splitlines()
    assert 1 < len(shown) < len(progress) and re.match(r"solver auto:\w+, because ", shown[-2])


def test_verbose_that_fails_ends_the_fit(monkeypatch, two):
    def broken(*arguments, **options):
        raise BrokenPipeError("nobody reads")
    monkeypatch.setattr("builtins.print", broken)
    svm = hinge.LinearSVC(verbose=2)
    with pytest.raises(BrokenPipeError):
        svm.fit(*two)
    assert not hasattr(svm, "model_")


def test_trace_of_cutting_planes(two):
    trace = hinge.LinearSVC(solver="focus", gap=1e-5).fit(*two).trace_
    assert trace["planes"].max() > 1 and trace["step"].max() > 0
    for name in ("objective_rows", "search_rows", "objective_seconds", "search_seconds"):
        assert (np.diff(trace[name]) >= 0).all() and trace[name][-1] > 0, name
    assert not hinge.LinearSVC(solver="dual", gap=1e-5).fit(*two).trace_["search_rows"].any()


@pytest.mark.parametrize("solver", ["auto", "dual", "newton", "active"])
def test_goals(solver, two, three):
    X, y = two
    best = hinge.LinearSVC(gap=1e-9).fit(X, y).certificate_.primal
    for goal, reached in [(dict(gap_absolute=0.05 * best), lambda c: c.primal - c.dual <= 0.05 * best),
                          (dict(gap_per_row=0.02), lambda c: (c.primal - c.dual) / len(y) <= 0.02),
                          (dict(target=1.05 * best), lambda c: c.primal <= 1.05 * best)]:
        svm = hinge.LinearSVC(solver=solver, **goal).fit(X, y)
        assert svm.status_ == "converged" and reached(svm.certificate_)
        assert svm.certificate_.relative_gap > 1e-6  # the default is not asked for
        assert hinge.verify(svm, X, y).agrees
    X, y = three
    svm = hinge.LinearSVC(solver=solver, gap_per_row=0.02, gap=1e-9).fit(X, y)
    assert all((c.primal - c.dual) / len(y) <= 0.02 for c in svm.model_.certificates)


def test_goals_that_are_not_reached(two):
    with pytest.warns(ConvergenceWarning, match="a primal within 1e-09 of the bound was asked for"):
        assert hinge.LinearSVC(gap_absolute=1e-9, max_iter=2).fit(*two).status_ == "limit"
    with pytest.warns(ConvergenceWarning, match="no point has a primal of 0.001"):
        assert hinge.LinearSVC(target=0.001).fit(*two).status_ == "limit"


def test_goals_come_back(two, tmp_path):
    svm = hinge.LinearSVC(gap_per_row=0.03, gap_absolute=1e-3, target=2.5)
    assert clone(svm).get_params() == svm.get_params()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        svm.fit(*two).save(tmp_path / "m")
    found = hinge.LinearSVC.load(tmp_path / "m").get_params()
    assert (found["gap"], found["gap_per_row"], found["gap_absolute"], found["target"]) == (None, 0.03, 1e-3, 2.5)


def test_planes_and_mu(two):
    X, y = two
    usual = hinge.LinearSVC(solver="ocas", gap=1e-5).fit(X, y)
    for parameters in (dict(planes=5), dict(mu=0.5)):
        other = hinge.LinearSVC(solver="ocas", gap=1e-5, **parameters).fit(X, y)
        assert (other.coef_ != usual.coef_).any() and other.certificate_.relative_gap <= 1e-5
        if "planes" in parameters:
            assert other.trace_["planes"].max() <= 5 < usual.trace_["planes"].max()


def test_reject(three, tmp_path):
    X, y = three
    plain = hinge.LinearSVC(C=0.01).fit(X, y)
    none = (plain.decision_function(X) <= 0).all(axis=1)
    assert 0 < none.sum() < len(y)
    svm = hinge.LinearSVC(C=0.01, reject=-7).fit(X, y)
    np.testing.assert_array_equal(svm.coef_, plain.coef_)
    np.testing.assert_array_equal(svm.predict(X), np.where(none, -7, plain.predict(X)))
    assert svm.predict(X).dtype == plain.predict(X).dtype and svm.score(X, y) < plain.score(X, y)
    assert clone(svm).reject == -7
    svm.save(tmp_path / "m")
    again = hinge.LinearSVC.load(tmp_path / "m")
    assert again.reject not in y
    np.testing.assert_array_equal(again.predict(X) == again.reject, none)
    names = np.array(["ant", "bee", "cat"])[np.unique(y, return_inverse=True)[1]]
    assert (hinge.LinearSVC(C=0.01, reject="nothing").fit(X, names).predict(X)[none] == "nothing").all()
    for bad, labels in ((y[0], y), ("none", y), (True, y), (3, names), ("bee", names)):
        with pytest.raises(ValueError, match="reject: "):
            hinge.LinearSVC(reject=bad).fit(X, labels)


def test_reject_of_two_classes_changes_nothing(two):
    X, y = two
    np.testing.assert_array_equal(hinge.LinearSVC(reject=9).fit(X, y).predict(X),
                                  hinge.LinearSVC().fit(X, y).predict(X))


PARAMETERS = [
    (dict(C=0), "C: expected a finite number > 0"), (dict(C=-1), "C: "), (dict(C=float("nan")), "C: "),
    (dict(C=float("inf")), "C: "), (dict(C="abc"), 'C: .*"abc"'), (dict(C=None), "C: "), (dict(C=True), "C: "),
    (dict(loss="log"), "loss: expected \"hinge\" or \"squared_hinge\""), (dict(loss=None), "loss: "),
    (dict(loss="squared_hinge", solver="focus"), "squared_hinge"),
    (dict(gap=0), "gap: "), (dict(gap=2), "gap: "), (dict(gap=float("nan")), "gap: "),
    (dict(gap_absolute=0), "gap_absolute: expected a finite number > 0"), (dict(gap_absolute="x"), "gap_absolute: "),
    (dict(gap_per_row=-1), "gap_per_row: "), (dict(target=float("inf")), "target: "),
    (dict(planes=1, solver="ocas"), "planes: "), (dict(mu=2, solver="ocas"), "mu: "),
    (dict(planes=10, solver="dual"), "planes, mu"), (dict(mu=0.1), "planes, mu"),
    (dict(solver="abc"), "solver: .*dual"), (dict(solver="pegasos"), "PegasosClassifier"),
    (dict(intercept="loose"), 'intercept: expected "free" or "scaled"'),
    (dict(max_iter=0), "max_iter: "), (dict(max_iter=-1), "max_iter: "), (dict(max_iter=1.5), "max_iter: "),
    (dict(time_limit=-1), "time_limit: "), (dict(time_limit=float("nan")), "time_limit: "),
    (dict(random_state=-1), "random_state: "), (dict(n_jobs=0), "n_jobs"),
    (dict(class_weight={1: 0.0}), "class_weight: "), (dict(class_weight={1: float("nan")}), "class_weight: "),
]


@pytest.mark.parametrize("parameters, message", PARAMETERS, ids=lambda value: str(value))
def test_bad_parameters(parameters, message, two):
    svm = hinge.LinearSVC(**parameters)
    with pytest.raises(ValueError, match=message):
        svm.fit(*two)
    assert not hasattr(svm, "coef_")
    assert clone(svm).get_params().keys() == svm.get_params().keys()


def test_refit_that_fails_leaves_nothing(two):
    for bad in (dict(C=-1), dict(intercept="loose"), dict(n_jobs=0)):
        svm = hinge.LinearSVC().fit(*two)
        with pytest.raises(ValueError):
            svm.set_params(**bad).fit(*two)
        assert not any(hasattr(svm, name) for name in ("coef_", "classes_", "model_", "n_features_in_", "certificate_"))


def test_coef_is_read_only_and_may_be_sparse(three):
    svm = hinge.LinearSVC().fit(*three)
    with pytest.raises(ValueError, match="read-only"):
        svm.coef_[0, 0] = 1
    dense, scores = np.array(svm.coef_), svm.decision_function(three[0])
    assert svm.sparsify().coef_.format == "csr"
    np.testing.assert_array_equal(svm.coef_.toarray(), dense)
    np.testing.assert_array_equal(svm.decision_function(three[0]), scores)
    np.testing.assert_array_equal(svm.densify().coef_, dense)


def test_decision_function_is_the_product(three):
    X, y = three
    svm = hinge.LinearSVC().fit(X, y)
    np.testing.assert_allclose(svm.decision_function(X), X @ svm.coef_.T + svm.intercept_, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(svm.predict(X), svm.classes_[svm.decision_function(X).argmax(axis=1)])


def test_few_columns_among_billions():
    """A weight vector nobody could keep is never made."""
    from scipy import sparse
    columns = np.array([3, 2_000_000_000, 7, 2_000_000_001])
    X = sparse.csr_array((np.ones(4), (np.arange(4) // 2, columns)), shape=(2, 2_100_000_000))
    svm = hinge.LinearSVC().fit(X, [0, 1])
    assert svm.predict(X).tolist() == [0, 1]


# ---- scikit-learn's names of parameters.


def test_names_of_scikit_learn(two):
    X, y = two
    ours = hinge.LinearSVC(loss="squared_hinge", gap=1e-4).fit(X, y)
    same = hinge.LinearSVC(penalty="l2", loss="squared_hinge", dual=False, tol=1e-4, C=1.0, multi_class="ovr",
                           fit_intercept=True, class_weight=None, verbose=0, random_state=None).fit(X, y)
    np.testing.assert_array_equal(ours.coef_, same.coef_)
    for dual in (True, "auto"):
        np.testing.assert_array_equal(clone(same).set_params(dual=dual).fit(X, y).coef_, ours.coef_)


def test_intercept_scaling_is_that_of_scikit_learn(two):
    X, y = two
    for scaling in (0.5, 10):
        ours = hinge.LinearSVC(loss="squared_hinge", intercept="scaled", intercept_scaling=scaling, gap=1e-11).fit(X, y)
        theirs = LinearSVC(intercept_scaling=scaling, tol=1e-10, max_iter=100_000, dual=True).fit(X, y)
        np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
        np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-4)


def test_tol_is_the_gap_where_none_is_given(two):
    X, y = two
    assert hinge.LinearSVC(tol=0.05).fit(X, y).model_.origin["gap"] == 0.05
    assert hinge.LinearSVC(tol=0.05, gap=0.01).fit(X, y).model_.origin["gap"] == 0.01
    with pytest.raises(hinge.UsageError, match="tol: expected"):
        hinge.LinearSVC(tol=-1).fit(X, y)
    with pytest.raises(hinge.UsageError, match="gap: expected"):
        hinge.LinearSVC(tol=1e-3, gap=-1).fit(X, y)


@pytest.mark.parametrize("wrong", [{"penalty": "l1"}, {"penalty": None}, {"dual": "yes"}, {"dual": None},
                                   {"multi_class": "crammer_singer"}, {"intercept": "scaled", "intercept_scaling": 0},
                                   {"intercept": "scaled", "intercept_scaling": -1}])
def test_what_stands_for_another_problem_is_refused(wrong, two):
    with pytest.raises(ValueError, match=f"^{list(wrong)[-1]}: expected"):
        hinge.LinearSVC(**wrong).fit(*two)


def test_intercept_scaling_comes_back(two, tmp_path):
    svm = hinge.LinearSVC(intercept="scaled", intercept_scaling=3.0).fit(*two)
    svm.save(tmp_path / "m")
    assert hinge.LinearSVC.load(tmp_path / "m").get_params()["intercept_scaling"] == 3.0
