"""Sends requests that are safe to repeat."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import urlencode

from .errors import PayonceError, UnfinishedError, problem_error
from .sender import Sender
from .surroundings import Surroundings
from .waiting import pause_seconds

_MAX_POLLS = 1_000
"""A wait of a few minutes stays below this limit."""


class Reading:
    def __init__(self, sender: Sender, around: Surroundings) -> None:
        self._sender = sender
        self._around = around

    def get(self, path: str, timeout_seconds: float) -> Any:
        """Raises ProblemError, and the errors of ``Sender.send``."""
        return self._ask("GET", path, None, timeout_seconds)

    def set(self, path: str, params: Mapping[str, Any], timeout_seconds: float) -> Any:
        return self._ask("PATCH", path, json.dumps(params), timeout_seconds)

    def pages(self, path: str, query: Mapping[str, Any] | None, timeout_seconds: float) -> Iterator[Any]:
        """The time limit is for each page."""
        asked = dict(query or {})
        place = "starting_after" if asked.get("ending_before") is None else "ending_before"
        while True:
            text = urlencode({name: value for name, value in asked.items() if value is not None})
            page = self.get(f"{path}?{text}" if text else path, timeout_seconds)
            yield from page["data"]
            if not page["has_more"]:
                return
            cursor = page.get("next_cursor") or _place_of(page["data"])
            if cursor is None or cursor == asked.get(place):
                raise PayonceError(
                    "unexpected_answer",
                    f"The list {path} has more pages, but the response does not say where the next page begins.",
                )
            asked[place] = cursor

    def wait(self, path: str, is_open: Callable[[Any], bool], timeout_seconds: float) -> Any:
        """Poll an object until it has an outcome. Raises UnfinishedError when it has none in time, and errors of
        ``get``.
        """
        around = self._around
        until = around.monotonic() + timeout_seconds
        poll = 0
        while True:
            value = self.get(path, max(0.001, until - around.monotonic()))
            if not is_open(value):
                return value
            pause = pause_seconds(poll, around.fraction())
            if poll >= _MAX_POLLS or around.monotonic() + pause >= until:
                raise UnfinishedError(value, timeout_seconds)
            around.sleep(pause)
            poll += 1

    def _ask(self, method: str, path: str, body: str | None, timeout_seconds: float) -> Any:
        answer = self._sender.send(method, path, body, timeout_seconds)
        if answer.is_problem:
            raise problem_error(answer.value)
        return answer.value


def _place_of(data: list[Any]) -> str | None:
    """Transitions have a sequence number instead of an id."""
    last = data[-1] if data else {}
    place = last.get("id", last.get("sequence"))
    return None if place is None else str(place)
