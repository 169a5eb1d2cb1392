"""Linear support vector machines, fast, with a proof of how good the answer is.

>>> import hinge
>>> X, y = [[0.0, 1.0], [1.0, 0.0], [1.0, 2.0], [2.0, 1.0]], ["up", "down", "up", "down"]
>>> svm = hinge.LinearSVC().fit(X, y)
>>> svm.predict([[3.0, 4.0]]).tolist()
['up']
>>> svm.certificate_.relative_gap < 1e-3
True

Estimators: :class:`LinearSVC`, :class:`LogisticRegression`, :class:`LinearSVR` and
:class:`PegasosClassifier`, with the manners of scikit-learn.
Data: :func:`load_svmlight_file`, :class:`Dataset`. Models: :func:`read_model`, :class:`Model`,
:func:`verify`, which recomputes a certificate from the data, :func:`evaluate` and
:func:`curves`, which say how well one predicts. :func:`tune` finds the cost. :func:`plot_trace` draws how a fit went.
:mod:`hinge.errors` has the exceptions. docs/python.md tells more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import errors
from ._core import __version__
from .data import Dataset, load_svmlight_file
from .errors import (CorruptError, DataError, Error, FileError, HingeWarning, InternalError, NumericError, OutOfMemory,
                     Unavailable, UsageError)
from .metrics import curves, evaluate
from .model import Certificate, Model, Verification, read_model, verify
from .plot import plot_trace

if TYPE_CHECKING:
    from .linear_svc import LinearSVC
    from .linear_svr import LinearSVR
    from .logistic_regression import LogisticRegression
    from .pegasos import PegasosClassifier
    from .tuning import Tuned, tune

__all__ = ["Certificate", "CorruptError", "DataError", "Dataset", "Error", "FileError", "HingeWarning", "InternalError",
           "LinearSVC", "LinearSVR", "LogisticRegression", "Model", "NumericError", "OutOfMemory", "PegasosClassifier", "Tuned", "Unavailable", "UsageError",
           "Verification", "__version__", "curves", "errors", "evaluate", "load_svmlight_file", "plot_trace", "read_model", "tune", "verify"]

# scikit-learn takes ten times as long to import as the rest: only who wants estimators waits for it.
_ESTIMATORS = {"LinearSVC": "linear_svc", "LinearSVR": "linear_svr", "LogisticRegression": "logistic_regression",
               "PegasosClassifier": "pegasos", "Tuned": "tuning", "tune": "tuning"}


def __getattr__(name: str):
    if name not in _ESTIMATORS:
        raise AttributeError(f"module 'hinge' has no attribute {name!r}")
    from importlib import import_module

    found = getattr(import_module("." + _ESTIMATORS[name], __name__), name)
    globals()[name] = found
    return found


def __dir__():
    return __all__
