"""Data sets whose files have names of classes, or real targets, in place of whole numbers."""

import pickle

import numpy as np
import pytest

import hinge
from hinge import _core
from hinge.data import Dataset, to_rows

X = np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 0.0], [0.0, 2.0], [1.0, 1.5], [1.5, 1.0]])
PLACES = np.array([1, 0, 1, 0, 0, 1], dtype=np.int64)
NAMES = ["ant", "bee"]


@pytest.fixture
def named(tmp_path):
    Dataset._of(_core.wrap(to_rows(X), PLACES, None, 1, NAMES)).save(tmp_path / "d.hinge")
    return hinge.Dataset.read(tmp_path / "d.hinge")


@pytest.fixture
def targets(tmp_path):
    Dataset._of(_core.wrap(to_rows(X), None, None, 1, [], PLACES / 4)).save(tmp_path / "d.hinge")
    return hinge.Dataset.read(tmp_path / "d.hinge")


def test_names_are_the_labels(named):
    assert named.y.tolist() == [NAMES[k] for k in PLACES]
    assert not named.y.flags.writeable
    again = pickle.loads(pickle.dumps(named))
    assert again.y.tolist() == named.y.tolist()
    assert again._core.class_names == NAMES


@pytest.mark.parametrize("estimator", [hinge.LinearSVC(), hinge.PegasosClassifier()])
def test_estimators_learn_names(estimator, named, tmp_path):
    svm = estimator.fit(named)
    assert svm.classes_.tolist() == NAMES
    assert svm.predict(X).tolist() == named.y.tolist()
    assert svm.score(X, named.y) == 1
    assert hinge.verify(svm.model_, named).agrees
    svm.save(tmp_path / "m")
    model = hinge.read_model(tmp_path / "m")
    assert model.classes.tolist() == NAMES
    assert model.predict(X).tolist() == named.y.tolist()
    assert model.sections == []
    back = type(estimator).load(tmp_path / "m")
    assert back.classes_.tolist() == NAMES
    assert back.predict(X).tolist() == named.y.tolist()
    assert pickle.loads(pickle.dumps(model)).classes.tolist() == NAMES
    assert pickle.loads(pickle.dumps(svm)).predict(X).tolist() == named.y.tolist()
    other = estimator.fit(X, named.y)
    assert other.predict(X).tolist() == named.y.tolist()


def test_class_weights_by_name(named):
    svm = hinge.LinearSVC(class_weight={"bee": 2.5}).fit(named)
    assert svm.model_.origin["class_weights"] == {1: 2.5}
    assert hinge.verify(svm.model_, named).agrees


def test_names_and_numbers_do_not_start_each_other(named):
    svm = hinge.LinearSVC(warm_start=True).fit(named)
    svm.fit(X, named.y)
    svm.fit(named)
    assert svm.predict(X).tolist() == named.y.tolist()


def test_partial_fit_goes_on_with_names(named):
    svm = hinge.PegasosClassifier().fit(named)
    svm.partial_fit(named)
    assert svm.predict(X).tolist() == named.y.tolist()
    first = hinge.PegasosClassifier().partial_fit(named, classes=["cow", *NAMES])
    assert first.classes_.tolist() == [*NAMES, "cow"]
    assert set(first.predict(X)) <= {*NAMES, "cow"}


def test_places_that_no_row_has(tmp_path):
    names = ["a", "ant", "bee", "cow"]
    data = Dataset._of(_core.wrap(to_rows(X), PLACES + 1, None, 1, names))
    svm = hinge.PegasosClassifier().fit(data)
    assert svm.classes_.tolist() == NAMES
    assert svm.model_.predict(X).tolist() == data.y.tolist()
    svm.partial_fit(data)
    assert svm.predict(X).tolist() == data.y.tolist()


def test_bad_names_are_refused():
    with pytest.raises(hinge.DataError, match="data.label.name"):
        _core.wrap(to_rows(X), PLACES, None, 1, ["ant", ""])


def test_real_targets_are_read_but_not_trained_on(targets):
    assert targets.y.tolist() == (PLACES / 4).tolist()
    assert pickle.loads(pickle.dumps(targets)).y.tolist() == targets.y.tolist()
    for estimator in (hinge.LinearSVC(), hinge.PegasosClassifier()):
        with pytest.raises(hinge.DataError, match="data.label.kind"):
            estimator.fit(targets)


def test_load_svmlight_file_knows_all_labels(named, targets, tmp_path):
    named.save(tmp_path / "n.hinge")
    targets.save(tmp_path / "t.hinge")
    assert hinge.load_svmlight_file(tmp_path / "n.hinge")[1].tolist() == named.y.tolist()
    assert hinge.load_svmlight_file(tmp_path / "t.hinge")[1].tolist() == targets.y.tolist()


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon"])
def test_regression_on_real_targets(loss, tmp_path):
    random = np.random.default_rng(3)
    rows = random.normal(size=(200, 5))
    targets = rows @ [1, -2, 0.5, 0, 3] + 0.7 + 0.1 * random.normal(size=200)
    data = hinge.Dataset(rows, targets)
    core, report = _core.train(data._core, [("loss", loss), ("epsilon", "0.05"), ("bias", "free"), ("gap", "1e-6")], None, None)
    model = hinge.Model(core)
    assert report["status"] == "converged" and model.certificate.relative_gap <= 1e-6
    assert model.regression and model.classes.size == 0
    assert model.origin["loss"] == loss and model.origin["epsilon"] == 0.05
    scores = rows @ model.coef[0] + model.intercept[0]
    assert np.allclose(model.predict(rows), scores, rtol=0, atol=1e-12)
    assert np.abs(scores - targets).mean() < 0.2
    assert hinge.verify(model, data).proved
    model.save(tmp_path / "model")
    assert (hinge.read_model(tmp_path / "model").predict(rows) == model.predict(rows)).all()
    assert (pickle.loads(pickle.dumps(model)).predict(rows) == model.predict(rows)).all()


def test_text_with_real_labels(tmp_path):
    path = tmp_path / "t.svm"
    path.write_text("0.5 1:1\n-2 1:3\n1e-3 2:1\n")
    assert hinge.Dataset.read(path, real_labels=True).y.tolist() == [0.5, -2, 1e-3]
    assert hinge.load_svmlight_file(path, real_labels=True)[1].tolist() == [0.5, -2, 1e-3]
    with pytest.raises(hinge.DataError, match="not-integer"):
        hinge.Dataset.read(path)
    path.write_text("1 1:1\n-2.0 1:3\n")
    assert hinge.Dataset.read(path, real_labels=True).y.dtype == np.int64  # all are whole
