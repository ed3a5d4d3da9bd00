"""Stores the key and the body, sends them, and stores the answer, in this order."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from .errors import OperationChangedError, PayonceError, is_final, problem_error, stored_nothing
from .keys import KeyStore, StoredAnswer, StoredOperation, StoredRequest, is_operation
from .sender import Answer, Sender
from .surroundings import Surroundings

_LONGEST_NAME = 200


class Operations:
    """Different processes may perform the steps of one operation."""

    def __init__(self, keys: KeyStore, sender: Sender, mode: str | None, around: Surroundings) -> None:
        self._keys = keys
        self._sender = sender
        self._mode = mode
        self._mint_key = around.mint_key

    def run(
        self, method: str, path: str, params: Mapping[str, Any] | None, operation: str, timeout_seconds: float
    ) -> Any:
        """Return the object of the answer.

        Raises ProblemError when the API answers with a problem; OperationChangedError before anything is sent;
        PayonceError ``invalid_operation`` or ``invalid_key_store``; the errors of ``Sender.send``; TypeError if the
        parameters are not JSON, or contain a float.
        """
        if not _is_name(operation):
            raise PayonceError("invalid_operation", f"operation must be a string of 1 to {_LONGEST_NAME} characters")
        offered = StoredRequest(operation, self._mint_key(), method, path, _body_of(params), self._mode)
        stored = _checked(self._keys.put_if_absent(offered), operation)
        request = stored.request
        other = differences(request, offered)
        is_corrected = stored.refused and stored.answer is None and _has_address_of(request, offered)
        if other and not is_corrected:
            # The operation may have taken effect even if the stored request was refused: a process may have sent a
            # corrected body and crashed before the answer.
            advice = self._advice_for(stored, offered)
            next_action = (
                "A different request needs a new operation."
                if advice is None
                else f"The earlier request may have taken effect: repeat it to get its response{advice}"
            )
            # The message names fields without their values, which can be personal data.
            message = f"The operation {operation} was started with a different {', '.join(other)}. Nothing was sent."
            raise OperationChangedError(
                "operation_changed", f"{message} {next_action}", may_have_taken_effect=advice is not None
            )
        if stored.answer is not None:
            kept = stored.answer
            return _settled(Answer(kept.status, kept.body, json.loads(kept.body)))
        if is_corrected:
            # The corrected body is sent with the stored key. If an earlier body did take effect, the API refuses this one.
            request = replace(request, body=offered.body)
        # If the stored key is from an earlier process, that process may have sent the request.
        is_resumed = request.key != offered.key
        answer = self._sender.send(method, request.path, request.body, timeout_seconds, request.key, is_resumed)
        is_kept = not answer.is_problem or is_final(answer.value["code"])
        if is_kept:
            self._keys.keep_answer(request, StoredAnswer(answer.status, answer.text))
        is_refused = not is_kept and stored_nothing(answer.value["code"])
        if is_refused:
            # If an earlier attempt took effect, a corrected body cannot take effect: the API refuses another body for
            # the same key.
            keep_refusal = getattr(self._keys, "keep_refusal", None)
            if keep_refusal is not None:
                keep_refusal(request)
        return _settled(answer, not is_kept and (not is_refused or answer.sent_before))

    def _advice_for(self, stored: StoredOperation, offered: StoredRequest) -> str | None:
        """Return the end of the message about a changed request; ``None`` if the stored request had no effect."""
        if stored.answer is not None and stored.answer.status >= 300:
            return None
        if stored.answer is not None or not _has_address_of(stored.request, offered):
            return ", before you start a new operation."
        if getattr(self._keys, "keep_refusal", None) is None:
            return ". To correct a refused body, the key store needs keep_refusal."
        return ". If it is refused, you can then send the changed body."


def _is_name(operation: object) -> bool:
    """Counts UTF-16 code units, as the TypeScript client does."""
    if not isinstance(operation, str):
        return False
    try:
        return 0 < len(operation.encode("utf-16-le")) // 2 <= _LONGEST_NAME
    except UnicodeEncodeError:
        return False


def _body_of(params: Mapping[str, Any] | None) -> str | None:
    if params is None:
        return None
    if not isinstance(params, dict):
        # A stored request whose body is not an object could never be sent or corrected.
        raise TypeError(f"the parameters must be a dict, but are a {type(params).__name__}")
    _refuse_floats(params, "params")
    return json.dumps(params, separators=(",", ":"))


def _refuse_floats(value: Any, name: str) -> None:
    if isinstance(value, float):
        raise TypeError(f"{name} is {value!r}: amounts are whole numbers in minor units, for example 2000 for 20.00 EUR")
    if isinstance(value, Mapping):
        for field, inner in value.items():
            _refuse_floats(inner, str(field))
    elif isinstance(value, (list, tuple)):
        for inner in value:
            _refuse_floats(inner, name)


def _checked(stored: object, operation: str) -> StoredOperation:
    if isinstance(stored, StoredOperation) and is_operation(stored) and stored.request.operation == operation:
        return stored
    message = f"The key store returned no row for the operation {operation}. Nothing was sent."
    # An earlier process may have stored and sent the request.
    raise PayonceError("invalid_key_store", message, may_have_taken_effect=True)


def _settled(answer: Answer, may_have_taken_effect: bool = False) -> Any:
    if answer.is_problem:
        raise problem_error(answer.value, may_have_taken_effect=may_have_taken_effect)
    return answer.value


_ADDRESS = ("mode", "method", "path")
"""The fields by which the API stores idempotency keys."""


def _has_address_of(stored: StoredRequest, offered: StoredRequest) -> bool:
    return all(getattr(stored, name) == getattr(offered, name) for name in _ADDRESS)


def differences(stored: StoredRequest, offered: StoredRequest) -> list[str]:
    """As in the API, the order of fields is irrelevant."""
    one, two = asdict(stored), asdict(offered)
    names = [name for name in _ADDRESS if one[name] != two[name]]
    if stored.body == offered.body:
        return names
    if stored.body is None or offered.body is None:
        return [*names, "body"]
    left, right = _fields_of(stored.body), _fields_of(offered.body)
    return names + [name for name in {**left, **right} if left.get(name) != right.get(name)]


def _fields_of(body: str) -> dict[str, str]:
    return {name: json.dumps(value, sort_keys=True) for name, value in json.loads(body).items()}
