"""What X may be, what of it is copied, and files."""

import ctypes
import gzip
import mmap
import os
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file
from sklearn.datasets import load_svmlight_file as their_loader

import hinge
from conftest import make_sparse
from hinge import _core


def shares(view, array):
    return np.shares_memory(view, array)


# ---- Copies.

@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csr_matrix])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_csr_is_borrowed(kind, dtype):
    X, y = make_sparse(dtype=dtype)
    X = kind(X)
    data = hinge.Dataset(X, y)
    assert X.indices.dtype == np.int32 and data.dtype == dtype
    assert shares(data.X.data, X.data) and shares(data.X.indices, X.indices) and shares(data.y, y)
    weights = np.ones(len(y))
    assert shares(hinge.Dataset(X, y, weights).sample_weight, weights)


def test_int64_indices_are_copied_once_as_32_bits():
    X, y = make_sparse()
    wide = X.copy()
    wide.indices, wide.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    data = hinge.Dataset(wide, y)
    values, columns, offsets = data._core.csr()
    assert shares(values, wide.data) and shares(offsets, wide.indptr) and not shares(columns, wide.indices)
    np.testing.assert_array_equal(columns, X.indices)
    a, b = hinge.LinearSVC().fit(wide, y), hinge.LinearSVC().fit(X, y)
    np.testing.assert_array_equal(a.coef_, b.coef_)
    np.testing.assert_array_equal(a.decision_function(wide), b.decision_function(X))


def test_dense_is_borrowed_too(two):
    X, y = two
    for dtype in (np.float32, np.float64):
        dense = X.toarray().astype(dtype)
        rows = _core.dense_rows(dense)
        assert (rows.rows, rows.features) == dense.shape
        assert shares(_core.wrap(rows, None, None, 1).csr()[0], dense)


def forms(X):
    """The same matrix in every form there is: name, matrix, whether the numbers are the very same."""
    dense = X.toarray()
    for kind in ("csc", "coo", "lil", "dok", "bsr", "dia"):
        for make in (sparse.csr_array, sparse.csr_matrix):
            yield f"{kind} {make.__name__}", make(X).asformat(kind)
    yield "fortran", np.asfortranarray(dense)
    yield "strided", np.repeat(np.repeat(dense, 2, axis=0), 3, axis=1)[::2, ::3]
    yield "reversed", np.ascontiguousarray(dense[::-1, ::-1])[::-1, ::-1]
    yield "list", dense.tolist()
    yield "big-endian", dense.astype(">f8")
    yield "long double", dense.astype(np.longdouble)
    read_only = dense.copy()
    read_only.flags.writeable = False
    yield "read-only", read_only
    frozen = X.copy()
    for array in (frozen.data, frozen.indices, frozen.indptr):
        array.flags.writeable = False
    yield "read-only CSR", frozen


@pytest.mark.filterwarnings("ignore:Constructing a DIA matrix")
def test_every_form_gives_the_same_model():
    X, y = make_sparse(120, 20)
    wanted = hinge.LinearSVC().fit(X, y)
    scores = wanted.decision_function(X)
    names = []
    for name, form in forms(X):
        names.append(name)
        svm = hinge.LinearSVC().fit(form, y)
        np.testing.assert_allclose(svm.coef_, wanted.coef_, atol=1e-3, err_msg=name)  # within the gap
        np.testing.assert_allclose(wanted.decision_function(form), scores, rtol=1e-12, atol=1e-12, err_msg=name)
    assert len(names) == 20


def test_unsorted_and_repeated_entries_are_put_right_in_a_copy():
    X = sparse.csr_array((np.array([1.0, 2.0, 3.0, 4.0, 5.0, 0.0]), np.array([2, 0, 1, 1, 0, 2]), np.array([0, 2, 4, 6])),
                         shape=(3, 3))
    before = [array.copy() for array in (X.data, X.indices, X.indptr)]
    y = [0, 1, 0]
    data = hinge.Dataset(X, y)
    np.testing.assert_array_equal(data.X.toarray(), [[2, 0, 1], [0, 7, 0], [5, 0, 0]])
    svm = hinge.LinearSVC().fit(X, y)
    np.testing.assert_allclose(svm.decision_function(X), X.toarray() @ svm.coef_[0] + svm.intercept_[0], atol=1e-12)
    for old, new in zip(before, (X.data, X.indices, X.indptr)):
        np.testing.assert_array_equal(old, new)


def test_input_is_never_modified(three):
    X, y = three
    weights = np.random.default_rng(0).uniform(0, 1, len(y))
    weights[::5] = 0
    dense = X.toarray()
    copies = [a.copy() for a in (X.data, X.indices, X.indptr, dense, y, weights)]
    for rows in (X, dense):
        for estimator in (hinge.LinearSVC(class_weight="balanced"), hinge.PegasosClassifier(1e-2)):
            estimator.fit(rows, y, sample_weight=weights).predict(rows)
    hinge.PegasosClassifier().partial_fit(X, y, classes=[0, 1, 2], sample_weight=weights)
    for old, new in zip(copies, (X.data, X.indices, X.indptr, dense, y, weights)):
        np.testing.assert_array_equal(old, new)


def test_memmap(tmp_path, two):
    X, y = two
    for name in ("data", "indices", "indptr"):
        np.save(tmp_path / name, getattr(X, name))
    mapped = sparse.csr_array(X.shape)
    mapped.data, mapped.indices, mapped.indptr = (np.load(tmp_path / f"{name}.npy", mmap_mode="r")
                                                  for name in ("data", "indices", "indptr"))
    np.testing.assert_array_equal(hinge.LinearSVC().fit(mapped, y).coef_, hinge.LinearSVC().fit(X, y).coef_)


MEMORY = """
import sys
sys.path.insert(0, {tests!r})
import numpy as np, hinge
from conftest import make_sparse
hinge.LinearSVC().fit(*make_sparse(200, 50))          # everything is imported, and the pool has run
def status(name):
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith(name)) * 1024
kind = {kind!r}
random = np.random.default_rng(0)
if kind == "dense":
    X = random.standard_normal((40_000, 200))
    size = X.nbytes
    w = random.standard_normal(200)
else:
    from scipy import sparse
    rows, nonzeros, features = 60_000, 100, 20_000
    columns = (np.arange(nonzeros) * (features // nonzeros) + random.integers(0, features // nonzeros, (rows, nonzeros)))
    X = sparse.csr_array((random.standard_normal(rows * nonzeros), columns.ravel().astype(np.int32),
                          np.arange(0, rows * nonzeros + 1, nonzeros, dtype=np.int32)), shape=(rows, features))
    size = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    w = random.standard_normal(features)
    del columns
y = np.where(X @ w > 0, 1, -1)
open("/proc/self/clear_refs", "w").write("5")         # the peak counts from here
before = status("VmRSS")
hinge.LinearSVC(C=0.01).fit(X, y)
print(size, max(0, status("VmHWM") - before))
"""


@pytest.mark.parametrize("kind", ["csr", "dense"])
def test_fit_takes_less_than_a_quarter_of_X(kind):
    if not os.access("/proc/self/clear_refs", os.W_OK):
        pytest.skip("/proc/self/clear_refs cannot be written: the peak of memory cannot be measured")
    code = MEMORY.format(tests=os.path.dirname(__file__), kind=kind)
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True).stdout
    size, extra = map(int, out.split())
    assert size > 60e6 and extra < 0.25 * size, f"{extra / size:.0%} of X"


def repeated(path, array, times):
    """`array` so many times over: one file, mapped again and again at neighbouring addresses."""
    array.tofile(path)
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    size = array.nbytes
    assert size % mmap.PAGESIZE == 0
    start = libc.mmap(None, size * times, 0, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000, -1, 0)
    with open(path, "rb") as file:
        for k in range(times):  # 0x10 is MAP_FIXED, 0x4000 MAP_NORESERVE
            assert libc.mmap(start + k * size, size, mmap.PROT_READ, mmap.MAP_SHARED | 0x10, file.fileno(), 0) != 2**64 - 1
    buffer = (ctypes.c_char * (size * times)).from_address(start)
    return np.frombuffer(buffer, dtype=array.dtype)


@pytest.mark.skipif(not os.environ.get("HINGE_LARGE"), reason="HINGE_LARGE is not set: takes 10 GiB of memory and a minute")
def test_more_than_2_31_values(tmp_path):
    """26 GB of arrays that are one part, mapped over and over; the library's 32-bit columns are real."""
    width, part, times = 2048, 16384, 65
    rows, nonzeros = part * times, part * times * width
    assert nonzeros > 2**31
    random = np.random.default_rng(0)
    signs = random.choice([-1, 1], part)
    values = np.zeros((part, width), np.float32)
    values[:, -1] = signs  # the last column says it all
    values[:, 0] = 0.1 * random.standard_normal(part)
    X = sparse.csr_array((rows, width), dtype=np.float32)
    X.data = repeated(tmp_path / "data", values.ravel(), times)
    X.indices = repeated(tmp_path / "indices", np.tile(np.arange(width, dtype=np.int64), part), times)
    X.indptr = np.arange(0, nonzeros + 1, width, dtype=np.int64)
    y = np.tile(signs, times)
    svm = hinge.LinearSVC(fit_intercept=False, gap=0.01).fit(X, y)
    assert svm.model_.origin["nonzeros"] == nonzeros and svm.certificate_.relative_gap <= 0.01
    assert svm.coef_[0, -1] > 0.9 and (svm.coef_[0, 1:-1] == 0).all()
    np.testing.assert_array_equal(svm.predict(X), y)


# ---- Dataset.

def test_dataset_in_place_of_X(three):
    X, y = three
    data = hinge.Dataset(X, y)
    assert len(data) == 400 and data.shape == X.shape and data.nnz == X.nnz
    a, b = hinge.LinearSVC().fit(data), hinge.LinearSVC().fit(X, y)
    np.testing.assert_array_equal(a.coef_, b.coef_)
    np.testing.assert_array_equal(a.predict(data), b.predict(X))
    assert a.n_features_in_ == 60 and a.score(data, y) == b.score(X, y)
    assert hinge.verify(a, data).agrees and hinge.verify(a.model_, data).agrees
    other = hinge.LinearSVC().fit(data, y == 1)
    np.testing.assert_array_equal(other.coef_, hinge.LinearSVC().fit(X, y == 1).coef_)
    weights = np.linspace(0.5, 1, len(y))
    np.testing.assert_array_equal(hinge.LinearSVC().fit(data, sample_weight=weights).coef_,
                                  hinge.LinearSVC().fit(hinge.Dataset(X, y, weights)).coef_)
    online = hinge.PegasosClassifier().partial_fit(data, classes=[0, 1, 2])
    np.testing.assert_array_equal(online.coef_, hinge.PegasosClassifier().partial_fit(X, y, classes=[0, 1, 2]).coef_)
    with pytest.raises(ValueError, match="X has 60 features, but LinearSVC is expecting 5"):
        hinge.LinearSVC().fit(X[:, :5], y).predict(data)


def test_dataset_arrays_are_read_only(two):
    data = hinge.Dataset(*two, np.ones(400))
    for array in (data.X.data, data.X.indices, data.y, data.sample_weight):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_full_rows_are_an_array(two):
    dense = np.random.default_rng(0).standard_normal((30, 4))
    data = hinge.Dataset(dense, np.arange(30) % 2)
    assert isinstance(data.X, np.ndarray) and shares(data.X, dense) and data.nnz == 120
    with pytest.raises(ValueError, match="read-only"):
        data.X[0, 0] = 1
    again = hinge.LinearSVC().fit(data, np.arange(30) % 3)
    np.testing.assert_array_equal(again.coef_, hinge.LinearSVC().fit(dense, np.arange(30) % 3).coef_)


def test_full_rows_in_text_are_csr(tmp_path):
    (tmp_path / "full.svm").write_text("1 1:1 2:2\n-1 1:3 2:4\n")
    X, y = hinge.load_svmlight_file(tmp_path / "full.svm")
    assert X.format == "csr"
    np.testing.assert_array_equal(X.toarray(), [[1, 2], [3, 4]])
    X.data[0] = 9
    assert X[0, 0] == 9 and X[1, 0] == 3


def test_dataset_pickles(two):
    import pickle
    data = pickle.loads(pickle.dumps(hinge.Dataset(*two)))
    np.testing.assert_array_equal(data.X.toarray(), two[0].toarray())
    np.testing.assert_array_equal(data.y, two[1])


@pytest.mark.parametrize("format", ["binary", "text"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dataset_files(tmp_path, format, dtype):
    X, y = make_sparse(dtype=dtype)
    hinge.Dataset(X, y).save(tmp_path / "rows", format)
    data = hinge.Dataset.read(tmp_path / "rows", dtype=dtype)
    assert data.dtype == dtype
    np.testing.assert_array_equal(data.X.toarray(), X.toarray())
    np.testing.assert_array_equal(data.y, y)
    # A mapped file cannot be written to, whoever asks.
    if format == "binary":
        loaded, _ = hinge.load_svmlight_file(tmp_path / "rows")
        assert not loaded.data.flags.writeable


def test_dataset_refuses(two):
    X, y = two
    for message, call in [("expected numbers", lambda: hinge.Dataset(X, np.array(["a"] * len(y)))),
                          ("2 dimensions", lambda: hinge.Dataset(X.toarray()[0], y)),
                          ("399 labels for 400 rows", lambda: hinge.Dataset(X, y[:-1])),
                          ("index_base", lambda: hinge.Dataset.read("x", index_base=2)),
                          ("format", lambda: hinge.Dataset(X, y).save("x", "csv")),
                          ("dtype", lambda: hinge.Dataset.read("x", dtype=int))]:
        with pytest.raises((TypeError, ValueError), match=message):
            call()


# ---- load_svmlight_file.

@pytest.mark.parametrize("zero_based", [True, False, "auto"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_loads_what_scikit_learn_loads(tmp_path, zero_based, dtype):
    X, y = make_sparse()
    path = str(tmp_path / "rows.svm")
    dump_svmlight_file(X, y, path, zero_based=zero_based is True)
    theirs, their_y = their_loader(path, zero_based=zero_based, dtype=dtype)
    ours, our_y = hinge.load_svmlight_file(path, zero_based=zero_based, dtype=dtype)
    assert sparse.isspmatrix_csr(ours) and ours.dtype == dtype and ours.indices.dtype == np.int32
    assert ours.shape == theirs.shape and (ours != theirs).nnz == 0
    np.testing.assert_array_equal(our_y, their_y)
    ours.data[0] = 7  # nobody else has it
    ours *= 2
    our_y[0] = 3


def test_load_options(tmp_path):
    path = tmp_path / "rows.svm.gz"
    path.write_bytes(gzip.compress(b"1 1:0.5 3:2\n-1 2:1\n"))
    X, y = hinge.load_svmlight_file(path, n_features=10)
    assert X.shape == (2, 10) and y.tolist() == [1, -1]
    with pytest.raises(ValueError, match="n_features"):
        hinge.load_svmlight_file(path, n_features=2)
    with pytest.raises(ValueError, match="zero_based"):
        hinge.load_svmlight_file(path, zero_based="maybe")
    unsorted = tmp_path / "unsorted.svm"
    unsorted.write_text("1 3:1 1:2\n-1 1:1\n")
    with pytest.warns(hinge.HingeWarning, match=r"\[data.index.unsorted\]"):
        hinge.load_svmlight_file(unsorted)
