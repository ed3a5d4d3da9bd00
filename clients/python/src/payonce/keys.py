"""Key stores: where an operation's key and body are stored before they are sent."""

from __future__ import annotations

import json
import threading
from dataclasses import asdict, dataclass, fields
from typing import Any, Protocol

from .errors import PayonceError


@dataclass(frozen=True)
class StoredRequest:
    """A request with its idempotency key. Every attempt sends the same bytes."""

    operation: str
    """The caller's name for the operation."""
    key: str
    """The value of the ``Idempotency-Key`` header."""
    method: str
    path: str
    """The path of the API, without scheme and host."""
    body: str | None
    """JSON; ``None`` for a request without a body."""
    mode: str | None
    """``test`` or ``live``, the mode of the API key; ``None`` when the client has no API key that shows the mode."""

    def to_json(self, *, refused: bool = False) -> str:
        """Return the request as ASCII JSON, for a column of a key store. ``keep_refusal`` passes ``refused=True``."""
        return json.dumps({**asdict(self), "refused": True} if refused else asdict(self))


@dataclass(frozen=True)
class StoredAnswer:
    """The final answer to a request."""

    status: int
    body: str
    """JSON, as received."""

    def to_json(self) -> str:
        """Return the answer as ASCII JSON, for a column of a key store."""
        return json.dumps(asdict(self))


@dataclass(frozen=True)
class StoredOperation:
    """A stored request, with its answer if one is stored."""

    request: StoredRequest
    answer: StoredAnswer | None = None
    refused: bool = False
    """Whether the API refused the request and stored nothing for its key, so that its body may be corrected."""


class KeyStore(Protocol):
    """Stores operations. A store of your own has these two methods, for example on columns of your order rows, and may
    run them in a transaction of its own. If a method raises an error, the operation stops and raises this error.

    An optional third method, ``keep_refusal(request)``, replaces the stored request with this refused one, unless an
    answer is stored. The next call with the operation may then have another body. It sends the same key, so that only
    one of the bodies can ever take effect. Without the method, such a call raises OperationChangedError.
    """

    def put_if_absent(self, request: StoredRequest) -> StoredOperation:
        """Store the request unless a request is already stored for this operation, and return the stored operation.

        If two processes call this method at the same time, only one request is stored. The row must be durable when
        this method returns, because the request is sent next.
        """

    def keep_answer(self, request: StoredRequest, answer: StoredAnswer) -> None:
        """Store the answer with the request.

        Can be called more than once for an operation, with the same bytes. If it raises an error, a later call with
        the same operation can still get the answer.
        """


class MemoryKeys:
    """Stores operations in memory. A crashed process loses its keys, so this store is only for tests and scripts."""

    def __init__(self) -> None:
        self._rows: dict[str, StoredOperation] = {}
        self._lock = threading.Lock()

    def put_if_absent(self, request: StoredRequest) -> StoredOperation:
        with self._lock:
            return self._rows.setdefault(request.operation, StoredOperation(request))

    def keep_answer(self, request: StoredRequest, answer: StoredAnswer) -> None:
        with self._lock:
            self._rows[request.operation] = StoredOperation(request, answer)

    def keep_refusal(self, request: StoredRequest) -> None:
        with self._lock:
            if self._rows[request.operation].answer is None:
                self._rows[request.operation] = StoredOperation(request, refused=True)


def stored_in(request: str | None, answer: str | None = None) -> StoredOperation:
    """Return the operation of a row that was stored as JSON.

    ``answer`` is the stored answer as JSON, and overrides an answer inside the request's JSON.

    Raises PayonceError ``invalid_key_store`` if the row is not an operation.
    """
    row = _object_in(request)
    if answer is not None:
        row["answer"] = _object_in(answer)
    try:
        kept = StoredAnswer(row["answer"]["status"], row["answer"]["body"]) if "answer" in row else None
        request_of_row = StoredRequest(*(row[each.name] for each in fields(StoredRequest)))
        operation = StoredOperation(request_of_row, kept, row.get("refused", False))
    except (TypeError, KeyError):
        operation = None
    if operation is None or not is_operation(operation):
        message = "The key store has no valid row for this operation: the row is missing or damaged."
        # An earlier process may have sent the request.
        raise PayonceError("invalid_key_store", message, may_have_taken_effect=True)
    return operation


def is_operation(value: object) -> bool:
    """Return whether a value that a key store returned is a valid operation."""
    if not isinstance(value, StoredOperation) or not isinstance(value.request, StoredRequest):
        return False
    request, answer = value.request, value.answer
    names = (request.operation, request.key, request.method, request.path)
    return (
        all(isinstance(each, str) and each != "" for each in names)
        and (request.body is None or _is_object_text(request.body))
        and request.mode in (None, "test", "live")
        and isinstance(value.refused, bool)
        and (answer is None or (type(answer.status) is int and _is_object_text(answer.body)))
    )


def _is_object_text(text: object) -> bool:
    """Return whether a text is a JSON object. A text that a short database column truncated, for example, is not."""
    return isinstance(text, str) and _parsed_object(text) is not None


def _object_in(text: str | None) -> dict[str, Any]:
    return _parsed_object(text or "") or {}


def _parsed_object(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
