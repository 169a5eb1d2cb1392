"""What the tests share."""

import os
import shutil
import subprocess

import numpy as np
import pytest
from scipy import sparse


def pytest_configure():
    # scikit-learn checks arrays of other libraries only then, and asks before it is imported.
    os.environ.setdefault("SCIPY_ARRAY_API", "1")


def make_sparse(rows=400, features=60, density=0.2, seed=0, dtype=np.float64, classes=2):
    """Rows, and labels that are mostly right; the labels are -1 and 1, or 0, 1, 2, ..."""
    random = np.random.default_rng(seed)
    X = sparse.random_array((rows, features), density=density, format="csr", rng=random, dtype=dtype,
                            data_sampler=lambda size: random.standard_normal(size).astype(dtype))
    scores = X @ random.standard_normal((features, classes)) + 0.5 * random.standard_normal((rows, classes))
    y = np.where(scores[:, 0] > scores[:, 1], 1, -1) if classes == 2 else scores.argmax(axis=1)
    return X, y


@pytest.fixture
def two():
    return make_sparse()


@pytest.fixture
def three():
    return make_sparse(classes=3)


@pytest.fixture(scope="session")
def program():
    """The program hinge, of the same sources."""
    path = os.environ.get("HINGE") or shutil.which("hinge")
    if not path or not os.path.exists(path):
        pytest.skip("the program hinge is not built: HINGE names no file")

    def run(*arguments):
        done = subprocess.run([path, *map(str, arguments)], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def primal(estimator, X, y, C, weights=None):
    """The objective, by numpy alone: of two classes, or the sum over all against the rest."""
    X = X.toarray() if sparse.issparse(X) else np.asarray(X)
    weights = np.ones(len(y)) if weights is None else weights
    positive = estimator.classes_[1:] if len(estimator.classes_) == 2 else estimator.classes_
    scores = X.astype(np.float64) @ estimator.coef_.T + estimator.intercept_
    total = 0.0
    for k, label in enumerate(positive):
        margins = np.where(y == label, 1, -1) * scores[:, k]
        w = estimator.coef_[k]
        total += 0.5 * w @ w + C * weights @ np.maximum(0, 1 - margins)
        if estimator.fit_intercept and estimator.intercept == "scaled":
            total += 0.5 * estimator.intercept_[k] ** 2
    return total
