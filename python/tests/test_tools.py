"""With what people use around an estimator: scikit-learn's tools, data frames, figures."""

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits, load_iris
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.feature_selection import SelectFromModel
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multiclass import OneVsOneClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import hinge

ESTIMATORS = [hinge.LinearSVC(), hinge.PegasosClassifier(1e-3, epochs=50)]
TEXTS = ["the cat sat", "a cat ran", "the dog sat", "a dog ran", "cats and cats", "dogs and dogs", "one cat", "one dog"] * 3
ABOUT = ["cat", "cat", "dog", "dog", "cat", "dog", "cat", "dog"] * 3


@pytest.fixture(params=ESTIMATORS, ids=lambda e: type(e).__name__)
def estimator(request):
    return request.param


def test_pipeline_and_grid_search(estimator):
    X, y = load_iris(return_X_y=True)
    name = "C" if isinstance(estimator, hinge.LinearSVC) else "lambda_"
    grid = GridSearchCV(make_pipeline(StandardScaler(), estimator), {f"{type(estimator).__name__.lower()}__{name}": [0.01, 0.1, 1]},
                        cv=4, n_jobs=2, error_score="raise").fit(X, y)
    assert grid.best_score_ > 0.85 and len(grid.cv_results_["mean_test_score"]) == 3


def test_cross_val_score(estimator):
    X, y = load_digits(return_X_y=True)
    assert cross_val_score(estimator, X[:600] / 16, y[:600], cv=3, n_jobs=2, error_score="raise").min() > 0.8


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_calibrated(estimator, method):
    X, y = load_iris(return_X_y=True)
    calibrated = CalibratedClassifierCV(make_pipeline(StandardScaler(), estimator), method=method, cv=3).fit(X, y)
    probabilities = calibrated.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert calibrated.score(X, y) > 0.8


def test_text_pipeline(estimator):
    pipeline = make_pipeline(TfidfVectorizer(token_pattern=r"\w+", ngram_range=(1, 2)), estimator).fit(TEXTS, ABOUT)
    assert pipeline.predict(["the cat ran", "a dog sat"]).tolist() == ["cat", "dog"]


def test_others(estimator):
    X, y = load_iris(return_X_y=True)
    assert OneVsOneClassifier(make_pipeline(StandardScaler(), estimator)).fit(X, y).score(X, y) > 0.9
    chosen = SelectFromModel(estimator, max_features=2, threshold=-np.inf).fit(StandardScaler().fit_transform(X), y)
    assert chosen.transform(X).shape == (150, 2)


def check_frame(estimator, frame, shuffled, plain):
    y = np.arange(len(plain)) % 2
    svm = estimator.fit(frame, y)
    assert svm.feature_names_in_.tolist() == ["a", "b", "c"] and svm.n_features_in_ == 3
    np.testing.assert_array_equal(svm.predict(frame), svm.predict(plain))
    with pytest.raises(ValueError, match="feature names"):
        svm.predict(shuffled)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_pandas(estimator):
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    plain = np.random.default_rng(0).standard_normal((40, 3))
    frame = pandas.DataFrame(plain, columns=["a", "b", "c"])
    check_frame(estimator, frame, frame[["c", "b", "a"]], plain)
    labels = pandas.Series(np.where(plain[:, 0] > 0, "yes", "no"), dtype="category", index=range(100, 140))
    svm = estimator.fit(frame, labels, sample_weight=pandas.Series(np.ones(40)))
    assert svm.classes_.tolist() == ["no", "yes"] and svm.score(frame, labels) > 0.9
    column = lambda values: pandas.arrays.SparseArray(np.array(values, float), fill_value=0.0)
    sparse = pandas.DataFrame({"a": column([0, 1, 0, 2]), "b": column([1, 0, 1, 0])})
    assert estimator.fit(sparse, [0, 1, 0, 1]).predict(sparse).tolist() == [0, 1, 0, 1]
    with pytest.raises(TypeError, match="datetime64"):
        estimator.fit(pandas.DataFrame({"a": pandas.date_range("2020", periods=4), "b": [1.0, 2, 3, 4]}), [0, 1, 0, 1])
    with pytest.raises(ValueError, match="2\\^53"):
        estimator.fit(pandas.DataFrame({"a": [2**60, 1, 2, 3], "b": [1.0, 2, 3, 4]}), [0, 1, 0, 1])


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_polars(estimator):
    polars = pytest.importorskip("polars", reason="polars is not installed")
    plain = np.random.default_rng(0).standard_normal((40, 3))
    frame = polars.DataFrame(plain, schema=["a", "b", "c"])
    check_frame(estimator, frame, frame.select(["c", "b", "a"]), plain)
    labels = polars.Series(np.where(plain[:, 0] > 0, "yes", "no"))
    svm = estimator.fit(frame, labels)
    assert svm.classes_.tolist() == ["no", "yes"] and svm.score(frame, labels) > 0.9


def test_plot_trace():
    matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    matplotlib.use("Agg")
    X, y = load_digits(return_X_y=True)
    fits = [hinge.LinearSVC(solver=solver, gap=1e-3).fit(X[:300], y[:300] < 5) for solver in ("dual", "newton")]
    for x, label in (("seconds", "seconds"), ("passes", "passes over the data")):
        axes = hinge.plot_trace(*fits, x=x)
        assert [text.get_text() for text in axes.get_legend().get_texts()] == ["dual", "newton"]
        assert axes.get_yscale() == "log" and axes.get_xlabel() == label
        np.testing.assert_array_equal(axes.lines[0].get_ydata(), fits[0].trace_["relative_gap"])
    again = hinge.plot_trace(fits[0].trace_, labels=["mine"], ax=axes)
    assert again is axes
    with pytest.raises(ValueError, match="seconds"):
        hinge.plot_trace(*fits, x="hours")
    with pytest.raises(ValueError, match="nothing to draw"):
        hinge.plot_trace()
