"""Bad and odd input: one table, one row a case, after the catalogue of faults (Python part, Y1 to Y23)."""

import copy
import gc
import os
import pickle
import subprocess
import sys

import joblib
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

import hinge
from conftest import make_sparse

X, Y = make_sparse(80, 12)
D = X.toarray()
ROW = np.searchsorted(X.indptr, 2, side="right") - 1  # that of the third value


def fit(X=D, y=Y, **more):
    return hinge.LinearSVC(**more).fit(X, y)


def whole(dtype):
    return np.abs(D * 100).astype(dtype)


def csr(data=None, indices=None, indptr=None, shape=None, dtype=np.float64):
    """A CSR matrix with broken parts, which scipy's constructor would refuse."""
    matrix = sparse.csr_matrix(shape or X.shape, dtype=dtype)
    matrix.data = X.data if data is None else data
    matrix.indices = X.indices if indices is None else indices
    matrix.indptr = X.indptr if indptr is None else indptr
    return matrix


def changed(array, place, value):
    array = array.copy()
    array[place] = value
    return array


# ---- What works: name, call that raises if it does not.

def same_as_float64(rows):
    np.testing.assert_allclose(fit(rows).coef_, fit(np.asarray(rows, dtype=np.float64)).coef_, atol=1e-3)


def same(rows, **more):
    np.testing.assert_allclose(fit(rows, **more).coef_, fit(**more).coef_, atol=1e-3)  # both are within the gap


def wide():
    return csr(indices=X.indices.astype(np.int64), indptr=X.indptr.astype(np.int64))


def shuffled():
    rows = csr(data=X.data.copy(), indices=X.indices.copy())
    for begin, end in zip(X.indptr, X.indptr[1:]):
        rows.data[begin:end] = X.data[begin:end][::-1]
        rows.indices[begin:end] = X.indices[begin:end][::-1]
    rows.has_sorted_indices = False
    before = rows.indices.copy()
    same(rows)
    np.testing.assert_array_equal(rows.indices, before)


def with_zeros():
    rows = X.copy()
    rows.data[::4] = 0
    np.testing.assert_allclose(fit(rows).coef_, fit(rows.toarray()).coef_, atol=1e-3)


def collected():
    rows, labels = D.copy(), Y.copy()
    data = hinge.Dataset(rows, labels)
    del rows, labels
    gc.collect()
    np.testing.assert_allclose(hinge.LinearSVC().fit(data).coef_, fit().coef_, atol=1e-3)


def resized():
    rows = X.copy()
    data = hinge.Dataset(rows, Y)
    with pytest.raises(ValueError, match="resize"):
        rows.data.resize(3, refcheck=True)
    assert hinge.LinearSVC().fit(data).score(X, Y) > 0.8


def copies():
    svm = fit()
    for other in (pickle.loads(pickle.dumps(svm)), copy.copy(svm), copy.deepcopy(svm)):
        np.testing.assert_array_equal(other.decision_function(D), svm.decision_function(D))


def by_joblib(tmp_path):
    joblib.dump(fit(), tmp_path / "svm")
    np.testing.assert_array_equal(joblib.load(tmp_path / "svm").coef_, fit().coef_)


def zero_weights():
    weights = (np.arange(len(Y)) % 4 > 0).astype(float)
    keep = weights > 0
    np.testing.assert_array_equal(hinge.LinearSVC().fit(D, Y, weights).coef_, fit(D[keep], Y[keep]).coef_)


def labels_kept(y, wanted):
    svm = fit(y=y)
    assert svm.classes_.tolist() == wanted and svm.classes_.dtype == np.unique(np.asarray(y)).dtype
    assert set(svm.predict(D).tolist()) <= set(wanted)


def categorical():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    labels_kept(pandas.Categorical(np.where(Y > 0, "yes", "no")), ["no", "yes"])


def in_child(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


WORKS = {
    "Y1 float32": lambda: same_as_float64(D.astype(np.float32)),
    "Y1 float16": lambda: same_as_float64(D.astype(np.float16)),
    "Y1 int8": lambda: same_as_float64(np.clip(whole(np.int64), 0, 100).astype(np.int8)),
    "Y1 int32": lambda: same_as_float64(whole(np.int32)),
    "Y1 uint64": lambda: same_as_float64(whole(np.uint64)),
    "Y1 bool": lambda: same_as_float64(D > 0),
    "Y1 int64 up to 2^53": lambda: hinge.Dataset(np.array([[2**53, 1], [1, 2**53]]), [0, 1]),
    "Y2 object that is numbers": lambda: same(D.astype(object)),
    "Y3 Fortran order": lambda: same(np.asfortranarray(D)),
    "Y3 slice": lambda: same(np.repeat(D, 2, axis=1)[:, ::2]),
    "Y3 negative strides": lambda: same(np.ascontiguousarray(D[:, ::-1])[:, ::-1]),
    "Y4 int64 indices": lambda: same(wide()),
    "Y5 CSC": lambda: same(X.tocsc()),
    "Y5 COO": lambda: same(X.tocoo()),
    "Y5 sparse matrix": lambda: same(sparse.csr_matrix(X)),
    "Y5 unsorted": shuffled,
    "Y5 explicit zeros": with_zeros,
    "Y7 read-only": lambda: same(changed(D, 0, D[0])),
    "Y11 garbage-collected": collected,
    "Y11 resized": resized,
    "Y15 pickle, copy, deepcopy": copies,
    "Y18 weight 0": zero_weights,
    "Y19 str": lambda: labels_kept(np.where(Y > 0, "yes", "no"), ["no", "yes"]),
    "Y19 objects": lambda: labels_kept(np.where(Y > 0, "yes", "no").astype(object), ["no", "yes"]),
    "Y19 bool": lambda: labels_kept(Y > 0, [False, True]),
    "Y19 float": lambda: labels_kept(Y.astype(float), [-1.0, 1.0]),
    "Y19 uint8": lambda: labels_kept((Y > 0).astype(np.uint8), [0, 1]),
    "Y19 large": lambda: labels_kept(np.where(Y > 0, 2**62, -(2**62)), [-(2**62), 2**62]),
    "Y19 uint64 beyond int64": lambda: labels_kept(np.where(Y > 0, np.uint64(2**64 - 1), np.uint64(3)), [3, 2**64 - 1]),
    "Y19 Categorical": categorical,
    "Y21 second import": lambda: in_child("import hinge, sys; del sys.modules['hinge']; import hinge; hinge.LinearSVC()"),
    "Y22 n_jobs -1": lambda: same(D, n_jobs=-1),
    "Y22 n_jobs huge": lambda: same(D, n_jobs=10**6),
    "Y23 clone": lambda: clone(hinge.LinearSVC(C=3)).fit(D, Y),
    "Y23 GridSearchCV": lambda: GridSearchCV(hinge.LinearSVC(), {"C": [0.1, 1]}, cv=3).fit(D, Y),
    "Y23 Pipeline": lambda: make_pipeline(MaxAbsScaler(), hinge.LinearSVC()).fit(D, Y).predict(D),
}


@pytest.mark.parametrize("name", WORKS)
def test_works(name):
    WORKS[name]()


def test_works_joblib(tmp_path):
    by_joblib(tmp_path)


# ---- What is refused: exception, part of its text, call; and, of our own exceptions, the id.

V, I, P = "data.value.nonfinite", "data.matrix", None
many = np.arange(200_000)
REFUSED = {
    "Y1 int64 beyond 2^53": (ValueError, "2\\^53", "data.value", lambda: fit(whole(np.int64) + 2**60)),
    "Y1 uint64 beyond 2^53, CSR": (ValueError, "2\\^53", "data.value",
                                   lambda: fit(sparse.csr_array(whole(np.uint64) + np.uint64(2**63)))),
    "Y2 str": (ValueError, "dtype|string", P, lambda: fit(np.full((80, 2), "a"))),
    "Y2 objects": (TypeError, "float|number", P, lambda: fit(np.full((80, 2), {}, dtype=object))),
    "Y2 complex": (ValueError, "[Cc]omplex", P, lambda: fit(D.astype(complex))),
    "Y2 datetime": (TypeError, "datetime64", P, lambda: fit(np.full((80, 2), np.datetime64("2020-01-01")))),
    "Y2 complex, Dataset": (TypeError, "complex128", P, lambda: hinge.Dataset(D.astype(complex), Y)),
    "Y2 datetime, Dataset": (TypeError, "datetime64", P, lambda: hinge.Dataset(np.full((80, 2), np.datetime64("2020-01-01")), Y)),
    "Y2 str, Dataset": (TypeError, "<U1", P, lambda: hinge.Dataset(np.full((80, 2), "a"), Y)),
    "Y3 0-d": (ValueError, "2D|0D", P, lambda: fit(np.array(1.0), [1])),
    "Y3 1-d": (ValueError, "2D|1D", P, lambda: fit(D[0], Y)),
    "Y3 3-d": (ValueError, "dim", P, lambda: fit(D[None], Y)),
    "Y3 ragged": (ValueError, "inhomogeneous|sequence", P, lambda: fit([[1.0, 2.0], [1.0]], [0, 1])),
    "Y6 indptr descends": (ValueError, "indptr does not ascend", I, lambda: fit(csr(indptr=changed(X.indptr, 3, 10**6)))),
    "Y6 indptr negative": (ValueError, "indptr does not ascend", I, lambda: fit(csr(indptr=changed(X.indptr, 1, -5)))),
    "Y6 indptr begins at 1": (ValueError, "indptr does not ascend from 0", I, lambda: fit(csr(indptr=changed(X.indptr, 0, 1)))),
    "Y6 int64 indptr negative": (ValueError, "indptr does not ascend", I, lambda: fit(
        csr(indices=X.indices.astype(np.int64), indptr=changed(X.indptr.astype(np.int64), 2, -(2**60))))),
    "Y6 indptr beyond the end": (ValueError, "indptr ends at", I, lambda: fit(csr(indptr=changed(X.indptr, -1, X.nnz + 5)))),
    "Y6 indptr empty": (ValueError, "indptr", I, lambda: hinge.Dataset(csr(indptr=np.array([], np.int32)), Y)),
    "Y6 index too large": (ValueError, f"row {ROW} .* index 12; X has 12 columns", I, lambda: fit(csr(indices=changed(X.indices, 2, 12)))),
    "Y6 index negative": (ValueError, "index -3;", I, lambda: fit(csr(indices=changed(X.indices, 0, -3)))),
    "Y6 int64 index negative": (ValueError, "index is negative", I, lambda: fit(
        csr(indices=changed(X.indices.astype(np.int64), 0, -3), indptr=X.indptr.astype(np.int64)))),
    "Y6 int64 index beyond 2^32": (ValueError, "beyond 2\\^32", I, lambda: fit(
        csr(indices=changed(X.indices.astype(np.int64), 0, 2**32 + 1), indptr=X.indptr.astype(np.int64)))),
    "Y6 fewer values": (ValueError, "indptr ends at", I, lambda: fit(csr(data=X.data[:-1]))),
    "Y6 fewer indices": (ValueError, "indptr ends at", I, lambda: fit(csr(indices=X.indices[:-1]))),
    "Y6 predict": (ValueError, "index 12; X has 12", I, lambda: fit().predict(csr(indices=changed(X.indices, 5, 12)))),
    "Y8 NaN, dense": (ValueError, "NaN: row 3, column 5", V, lambda: fit(changed(D, (3, 5), np.nan))),
    "Y8 inf, dense": (ValueError, "infinity: row 79, column 0", V, lambda: fit(changed(D, (79, 0), -np.inf))),
    "Y8 NaN, CSR": (ValueError, f"NaN: row {ROW}, column {X.indices[2]} ", V, lambda: fit(csr(data=changed(X.data, 2, np.nan)))),
    "Y8 NaN, predict": (ValueError, "NaN: row 3, column 5", V, lambda: fit().predict(changed(D, (3, 5), np.nan))),
    "Y8 inf, predict CSR": (ValueError, f"infinity: row {ROW}, column {X.indices[2]} ", V,
                            lambda: fit().predict(csr(data=changed(X.data, 2, np.inf)))),
    "Y8 square overflows": (ValueError, "squared norm of row 3", "data.row.norm", lambda: fit(changed(D, (3, 5), 1e200))),
    "Y8 NaN in y": (ValueError, "y contains NaN", P, lambda: fit(y=changed(Y.astype(float), 4, np.nan))),
    "Y8 inf in y": (ValueError, "y contains infinity", P, lambda: fit(y=changed(Y.astype(float), 4, np.inf))),
    "Y8 NaN weight": (ValueError, "weight of row 4 .* nan", P, lambda: hinge.LinearSVC().fit(D, Y, changed(np.ones(80), 4, np.nan))),
    "Y8 inf weight": (ValueError, "weight of row 4 .* inf", P, lambda: hinge.LinearSVC().fit(D, Y, changed(np.ones(80), 4, np.inf))),
    "Y9 no rows": (ValueError, "0 sample", P, lambda: fit(D[:0], Y[:0])),
    "Y9 no columns": (ValueError, "0 feature", P, lambda: fit(D[:, :0])),
    "Y9 one row": (ValueError, "one class", "data.one-class", lambda: fit(D[:1], Y[:1])),
    "Y9 one class": (ValueError, "one class only: all 80 rows have label 1", "data.one-class", lambda: fit(y=np.ones(80, int))),
    "Y9 y too short": (ValueError, "inconsistent numbers of samples", P, lambda: fit(y=Y[:-1])),
    "Y9 y 2-d": (ValueError, "1d array", P, lambda: fit(y=np.c_[Y, Y])),
    "Y9 no y": (ValueError, "requires y", P, lambda: fit(y=None)),
    "Y9 regression": (ValueError, "Unknown label type", P, lambda: fit(y=D[:, 0])),
    "Y15 hostile pickle": (hinge.CorruptError, "checksum", "model.checksum", lambda: pickle.loads(
        pickle.dumps(fit().model_).replace(fit().coef_[0].tobytes()[:8], b"12345678"))),
    "Y15 truncated payload": (hinge.CorruptError, "bytes", "model.truncated", lambda: hinge.model._from_bytes(
        fit().model_._core.to_bytes()[:-9])),
    "Y15 no model at all": (hinge.CorruptError, "not a hinge model", "model.magic", lambda: hinge.model._from_bytes(b"x" * 99)),
    "Y16 other columns": (ValueError, "X has 11 features, but LinearSVC is expecting 12", P, lambda: fit().predict(D[:, 1:])),
    "Y16 before fit": (NotFittedError, "not fitted", P, lambda: hinge.LinearSVC().predict(D)),
    "Y16 coef_ before fit": (AttributeError, "not fitted", P, lambda: hinge.LinearSVC().coef_),
    "Y16 save before fit": (NotFittedError, "not fitted", P, lambda: hinge.LinearSVC().save("x")),
    "Y17 many classes": (ValueError, "200000 different labels would need .* GiB", "limit.classes",
                         lambda: fit(np.ones((200_000, 3)), many)),
    "Y18 negative weight": (ValueError, "weight of row 4 .* -1.0", P, lambda: hinge.LinearSVC().fit(D, Y, changed(np.ones(80), 4, -1))),
    "Y18 all weights 0": (ValueError, "all weights are zero", P, lambda: hinge.LinearSVC().fit(D, Y, np.zeros(80))),
    "Y18 weights too short": (ValueError, "expected \\(80,\\)", P, lambda: hinge.LinearSVC().fit(D, Y, np.ones(79))),
    "Y19 None": (ValueError, "label|None|NaN", P, lambda: fit(y=np.array([None, "a"] * 40, dtype=object))),
    "Y19 mixed": (ValueError, "label|mix", P, lambda: fit(y=np.array([1, "a"] * 40, dtype=object))),
    "Y20 no file": (FileNotFoundError, "no-such-file", "io.open", lambda: hinge.load_svmlight_file("no-such-file")),
    "Y20 a folder": (IsADirectoryError, "it is a folder", "io.not-a-file", lambda: hinge.load_svmlight_file(os.curdir)),
    "Y20 no folder": (OSError, "no/such", "io.create", lambda: fit().save("no/such/folder")),
    "Y20 not a model": (hinge.CorruptError, "not a hinge model", "model.magic", lambda: hinge.read_model(__file__)),
    "Y22 n_jobs 0": (ValueError, "n_jobs", P, lambda: fit(n_jobs=0)),
    "Y23 unknown parameter": (ValueError, "Invalid parameter 'c'", P, lambda: hinge.LinearSVC().set_params(c=1)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    kind, text, id, call = REFUSED[name]
    with pytest.raises(kind, match=text) as caught:
        call()
    assert not isinstance(caught.value, hinge.InternalError)
    if id is not None:
        assert isinstance(caught.value, hinge.Error) and caught.value.id == id
        assert f"[{id}]" in str(caught.value)


def test_y9_column_vector_warns():
    with pytest.warns(DataConversionWarning):
        assert fit(y=Y[:, None]).score(D, Y) > 0.8


def test_y20_place_in_a_file(tmp_path):
    path = tmp_path / "bad\u00e9.svm"
    path.write_text("1 1:1\n-1 2:1\n1 1:1 2:x\n")
    with pytest.raises(hinge.DataError, match=r":3:9: error: .*\[data.value\]") as caught:
        hinge.load_svmlight_file(path)
    error = caught.value
    assert (error.id, error.path, error.line, error.column) == ("data.value", str(path), 3, 9)
    assert isinstance(error, ValueError) and error.help == "write values such as 0.25 or 2.5e-3"
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is hinge.DataError and str(again) == str(error) and again.line == 3


def test_y20_permission(tmp_path):
    if os.getuid() == 0:
        pytest.skip("root may read everything")
    path = tmp_path / "secret.svm"
    path.write_text("1 1:1\n")
    path.chmod(0)
    with pytest.raises(PermissionError) as caught:
        hinge.load_svmlight_file(path)
    assert caught.value.id == "io.permission" and caught.value.errno == 13


def test_y20_errors_of_files_have_errno():
    with pytest.raises(OSError) as caught:
        hinge.read_model("no-such-model")
    assert caught.value.errno == 2 and caught.value.filename == caught.value.path == "no-such-model"
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is type(caught.value) and again.errno == 2 and str(again) == str(caught.value)


def test_y20_no_memory():
    """A limit of the process, as a container has it."""
    code = ("import resource, numpy as np, hinge\n"
            "hinge.LinearSVC()\n"
            "X = np.zeros((20_000_000, 1), np.float32); y = np.arange(20_000_000) % 2\n"
            "size = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()\n"
            "resource.setrlimit(resource.RLIMIT_AS, (size + (48 << 20), size + (48 << 20)))\n"
            "try:\n    hinge._core.train(hinge.Dataset(X, y)._core, [('threads', '1')], None, None)\n"
            "except MemoryError as error:\n    print(type(error).__name__)\n")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stdout.strip() in ("OutOfMemory", "MemoryError"), done.stderr


def test_y21_without_numpy():
    code = "import sys; sys.modules['numpy'] = None\ntry:\n    import hinge\nexcept ImportError as e:\n    print('clean', e)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stdout.startswith("clean") and "numpy" in done.stdout, done.stderr


def test_y21_sub_interpreter():
    code = ("import _xxsubinterpreters as sub\ni = sub.create()\n"
            "try:\n    sub.run_string(i, 'import hinge')\n    print('works')\n"
            "except sub.RunFailedError as error:\n    print('clean', error)")
    if sys.version_info >= (3, 13):
        pytest.skip("sub-interpreters have another name there")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and ("works" in done.stdout or "ImportError" in done.stdout), done.stdout + done.stderr
