"""Models: files, pickles, certificates, and the command line beside them."""

import pickle
import re

import numpy as np
import pytest

import hinge
from conftest import make_sparse


@pytest.fixture
def text(tmp_path, three):
    path = tmp_path / "train.svm"
    hinge.Dataset(*three).save(path, "text")
    return path


# ---- Files.

@pytest.mark.parametrize("classes", [2, 3])
def test_save_and_load(tmp_path, classes):
    X, y = make_sparse(classes=classes)
    svm = hinge.LinearSVC(C=0.5, intercept="scaled", gap=1e-4, random_state=3).fit(X, y)
    svm.save(tmp_path / "svm.model")
    again = hinge.LinearSVC.load(tmp_path / "svm.model")
    assert again.get_params() == svm.get_params()
    assert again.certificate_ == svm.certificate_ and again.status_ == "converged" and again.n_iter_ == svm.n_iter_
    np.testing.assert_array_equal(again.coef_, svm.coef_)
    np.testing.assert_array_equal(again.predict(X), svm.predict(X))
    assert hinge.verify(again, X, y).agrees
    assert again.model_._core.to_bytes() == (tmp_path / "svm.model").read_bytes()


def test_names_of_classes(tmp_path, three):
    X, y = three
    names = np.array(["ant", "bee", "cat"])[y]
    svm = hinge.LinearSVC().fit(X, names)
    svm.save(tmp_path / "model")
    assert hinge.LinearSVC.load(tmp_path / "model").classes_.tolist() == [0, 1, 2]
    again = hinge.LinearSVC.load(tmp_path / "model", classes=["ant", "bee", "cat"])
    np.testing.assert_array_equal(again.predict(X), svm.predict(X))
    with pytest.raises(ValueError, match="the model has 3, got 2"):
        hinge.LinearSVC.load(tmp_path / "model", classes=["ant", "bee"])


def test_pegasos_files(tmp_path, three):
    X, y = three
    for svm in (hinge.PegasosClassifier(0.01, random_state=2).fit(X, y),
                hinge.PegasosClassifier(0.01, kernel="rbf", gamma=0.1, epochs=2, random_state=2).fit(X, y)):
        svm.save(tmp_path / "model")
        again = hinge.PegasosClassifier.load(tmp_path / "model")
        assert again.lambda_ == pytest.approx(0.01) and again.kernel == svm.kernel
        np.testing.assert_array_equal(again.decision_function(X), svm.decision_function(X))
    with pytest.raises(ValueError, match="LinearSVC has no kernels"):
        hinge.LinearSVC.load(tmp_path / "model")
    online = hinge.PegasosClassifier(0.01).partial_fit(X[:200], y[:200], classes=[0, 1, 2])
    online.save(tmp_path / "model")
    resumed = hinge.PegasosClassifier.load(tmp_path / "model").partial_fit(X[200:], y[200:])
    np.testing.assert_array_equal(resumed.coef_, online.partial_fit(X[200:], y[200:]).coef_)


def test_liblinear_files(tmp_path, two):
    X, y = two
    svm = hinge.LinearSVC(fit_intercept=False).fit(X, y)
    svm.save(tmp_path / "svm.liblinear", format="liblinear")
    assert (tmp_path / "svm.liblinear").read_text().startswith("solver_type L2R_L1LOSS_SVC_DUAL\n")
    model = hinge.read_model(tmp_path / "svm.liblinear")
    np.testing.assert_array_equal(model.coef, svm.coef_)
    np.testing.assert_array_equal(model.predict(X), svm.predict(X))
    # The same model with the labels in the other order.
    text = (tmp_path / "svm.liblinear").read_text().replace("label 1 -1", "label -1 1")
    (tmp_path / "other.liblinear").write_text(text)
    other = hinge.read_model(tmp_path / "other.liblinear")
    np.testing.assert_array_equal(other.decision_function(X), -svm.decision_function(X))
    np.testing.assert_array_equal(other.coef, -svm.coef_)
    with pytest.raises(ValueError, match="format"):
        svm.save(tmp_path / "x", format="onnx")


def test_files_are_replaced_whole(tmp_path, two):
    svm = hinge.LinearSVC().fit(*two)
    svm.save(tmp_path / "model")
    before = (tmp_path / "model").read_bytes()
    with pytest.raises(OSError):
        svm.save(tmp_path)
    assert (tmp_path / "model").read_bytes() == before and [p.name for p in tmp_path.iterdir()] == ["model"]


# ---- Pickles.

def test_pickle_holds_the_bytes_of_the_file(tmp_path, three):
    svm = hinge.LinearSVC().fit(*three)
    svm.save(tmp_path / "model")
    data = pickle.dumps(svm)
    assert (tmp_path / "model").read_bytes() in data and svm.coef_.tobytes() in data
    assert data.count(svm.coef_[0].tobytes()) == 1  # once, not again as coef_
    again = pickle.loads(data)
    assert again.certificate_ == svm.certificate_ and hinge.verify(again, *three).agrees
    np.testing.assert_array_equal(again.coef_, svm.coef_)
    assert pickle.loads(pickle.dumps(svm.sparsify())).coef_.format == "csr"


def test_every_damaged_byte_of_a_pickled_model_is_refused():
    X, y = make_sparse(30, 4)
    good = hinge.LinearSVC().fit(X, y).model_._core.to_bytes()
    for place in range(0, len(good), 3):
        bad = bytearray(good)
        bad[place] ^= 1 << (place % 8)
        with pytest.raises(hinge.CorruptError):
            hinge.model._from_bytes(bytes(bad))


# ---- Certificates.

def test_verify_says_exactly_what_there_is(tmp_path, two, program):
    X, y = two
    witness = hinge.LinearSVC(gap=1e-4).fit(X, y)
    found = hinge.verify(witness, X, y)
    assert found.agrees and found.stored == witness.certificate_
    assert (found.stored.bound, found.recomputed.bound) == ("witness", "witness")
    assert found.recomputed.primal == pytest.approx(found.stored.primal, rel=1e-9)
    assert found.recomputed.dual == pytest.approx(found.stored.dual, rel=1e-9)
    assert found.recomputed.relative_gap <= 1e-4

    data = hinge.Dataset(X, y)
    data.save(tmp_path / "rows.hinge")
    program("train", tmp_path / "rows.hinge", tmp_path / "bare.model", "--no-witness", "--gap", "1e-4")
    bare = hinge.read_model(tmp_path / "bare.model")
    rows = hinge.Dataset.read(tmp_path / "rows.hinge")
    found = hinge.verify(bare, rows)
    assert found.agrees and (found.stored.bound, found.recomputed.bound) == ("witness", "none")
    assert found.recomputed.relative_gap == 1
    found = hinge.verify(bare, rows, prove=True, gap=1e-5)
    assert found.agrees and (found.stored.bound, found.recomputed.bound) == ("witness", "proved")
    assert found.recomputed.relative_gap < 2e-4 and found.recomputed.dual <= found.recomputed.primal


def test_verify_notices(two):
    X, y = two
    svm = hinge.LinearSVC().fit(X, y)
    for wrong in [(X[::-1], y[::-1]), (X * 2, y), (X[:-1], y[:-1]), (X[:, :-1], y), (X, -y),
                  (X.astype(np.float32), y)]:
        with pytest.raises(hinge.DataError) as caught:
            hinge.verify(svm.model_, *wrong)
        assert caught.value.id == "verify.data"
    online = hinge.PegasosClassifier().partial_fit(X, y, classes=[-1, 1])
    with pytest.raises(hinge.DataError, match="learned online") as caught:
        hinge.verify(online, X, y)
    assert caught.value.id == "verify.data"


def test_forged_certificates_do_not_agree(two):
    """A model that says it is better than it is, its checksums mended."""
    xxhash = pytest.importorskip("xxhash", reason="xxhash is not installed: checksums cannot be mended")

    def forge(data, old, new):
        size = int.from_bytes(data[:8], "little")
        header = data[8:8 + size].decode()
        assert header.count(old) == 1 and len(old) == len(new)
        header = re.sub(r'("checksum.header":")\w{16}', r"\g<1>" + "0" * 16, header.replace(old, new))
        sum = xxhash.xxh3_64_hexdigest(header.encode())
        return data[:8] + header.replace('"checksum.header":"' + "0" * 16, f'"checksum.header":"{sum}').encode() + data[8 + size:]

    X, y = two
    svm = hinge.LinearSVC().fit(X, y)
    good = svm.model_._core.to_bytes()
    for name in ("primal", "dual"):
        claimed = getattr(svm.certificate_, name)
        text = f'{name}\\":{claimed!r}'
        place = text.index(".") + 2  # the second digit after the point
        lie = text[:place] + ("7" if text[place] != "7" else "3") + text[place + 1:]
        assert hinge.verify(hinge.model._from_bytes(forge(good, text, text)), X, y).agrees
        found = hinge.verify(hinge.model._from_bytes(forge(good, text, lie)), X, y)
        assert not found.agrees and getattr(found.recomputed, name) == pytest.approx(claimed, rel=1e-9)


# ---- The command line.

def test_the_program_reads_our_models(tmp_path, text, three, program):
    X, y = three
    svm = hinge.LinearSVC(C=0.1, gap=1e-4).fit(X, y)
    svm.save(tmp_path / "python.model")
    labels = [int(line) for line in program("predict", text, tmp_path / "python.model", "-").split()]
    np.testing.assert_array_equal(labels, svm.predict(X))
    out = program("verify", tmp_path / "python.model", text)
    assert "agrees" in out or "confirmed" in out or "verified" in out.lower(), out


def test_we_read_its_models(tmp_path, text, three, program):
    X, y = three
    program("train", text, tmp_path / "cli.model", "--bias", "free", "--gap", "1e-8", "--precision", "f64", "--cost", "0.1")
    model = hinge.read_model(tmp_path / "cli.model")
    svm = hinge.LinearSVC(C=0.1, gap=1e-8).fit(X, y)
    # The same rows, options and library give the same bits.
    np.testing.assert_array_equal(model.coef, svm.coef_)
    np.testing.assert_array_equal(model.intercept, svm.intercept_)
    assert model.certificate == svm.certificate_
    np.testing.assert_array_equal(model.predict(X), svm.predict(X))
    assert hinge.verify(model, X, y).agrees
    estimator = hinge.LinearSVC.load(tmp_path / "cli.model")
    assert (estimator.C, estimator.intercept, estimator.fit_intercept) == (0.1, "free", True)


def test_models_of_several_costs(tmp_path, text, program):
    program("train", text, tmp_path / "path.model", "--cost", "0.1,1,10")
    assert hinge.read_model(tmp_path / "path.model", cost=1).origin["cost"] == 1
    with pytest.raises(ValueError, match=r"costs \[0.1, 1.0, 10.0\]"):
        hinge.read_model(tmp_path / "path.model")
    with pytest.raises(ValueError, match="got 3"):
        hinge.LinearSVC.load(tmp_path / "path.model", cost=3)


def test_model_by_itself(three):
    X, y = three
    svm = hinge.LinearSVC().fit(X, y + 5)
    model = svm.model_
    assert model.classes.tolist() == [5, 6, 7] and model.n_features == 60 and model.kernel == "linear"
    assert model.support is None and len(model.certificates) == 3
    assert sum(c.primal for c in model.certificates) == pytest.approx(model.certificate.primal)
    np.testing.assert_array_equal(model.predict(X), svm.predict(X))
    np.testing.assert_array_equal(model.decision_function(X.toarray()), svm.decision_function(X.toarray()))
    assert "3 classes, 60 features" in repr(model)
    assert model.origin["rows"] == 400 and model.origin["precision"] == "float64"


def test_a_class_of_which_nothing_was_learned_never_wins(tmp_path, program):
    path, rows = tmp_path / "model", tmp_path / "rows.svm"
    path.write_text("solver_type L2R_L1LOSS_SVC_DUAL\nnr_class 3\nlabel 5 6 7\nnr_feature 2\nbias -1\nw\n-1 0 -2\n-1 0 -2\n")
    rows.write_text("5 1:1 2:1\n7 1:-1 2:-1\n")
    model, X = hinge.read_model(path), np.array([[1.0, 1.0], [-1.0, -1.0]])
    np.testing.assert_array_equal(model.decision_function(X), [[-2, 0, -4], [2, 0, 4]])
    np.testing.assert_array_equal(model.predict(X), [5, 7])
    np.testing.assert_array_equal(hinge.LinearSVC.load(path).predict(X), [5, 7])
    program("predict", rows, path, tmp_path / "labels")
    assert (tmp_path / "labels").read_text().split() == ["5", "7"]
