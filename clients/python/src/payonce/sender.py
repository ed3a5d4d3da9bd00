"""Sends a request until the API answers."""

from __future__ import annotations

import json
import socket
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .errors import NoAnswerError, PayonceError, is_passing
from .surroundings import Response, Surroundings
from .waiting import parse_retry_after, pause_seconds

TIMEOUT_SECONDS = 60.0
_ATTEMPT_SECONDS = 30.0
"""The API's gateway answers within 29 s."""
_MAX_ATTEMPTS = 100
"""A time limit of a few minutes ends the loop earlier."""
_PASSING_STATUS = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Retried statuses, which a gateway or proxy in front of the API may return."""


@dataclass(frozen=True)
class Answer:
    """A final answer of the API: the request need not be retried."""

    status: int
    text: str
    value: Any
    """The parsed body: an object of the API, or a problem."""
    sent_before: bool = False
    """Whether the API may have received an earlier attempt, even from an earlier process."""

    @property
    def is_problem(self) -> bool:
        return self.status >= 300


@dataclass(frozen=True)
class _Again:
    why: Exception
    received: bool = True
    asked_seconds: float = 0.0
    unreachable: str | None = None
    """Code of the error to raise if there is no connection to the address, which is then probably wrong."""


class Sender:
    """Sends a request, with the same bytes and key each time, until the API answers.

    ``url`` is the address of the API, with the stage and without a trailing slash.
    """

    def __init__(self, url: str, headers: Mapping[str, str], around: Surroundings) -> None:
        self._url = url
        self._headers = headers
        self._around = around
        # If this URL has ever responded, a missing connection is an outage, and is retried. Otherwise the URL is
        # probably wrong, and a call fails immediately if its first attempt gets no connection.
        self._has_responded = False

    def send(
        self,
        method: str,
        path: str,
        body: str | None,
        timeout_seconds: float,
        key: str | None = None,
        sent_before: bool = False,
    ) -> Answer:
        """Send a request. Without a ``key``, it must be safe to repeat.

        ``sent_before`` states whether an earlier process may have sent it. Raises NoAnswerError when the time is up.
        Raises PayonceError ``unexpected_answer`` for a response that is not from the API. Raises PayonceError
        ``connection_refused`` or ``no_connection``, without retries, if the first attempt gets no connection and the
        address has never responded.
        """
        around = self._around
        until = around.monotonic() + timeout_seconds
        last: Exception | None = None
        for attempt in range(_MAX_ATTEMPTS):
            left = max(0.001, until - around.monotonic())
            result = self._attempt(method, path, body, key, min(_ATTEMPT_SECONDS, left))
            if isinstance(result, Answer):
                return Answer(result.status, result.text, result.value, sent_before)
            if attempt == 0 and result.unreachable is not None and not self._has_responded:
                message = self._no_connection(result.unreachable, result.why)
                raise PayonceError(result.unreachable, message, may_have_taken_effect=sent_before) from result.why
            sent_before = sent_before or result.received
            last = result.why
            pause = pause_seconds(attempt, around.fraction(), result.asked_seconds)
            if around.monotonic() + pause >= until:
                break
            around.sleep(pause)
        advice = "" if key is None else " To get the response, call again with the same operation."
        message = f"{method} {path} got no response within {timeout_seconds:g} s (last: {last}).{advice}"
        raise NoAnswerError("no_answer", message, may_have_taken_effect=key is not None and sent_before) from last

    def _attempt(
        self, method: str, path: str, body: str | None, key: str | None, timeout_seconds: float
    ) -> Answer | _Again:
        headers = dict(self._headers)
        if body is not None:
            headers["content-type"] = "application/json"
        if key is not None:
            # Ask the API to wait while another request with this key is running, and to return the answer to that
            # request.
            headers.update({"idempotency-key": key, "prefer": "wait=8"})
        sent = None if body is None else body.encode()
        try:
            response = self._around.transport(method, self._url + path, headers, sent, timeout_seconds)
        except ConnectionRefusedError as error:
            return _Again(error, received=False, unreachable="connection_refused")
        except (socket.gaierror, ssl.SSLCertVerificationError) as error:
            # If no name server answered, the host name may be right.
            is_unknown = not isinstance(error, socket.gaierror) or error.errno != socket.EAI_AGAIN
            return _Again(error, received=False, unreachable="no_connection" if is_unknown else None)
        except Exception as error:
            return _Again(error)
        self._has_responded = True
        return self._read(response, is_change=key is not None)

    def _no_connection(self, code: str, why: Exception) -> str:
        if code == "connection_refused":
            return f"Nothing listens at {self._url}: the connection was refused. Is the API running, at this address?"
        return f"There is no connection to {self._url}: {why}. Is this the address of the API?"

    def _read(self, response: Response, is_change: bool) -> Answer | _Again:
        status = response.status
        text = response.body.decode(errors="replace")
        value = _object_in(text)
        if 200 <= status < 300:
            kind = value.get("object")
            # The API never responds to a change with a list. A proxy that followed a redirect has turned the POST into
            # a GET.
            if isinstance(kind, str) and not (is_change and kind == "list"):
                return Answer(status, text, value)
            # The answer was truncated, or is an HTML page of a proxy.
            return _Again(ValueError(f"the response with status {status} does not contain the expected object"))
        asked = float(parse_retry_after(response.headers.get("retry-after"), self._around.now()) or 0)
        code = value.get("code")
        if isinstance(code, str) and value.get("status") == status:
            if not is_passing(code, status):
                return Answer(status, text, value)
            why = ValueError(f"{code}: {value.get('detail')}")
            return _Again(why, received=code != "rate_limited", asked_seconds=asked)
        if status in _PASSING_STATUS:
            return _Again(ValueError(f"the response {status} is not from the API"), asked_seconds=asked)
        raise PayonceError(
            "unexpected_answer",
            f"The address returned {status}, which is not a response from Payonce. Is {self._url} the address of its "
            "API, with its stage?",
            may_have_taken_effect=True,
        )


def _object_in(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
