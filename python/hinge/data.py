"""Rows: what X and y may be, and reading them from files."""

from __future__ import annotations

import os
import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from . import _core
from .errors import HingeWarning, about, exception_of

__all__ = ["Dataset", "load_svmlight_file"]


class Dataset:
    """Rows, labels and weights that have been checked once, for any number of fits.

    Estimators take one in the place of X, and y from it where none is given. It is immutable, and
    borrows what it can: scipy CSR with float32 or float64 values and int32 indices, and numpy arrays
    in C order, are not copied, and must not be changed while the data set lives. int64 indices are
    copied as 32-bit numbers; anything else is converted as scikit-learn would. Rows that are not
    sorted by column are sorted, in a copy, and entries of the same column added up.

    Parameters
    ----------
    X : array or scipy.sparse matrix or array of shape (n, d)
    y : array of n whole numbers, or of real ones, which are targets of regression
        Other labels are for the estimators, which number them.
    sample_weight : array of n numbers >= 0, optional
        Factors on the cost of the rows.

    Examples
    --------
    >>> import hinge
    >>> data = hinge.Dataset([[0.0, 1.0], [1.0, 0.0]], [1, -1])
    >>> data.shape, data.nnz
    ((2, 2), 4)
    >>> hinge.LinearSVC().fit(data).predict([[0.0, 3.0]])
    array([1])
    """

    def __init__(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None):
        labels = np.asarray(y)
        if labels.dtype.kind not in "iubf":
            raise TypeError(f"y: expected numbers, got {labels.dtype}")
        real = labels.dtype.kind == "f"
        self._core = _core.wrap(to_rows(X), None if real else contiguous(labels, np.int64),
                                None if sample_weight is None else contiguous(sample_weight, np.float64), threads=0,
                                targets=contiguous(labels, np.float64) if real else None)

    @classmethod
    def _of(cls, core: _core.Dataset) -> Dataset:
        data = cls.__new__(cls)
        data._core = core
        return data

    @classmethod
    def read(cls, path: str | os.PathLike, *, dtype: Any = np.float32, index_base: int | str = "auto",
             strict: bool = False, labels: bool = True, cache: bool = False, real_labels: bool = False,
             n_jobs: int | None = None) -> Dataset:
        """Reads libsvm text, compressed or not, or maps a binary data set, which keeps its own dtype.

        ``path`` may be a pattern ("part-*.svm"): several files are one data set in name order.
        ``index_base`` is the number of the first feature, 0 or 1; "auto": an index 0 anywhere means 0.
        ``strict`` refuses rows that are not sorted, ``labels=False`` reads rows that have none,
        ``cache=True`` keeps the rows as a binary data set beside the file and maps it the next time,
        ``real_labels=True`` takes labels of text that are no whole numbers, for regression.
        ``n_jobs=None`` takes all cores.
        """
        bases = {0: 0, 1: 1, "auto": 2}
        if index_base not in bases:
            raise ValueError(f'index_base: expected 0, 1 or "auto", got {index_base!r}')
        f64 = np.dtype(_float_type(dtype)) == np.float64
        with about(path) as name:
            core, found = _core.read(name, f64, bases[index_base], strict, labels, real_labels, cache,
                                     0 if n_jobs is None else n_jobs)
        warn(found)
        return cls._of(core)

    def save(self, path: str | os.PathLike, format: str = "binary") -> None:
        """Writes a binary data set, which :meth:`read` and the command line map, or libsvm text."""
        if format not in ("binary", "text"):
            raise ValueError(f'format: expected "binary" or "text", got {format!r}')
        with about(path) as name:
            self._core.save(name, format == "text", 0)

    @property
    def shape(self) -> tuple[int, int]:
        return self._core.rows, self._core.features

    @property
    def nnz(self) -> int:
        """Stored values."""
        return self._core.nonzeros

    @property
    def dtype(self) -> np.dtype:
        """float32 or float64."""
        return np.dtype(np.float64 if self._core.f64 else np.float32)

    @property
    def X(self):
        """The rows as a scipy CSR matrix, or, where every row has every column, as an array.

        Both share memory with the data set and are read-only.
        """
        if not self._core.full:
            return to_scipy(self._core, writeable=False)
        array = self._core.csr()[0].reshape(self.shape)
        array.flags.writeable = False
        return array

    @property
    def y(self) -> np.ndarray:
        """The labels, read-only: whole numbers, as a rule; names of classes, or real targets, where a file has such."""
        labels = labels_of(self._core)
        labels.flags.writeable = False
        return labels

    @property
    def sample_weight(self) -> np.ndarray | None:
        """The weights, read-only, or None."""
        weights = self._core.weights
        if weights is not None:
            weights.flags.writeable = False
        return weights

    def __len__(self) -> int:
        return self._core.rows

    def __repr__(self) -> str:
        rows, features = self.shape
        return f"<hinge.Dataset of {rows} rows, {features} features, {self.nnz} values, {self.dtype}>"

    def __reduce__(self):
        weights = None if self.sample_weight is None else np.array(self.sample_weight)
        core = self._core
        if core.class_names or core.targets is not None:
            targets = None if core.targets is None else np.array(core.targets)
            return _unpickled, (self.X, np.array(int64(core.labels)), weights, core.class_names, targets)
        return Dataset, (self.X, np.array(self.y), weights)


def _unpickled(X, labels, weights, names, targets) -> Dataset:
    return Dataset._of(_core.wrap(to_rows(X), labels, weights, 0, names, targets))


def load_svmlight_file(f: str | os.PathLike, *, n_features: int | None = None, dtype: Any = np.float64,
                       zero_based: bool | str = "auto", real_labels: bool = False, n_jobs: int | None = None):
    """Reads libsvm text as scikit-learn's function of that name does, many times faster.

    Parameters
    ----------
    f : path
        Plain text, or compressed by gzip, bzip2, xz or zstd; or a pattern, "part-*.svm".
    n_features : int, optional
        Columns X shall have, where that is more than the file has.
    dtype : float64 or float32
    zero_based : bool or "auto"
        Whether features count from 0; "auto": an index 0 anywhere means so.
    real_labels : bool, default False
        Take labels that are no whole numbers, too.
    n_jobs : int, optional
        Threads; by default all cores. The result does not depend on it.

    Returns
    -------
    X : scipy.sparse.csr_matrix
    y : array of int64, or of float64 where not all labels are whole numbers

    Examples
    --------
    >>> import hinge, tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "two.svm")
    ...     _ = path.write_text("1 1:0.5 3:2\\n-1 2:1\\n")
    ...     X, y = hinge.load_svmlight_file(path)
    >>> X.toarray()
    array([[0.5, 0. , 2. ],
           [0. , 1. , 0. ]])
    >>> y
    array([ 1, -1])
    """
    base = {True: 0, False: 1, "auto": "auto"}.get(zero_based)
    if base is None:
        raise ValueError(f'zero_based: expected True, False or "auto", got {zero_based!r}')
    core = Dataset.read(f, dtype=dtype, index_base=base, real_labels=real_labels, n_jobs=n_jobs)._core
    if n_features is not None and n_features < core.features:
        raise ValueError(f"n_features: {f!s} has {core.features}, got {n_features}")
    # Nobody else has the arrays, so they may be written to, unless they are a mapped file.
    writeable = not _core.is_binary(os.fsencode(f))
    X = to_scipy(core, writeable, n_features)
    labels = labels_of(core)
    labels.flags.writeable = writeable
    return X, labels


# ---- For the other files of the package.

def labels_of(core: _core.Dataset) -> np.ndarray:
    """What rows are labelled with, as users know it."""
    if core.targets is not None:
        return core.targets
    return named_as(core.class_names, int64(core.labels))


def named_as(names: list[str], labels: np.ndarray) -> np.ndarray:
    """Labels, or, where classes have names, these."""
    return np.array(names)[labels] if names else labels


def to_rows(X: Any) -> _core.Rows:
    """X for the library, without scikit-learn's help; borrows what it can."""
    if isinstance(X, Dataset):
        return X._core.as_rows()
    if hasattr(X, "tocsr"):
        X = X.tocsr()
        if X.ndim != 2:
            raise ValueError(f"X: expected 2 dimensions, got {X.ndim}")
        if X.data.dtype not in (np.float32, np.float64):
            X = X.astype(_safe(X.data))
        return _core.csr_rows(np.ascontiguousarray(X.data), _index(X.indices), _index(X.indptr), X.shape[1])
    X = np.asarray(X)
    if X.ndim != 2:
        raise ValueError(f"X: expected 2 dimensions, got {X.ndim}")
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(_safe(X))
    return _core.dense_rows(np.ascontiguousarray(X))


def check_exact(X: Any) -> None:
    """Refuses what scikit-learn would turn into float64 without a word, though it is not that: dates, and whole
    numbers it cannot keep apart."""
    if hasattr(X, "dtypes") and hasattr(X, "columns"):  # a data frame
        parts = [np.asarray(X[name]) for name in X.columns]
    else:
        parts = [getattr(X, "data", None) if hasattr(X, "tocsr") else X]
    for values in parts:
        if isinstance(values, np.ndarray) and values.dtype.kind in "iumM":
            _safe(values)


def _safe(values: np.ndarray) -> type:
    if values.dtype.kind not in "fiub":
        raise TypeError(f"X: expected numbers, got {values.dtype}")
    if values.dtype.kind in "iu" and values.dtype.itemsize == 8 and values.size:
        if max(int(values.max()), -int(values.min())) > 2**53:
            raise exception_of(id="data.value", exit_code=65, path="",
                               text="X holds whole numbers beyond 2^53, which float64 cannot keep apart [data.value]",
                               message="", help="scale them, or convert them to float64 yourself")
    return np.float32 if values.dtype.itemsize < 4 and values.dtype.kind != "f" or values.dtype == np.float16 \
        else np.float64


def _index(array: np.ndarray) -> np.ndarray:
    if array.dtype not in (np.int32, np.int64):
        array = array.astype(np.int64)
    return np.ascontiguousarray(array)


def _float_type(dtype: Any) -> type:
    wanted = np.dtype(dtype)
    if wanted not in (np.float32, np.float64):
        raise ValueError(f"dtype: expected float32 or float64, got {wanted}")
    return wanted.type


def int64(array: np.ndarray) -> np.ndarray:
    """The same array: C has two types of 64 bits, of which numpy prints only one without comment."""
    return array.view(np.int64)


def contiguous(values: ArrayLike, dtype: type) -> np.ndarray:
    """A vector of that type, copied only if it is not one already."""
    array = np.ascontiguousarray(values, dtype=dtype)
    if array.ndim != 1:
        raise ValueError(f"expected 1 dimension, got {array.ndim}")
    return array


def to_scipy(core: _core.Dataset, writeable: bool, n_features: int | None = None):
    """A CSR matrix on the memory of the data set."""
    from scipy import sparse

    values, columns, offsets = core.csr()
    if core.full:
        columns = np.tile(columns, core.rows)
    if len(columns) < 2**31 and core.features <= 2**31:
        offsets = offsets.astype(np.int32)
    else:  # scipy has one type for both
        columns = columns.view(np.uint32).astype(np.int64)
    for array in (values, columns, offsets):
        array.flags.writeable = writeable
    X = sparse.csr_matrix((len(offsets) - 1, n_features or core.features), dtype=values.dtype)
    X.data, X.indices, X.indptr = values, columns, offsets
    X.has_canonical_format = True
    return X


def warn(found: list[tuple[str, str]], stacklevel: int = 3) -> None:
    """What the library found odd, as warnings of Python's."""
    for _, text in found:
        warnings.warn(text, HingeWarning, stacklevel=stacklevel)
