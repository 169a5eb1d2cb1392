"""What goes wrong, as exceptions.

Every exception of hinge is an :class:`Error` and at the same time the built-in exception one would
expect: ``ValueError`` for data and parameters, ``OSError`` (with ``errno``, and as
``FileNotFoundError`` or ``PermissionError`` where it is that) for files, ``MemoryError``. They carry

``id``      the stable name of the error, as in ``hinge explain ID``: ``"data.value.nonfinite"``
``path``    the file, or ``None``
``line``    in that file, from 1, or ``None``
``column``  first byte in question on that line, from 1, or ``None``
``help``    what to do, or ``""``

>>> import hinge
>>> try:
...     hinge.load_svmlight_file("no such file")
... except FileNotFoundError as error:
...     print(error.id, error.errno, error.path)
io.open 2 no such file
"""

from __future__ import annotations

import contextlib
import errno as _errno
import os

__all__ = ["Error", "DataError", "UsageError", "CorruptError", "NumericError", "Unavailable", "InternalError",
           "FileError", "OutOfMemory", "HingeWarning"]


class Error(Exception):
    """The base of all exceptions of hinge."""

    id: str = "run.internal"
    path: str | None = None
    line: int | None = None
    column: int | None = None
    help: str = ""
    _text: str | None = None

    def __str__(self):
        return self._text if self._text is not None else super().__str__()

    def __reduce__(self):  # a worker process sends its exceptions home
        arguments = self.args
        if isinstance(self, OSError) and self.filename is not None:
            arguments = (*arguments[:2], self.filename)
        return _rebuild, (type(self).__name__, arguments, self.__dict__.copy())


class DataError(Error, ValueError):
    """The data cannot be used."""


class UsageError(Error, ValueError):
    """A parameter is out of its range, or parameters do not go together."""


class CorruptError(Error, ValueError):
    """A model, data set or checkpoint of hinge's is damaged, hostile, or of a newer version."""


class NumericError(Error, ArithmeticError):
    """The objective is not finite."""


class Unavailable(Error, RuntimeError):
    """Something this machine or this build does not have."""


class InternalError(Error, RuntimeError):
    """A bug in hinge; please report it."""


class FileError(Error, OSError):
    """A file cannot be opened, read or written."""


class FileMissing(FileError, FileNotFoundError):
    """A file is not there."""


class FileDenied(FileError, PermissionError):
    """A file may not be opened or written."""


class FileIsFolder(FileError, IsADirectoryError):
    """A path is a folder."""


class OutOfMemory(Error, MemoryError):
    """Memory ran out, or would."""


class HingeWarning(UserWarning):
    """Something odd that was put up with; its text ends in the id of the warning."""


_BY_EXIT_CODE = {64: UsageError, 65: DataError, 66: FileError, 69: Unavailable, 70: InternalError, 71: FileError,
                 73: FileError, 74: FileError, 75: FileError, 77: FileError, 80: CorruptError, 81: OutOfMemory,
                 82: NumericError, 130: KeyboardInterrupt}
_BY_ERRNO = {_errno.ENOENT: FileMissing, _errno.EACCES: FileDenied, _errno.EPERM: FileDenied,
             _errno.EISDIR: FileIsFolder}
_ERRNO_OF_ID = {"io.open": _errno.ENOENT, "io.permission": _errno.EACCES, "io.not-a-file": _errno.EISDIR,
                "lock.held": _errno.EAGAIN}


def _errno_of(id, message):
    # The library says strerror(errno), in English whatever the locale; the longest text wins.
    found = [code for code in _errno.errorcode if os.strerror(code) in message]
    return max(found, key=lambda code: len(os.strerror(code)), default=_ERRNO_OF_ID.get(id, _errno.EIO))


def exception_of(*, id, exit_code, text, message, path="", line=0, column=0, help=""):
    """The exception for an error of the library, which calls this."""
    kind = _BY_EXIT_CODE.get(exit_code, InternalError)
    if kind is KeyboardInterrupt:
        return KeyboardInterrupt()
    if kind is FileError:
        code = _errno_of(id, message)
        error = _BY_ERRNO.get(code, FileError)(code, message, *([path] if path else []))
    else:
        error = kind(text)
    error.id, error._text, error.help = id, text, help
    error.path, error.line, error.column = path or None, line or None, column or None
    return error


@contextlib.contextmanager
def about(path):
    """While a file is worked on: errors of the system say which, as Python's own do."""
    try:
        yield os.fsencode(path)
    except FileError as error:
        if error.path is None:
            error.path = error.filename = os.fsdecode(path)
        raise


def _rebuild(name, args, fields):
    error = globals()[name](*args)
    error.__dict__.update(fields)
    return error
