"""Every example in docstrings and documents runs; the package is typed and light."""

import doctest
import importlib
import inspect
import pathlib
import re
import subprocess
import sys

import pytest

import hinge

SOURCES = pathlib.Path(__file__).resolve().parents[2]
MODULES = ["hinge", "hinge.data", "hinge.errors", "hinge.linear_svc", "hinge.linear_svr", "hinge.logistic_regression",
           "hinge.model", "hinge.pegasos", "hinge.plot"]


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name):
    failures, tried = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert failures == 0 and tried > 0


def blocks(name):
    text = (SOURCES / name).read_text(encoding="utf-8")
    return re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("name, least", [("docs/python.md", 6), ("README.md", 1)])
def test_documents(name, least, tmp_path, monkeypatch, two):
    """The blocks of a document, one after the other, in one folder; what a comment says a line gives, it gives."""
    pytest.importorskip("matplotlib", reason="matplotlib is not installed: the examples draw a figure").use("Agg")
    monkeypatch.chdir(tmp_path)
    hinge.Dataset(*two).save("train.svm", "text")
    found = blocks(name)
    assert len(found) >= least
    names = {}
    for block in found:
        exec(compile(block, name, "exec"), names)
        for line in block.splitlines():
            promise = re.match(r"(\S.*\S)\s+# -> (.*)", line)
            if promise:
                assert str(eval(promise[1], names)) == promise[2], line


def test_parameters_are_documented():
    for estimator in (hinge.LinearSVC, hinge.LinearSVR, hinge.LogisticRegression, hinge.PegasosClassifier):
        for name in inspect.signature(estimator).parameters:
            assert re.search(rf"^    (\w+, )*{name}(, \w+)*( :|$)", estimator.__doc__, re.MULTILINE), name
        assert set(estimator._parameters.values()) <= set(inspect.signature(estimator).parameters)


def test_everything_public_has_a_docstring():
    for name in hinge.__all__:
        thing = getattr(hinge, name)
        assert name == "__version__" or inspect.getdoc(thing), name
        for member, value in vars(thing).items() if inspect.isclass(thing) else ():
            if inspect.isfunction(value) and not member.startswith("_"):
                assert inspect.getdoc(getattr(thing, member)), f"{name}.{member}"


def test_typed():
    folder = pathlib.Path(hinge.__file__).parent
    assert (folder / "py.typed").exists()
    stub = (folder / "_core.pyi").read_text(encoding="utf-8")
    for name in ("class Dataset", "class Model", "class Learner", "def train", "def verify"):
        assert name in stub


def test_version():
    wanted = re.search(r"project\(hinge VERSION ([0-9.]+)", (SOURCES / "CMakeLists.txt").read_text(encoding="utf-8"))[1]
    assert hinge.__version__ == wanted


def test_import_is_light():
    """Who only reads files does not wait for scikit-learn; and nothing of CUDA or MPI is looked for."""
    code = ("import sys, hinge; print('sklearn' in sys.modules, 'scipy' in sys.modules); hinge.LinearSVC; "
            "print('sklearn' in sys.modules)")
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.split() == ["False", "False", "True"]
    linked = subprocess.run(["ldd", hinge._core.__file__], capture_output=True, text=True).stdout
    if not linked:
        pytest.skip("there is no ldd")
    assert not re.search(r"cuda|mpi|not found", linked)


def test_unknown_names():
    with pytest.raises(AttributeError, match="no attribute 'SVC'"):
        hinge.SVC
    assert "LinearSVC" in dir(hinge)
