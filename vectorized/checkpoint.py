r"""A file from which a run goes on after Ctrl-C, a crash or ``kill -9``, to the same bits.

It holds the counts of questions 0 .. done - 1 and a fingerprint of everything that they depend on: the encoding (each number that the
kernels read) and the seed. Threads, pieces, workers, precision and prices are not among it and may change. The file is written beside
itself, synced and renamed over the old one, so at any moment either the old or the new one stands there whole; a checksum tells a
damaged file, which is refused, never half-read.

A run that saves holds a lock on the file (on what stands there after each save), so that a second one is refused at its first save. The
lock is the kernel's: it ends with the process, however that ends. Where the file system knows no locks, runs do without.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..model.errors import FileFormatError, InputError
from .run import Counts, Task

__all__ = ["Checkpoint"]

_FORMAT = "adjourn checkpoint 1"
_LARGEST = 64 * 2**20


def _checksum(data: Mapping[str, Any]) -> str:
    rest = {key: value for key, value in data.items() if key != "checksum"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint file of one task.

    Parameters
    ----------
    path : Path
        The file; it need not exist yet.
    task : Task
        Whose counts it keeps.
    about : mapping of str
        What a person should know about the run (protocol, population); shown where the file is refused.
    """

    path: Path
    task: Task
    about: Mapping[str, str] = field(default_factory=dict)
    _held: list[int] = field(default_factory=list, init=False, repr=False, compare=False)

    def load(self) -> tuple[Counts, int]:
        """Read counts and number of questions done; zeros where there is no file.

        Raises
        ------
        FileFormatError
            If the file is damaged, is no checkpoint, or belongs to another run.
        """
        try:
            self.path.stat()
        except FileNotFoundError:
            return np.zeros(self.task.size, dtype=np.int64), 0
        except (OSError, ValueError) as error:  # a name that is too long, a loop of links, a zero byte
            raise FileFormatError(self.path, f"cannot be read ({getattr(error, 'strerror', None) or error}).") from None
        data = self._read()
        if data["fingerprint"] != self.task.fingerprint():
            told = ", ".join(f"{key} {value}" for key, value in {**data["about"], "seed": data["seed"]}.items())
            raise FileFormatError(
                self.path,
                f"this checkpoint belongs to another run ({told}), or to other parameters of it. Name another file, or delete this one.",
            )
        counts = np.zeros(self.task.size, dtype=np.int64)
        for index, count in data["counts"]:
            counts[index] = count
        return counts, int(data["done"])

    def _read(self) -> dict[str, Any]:
        try:
            if not self.path.is_file() or self.path.stat().st_size > _LARGEST:  # a device has no size and may have no end
                raise ValueError
            data = json.loads(self.path.read_text(encoding="utf-8"))
            named = data["format"] == _FORMAT
        except OSError as error:
            raise FileFormatError(self.path, f"cannot be read ({error.strerror or error}).") from None
        except (ValueError, KeyError, TypeError, RecursionError):
            raise FileFormatError(self.path, "no checkpoint, or a damaged one. Name another file, or delete it.") from None
        if not named or data.get("checksum") != _checksum(data):
            raise FileFormatError(self.path, "a damaged checkpoint: its checksum does not match. Delete it to start anew.")
        return dict(data)

    def save(self, counts: Counts, done: int) -> None:
        """Replace the file by the counts of questions 0 .. done - 1; the first time, lock it, until :meth:`release`.

        Raises
        ------
        InputError
            If it cannot be written, another run holds it, or it is not at the first save as it was when it was loaded.
        """
        held = np.flatnonzero(counts)
        data: dict[str, Any] = {
            "format": _FORMAT,
            "about": dict(self.about),
            "seed": self.task.seed,
            "fingerprint": self.task.fingerprint(),
            "done": int(done),
            "counts": [[int(index), int(counts[index])] for index in held],
        }
        data["checksum"] = _checksum(data)
        try:
            self._replace(json.dumps(data), int(done))
        except OSError as error:
            reason = error.strerror or error
            raise InputError(f"cannot write the checkpoint {self.path}: {reason}. Choose another place with --checkpoint.") from None

    def release(self) -> None:
        """Let another run have the file."""
        while self._held:
            os.close(self._held.pop())

    def _replace(self, text: str, done: int) -> None:
        beside = self.path.with_name(self.path.name + ".part")
        handle = self._locked(beside, os.O_RDWR | os.O_CREAT, wait=bool(self._held))  # others hold it only until they are refused
        try:
            if not self._held:
                self._claim(done)
            os.ftruncate(handle, 0)
            with open(handle, "w", encoding="utf-8", closefd=False) as stream:
                stream.write(text)
                stream.flush()
                os.fsync(handle)
            os.replace(beside, self.path)
        except BaseException:
            with suppress(OSError):
                os.unlink(beside)
            os.close(handle)
            raise
        self.release()
        self._held.append(handle)
        _sync_folder(self.path.parent)

    def _claim(self, done: int) -> None:
        """Lock the file if there is one; it must be as it was loaded."""
        with suppress(FileNotFoundError):
            self._held.append(self._locked(self.path, os.O_RDONLY, wait=False))
            if self.load()[1] != done:
                raise InputError(f"{self.path}: another run has changed this checkpoint meanwhile. Start again to go on from there.")

    def _locked(self, path: Path, flags: int, *, wait: bool) -> int:
        """Open a file and lock it; opened anew where it was replaced in between."""
        while True:
            handle = os.open(path, flags, 0o666)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            except BlockingIOError:
                os.close(handle)
                raise InputError(
                    f"{self.path}: another run is saving to this checkpoint. Wait for its end, or name another file."
                ) from None
            except OSError:
                return handle
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(handle), os.stat(path)):
                    return handle
            os.close(handle)


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
