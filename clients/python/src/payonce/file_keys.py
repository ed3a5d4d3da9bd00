"""A key store in files."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict

from .keys import StoredAnswer, StoredOperation, StoredRequest, stored_in


class FileKeys:
    """Stores each operation in a separate file, for one machine with any number of processes.

    A row and the name of its file are on disk before the row is used, so a crash of the process or the machine leaves
    either the whole row or none. Files contain requests and responses, and are readable only by their owner. The folder
    must be on a local disk. The TypeScript client's ``fileKeys`` reads and writes the same files.

    ``folder`` is created if it does not exist. Raises ValueError if ``folder`` is ``None`` or empty.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        if folder is None or not os.fspath(folder):
            raise ValueError('FileKeys needs a folder, for example FileKeys("/var/lib/shop/payments")')
        self._root = os.path.abspath(folder)
        self._is_synced = False

    def put_if_absent(self, request: StoredRequest) -> StoredOperation:
        if not (self._is_synced and os.path.isdir(self._root)):
            _make_folder(self._root)
            self._is_synced = True
        file = self._file_of(request.operation)
        # Of two concurrent processes, only one can create the name. A rename would overwrite the file of the other
        # process.
        with self._draft(asdict(request)) as draft, suppress(FileExistsError):
            os.link(draft, file)
        # Sync the folder for an existing row, too: the writer of the row may have crashed before the file name was on
        # disk.
        _sync_folder(self._root)
        return _read(file)

    def keep_answer(self, request: StoredRequest, answer: StoredAnswer) -> None:
        with self._draft({**asdict(request), "answer": asdict(answer)}) as draft:
            os.replace(draft, self._file_of(request.operation))
        _sync_folder(self._root)

    def keep_refusal(self, request: StoredRequest) -> None:
        # If another process stores an answer at the same time, the refusal can replace that answer. The next call then
        # gets the answer again, with the same key.
        file = self._file_of(request.operation)
        if _read(file).answer is None:
            with self._draft({**asdict(request), "refused": True}) as draft:
                os.replace(draft, file)
            _sync_folder(self._root)

    def _file_of(self, operation: str) -> str:
        return os.path.join(self._root, f"{hashlib.sha256(operation.encode()).hexdigest()}.json")

    @contextmanager
    def _draft(self, row: dict[str, object]) -> Iterator[str]:
        """Write a row to a temporary file, sync the file, and yield its path.

        The file is removed afterwards, even if the disk is full.
        """
        draft = os.path.join(self._root, f".{uuid.uuid4()}.draft")
        try:
            descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with open(descriptor, "w", encoding="utf-8") as file:
                file.write(json.dumps(row))
                file.flush()
                _sync(file.fileno())
            yield draft
        finally:
            with suppress(FileNotFoundError):
                os.unlink(draft)


def _read(file: str) -> StoredOperation:
    with open(file, encoding="utf-8", errors="replace") as row:
        return stored_in(row.read())


def _make_folder(folder: str) -> None:
    """Create a folder, and sync its name and the names of all folders above it.

    Otherwise, a new folder could be lost together with its rows. The process that created an existing folder may have
    crashed before it synced the name.
    """
    parent = os.path.dirname(folder)
    if parent == folder:
        return
    _make_folder(parent)
    try:
        os.mkdir(folder, 0o700)
    except OSError:
        if not os.path.isdir(folder):
            raise
    try:
        _sync_folder(parent)
    except OSError:
        # If this process cannot write to the folder, ignore the error: the folder may be unreadable, or its file system
        # may be unable to sync folders.
        if os.access(parent, os.W_OK):
            raise


def _sync_folder(folder: str) -> None:
    # Windows cannot open folders, but the journal of its file system preserves the order of name changes.
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        _sync(descriptor)
    finally:
        os.close(descriptor)


def _sync(descriptor: int) -> None:
    if sys.platform == "darwin":
        # On macOS, fsync leaves the data in the cache of the drive.
        import fcntl

        try:
            fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
            return
        except OSError:
            pass  # The file system does not support F_FULLFSYNC.
    os.fsync(descriptor)
