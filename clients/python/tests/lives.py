"""Runs operations in child processes that crash, and prints the outcomes of each history.

A history is one operation and the sequence of processes that execute it. All processes except the last two crash.

Reads a plan from standard input, as JSON:

- ``url``, ``api_key``, ``folder``: the API, and a folder for the keys.
- ``store``: ``file``, ``sqlite``, ``postgres`` (with ``database``, its URL), or a faulty one: ``late``, ``forgetful``.
- ``points``: where a process can crash. ``steps``: before and after each call of the key store and of the network;
  ``lines``: at each line of the client.
- ``crashes``: the maximum number of processes that crash in a history. 0: no process crashes; instead, each of
  ``rounds`` histories has ``racers`` concurrent processes.
- ``parts``, ``part``: runs only the histories whose first crash point is ``part``, modulo ``parts``.
- ``waitFactor``: the fraction of each pause that the client waits; 1 by default.
- ``corrects``: each process first pays with an invalid amount, and then corrects it.
- ``source``, ``amount``: the source, and the amount of the first history in minor units. Each history has a new amount.

Prints a line of JSON for each history: its crash points, its amount, and the outcomes of the processes that did not
crash.
"""

from __future__ import annotations

import json
import os
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from types import FrameType
from typing import Any

import payonce
from payonce import Client, DatabaseKeys, FileKeys, HttpTransport, PayonceError, ProblemError, Surroundings

PLAN: dict[str, Any] = json.load(sys.stdin)
SOURCES = str(Path(payonce.__file__).parent)
CRASHED = 70
AMOUNTS = count(PLAN["amount"])
"""The amount of each history. The name of its operation contains the amount."""

History = tuple[int, tuple[int, ...], list[Any]]


class Crash:
    """Crashes the process at the point with this number, counted from 0. ``None``: the process does not crash."""

    def __init__(self, at: int | None) -> None:
        self._at = at
        self._points = 0

    def point(self) -> None:
        if self._points == self._at:
            os._exit(CRASHED)
        self._points += 1

    def around(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def stepped(*args: Any) -> Any:
            self.point()
            result = call(*args)
            self.point()
            return result

        return stepped

    def trace(self, frame: FrameType, event: str, _: Any) -> Any:
        if not frame.f_code.co_filename.startswith(SOURCES):
            return None
        if event == "line":
            self.point()
        return self.trace


class Late(FileKeys):
    """Faulty: stores the request only together with its answer."""

    def put_if_absent(self, request: Any) -> Any:
        is_stored = os.path.exists(self._file_of(request.operation))
        return super().put_if_absent(request) if is_stored else payonce.StoredOperation(request)

    def keep_answer(self, request: Any, answer: Any) -> None:
        super().put_if_absent(request)
        super().keep_answer(request, answer)


class Forgetful(FileKeys):
    """Faulty: stores nothing."""

    def put_if_absent(self, request: Any) -> Any:
        return payonce.StoredOperation(request)

    def keep_answer(self, request: Any, answer: Any) -> None:
        pass


def open_postgres() -> Any:
    import psycopg  # type: ignore[import-not-found, unused-ignore]

    return psycopg.connect(PLAN["database"])


def open_store() -> FileKeys | DatabaseKeys:
    name, folder = PLAN["store"], PLAN["folder"]
    os.makedirs(folder, exist_ok=True)
    if name == "sqlite":
        return DatabaseKeys(lambda: sqlite3.connect(os.path.join(folder, "keys.db")))
    if name == "postgres":
        return DatabaseKeys(open_postgres)
    return {"file": FileKeys, "late": Late, "forgetful": Forgetful}[name](os.path.join(folder, "keys"))


def pay(amount: int, at: int | None) -> Any:
    """Pay in this process, which crashes at the point ``at`` unless it is ``None``. Return the outcome."""
    operation = f"{PLAN['folder']} {amount}"
    crash = Crash(at)
    store: Any = open_store()
    transport: Any = HttpTransport()
    if PLAN["points"] == "steps":
        transport = crash.around(transport)
        store.put_if_absent = crash.around(store.put_if_absent)
        store.keep_answer = crash.around(store.keep_answer)
        store.keep_refusal = crash.around(store.keep_refusal)
    around = Surroundings(
        transport=transport,
        sleep=lambda seconds: time.sleep(seconds * PLAN.get("waitFactor", 1)),
        fraction=lambda: 0.05,
    )
    client = Client(PLAN["url"], api_key=PLAN["api_key"], keys=store, surroundings=around)
    if PLAN["points"] == "lines" and at is not None:
        sys.settrace(crash.trace)
    purchase: Any = {"amount": amount, "currency": "EUR", "source": PLAN["source"]}
    try:
        if PLAN.get("corrects"):
            refuse(client, {**purchase, "amount": -amount}, operation)
        paid: Any = client.payments.create(purchase, operation=operation)
        return {"id": paid["id"], "status": paid["status"]}
    except ProblemError as error:
        return {"id": error.problem["payment"]["id"], "status": error.code}
    finally:
        sys.settrace(None)


def refuse(client: Client, purchase: Any, operation: str) -> None:
    """Try to pay with an invalid amount. The API refuses it; once the corrected one was sent, the client refuses it."""
    try:
        client.payments.create(purchase, operation=operation)
    except PayonceError as error:
        if error.code not in ("invalid_request", "operation_changed"):
            raise


class Life:
    """A child process that pays."""

    def __init__(self, amount: int, at: int | None, starts: int | None = None) -> None:
        self._reading, writing = os.pipe()
        self._process = os.fork()
        if self._process == 0:
            code = 1
            try:
                if starts is not None:
                    os.read(starts, 1)
                os.write(writing, json.dumps(pay(amount, at)).encode())
                code = 0
            finally:
                os._exit(code)
        os.close(writing)

    def end(self) -> Any:
        """Return ``None`` if the process crashed."""
        with open(self._reading, "rb") as file:
            said = file.read()
        _, state = os.waitpid(self._process, 0)
        code = os.waitstatus_to_exitcode(state)
        if code not in (0, CRASHED):
            raise RuntimeError(f"a process ended with {code}")
        return json.loads(said) if code == 0 else None


def histories(crashes: int, before: tuple[int, ...] = ()) -> Iterator[History]:
    """The loop ends when a process finishes before it reaches its point."""
    for point in count():
        if not before and point % PLAN.get("parts", 1) != PLAN.get("part", 0) % PLAN.get("parts", 1):
            continue
        amount = next(AMOUNTS)
        points = (*before, point)
        outcomes = [Life(amount, at).end() for at in points]
        if outcomes[-1] is not None:
            return  # The last process ended before this point.
        # Then two processes do not crash: the first one completes the operation, the second one gets the stored answer.
        yield amount, points, [Life(amount, None).end() for _ in range(2)]
        if len(points) < crashes:
            yield from histories(crashes, points)


def races() -> Iterator[History]:
    for _ in range(PLAN["rounds"]):
        amount = next(AMOUNTS)
        starts, go = os.pipe()
        lives = [Life(amount, None, starts) for _ in range(PLAN["racers"])]
        os.write(go, b"x" * len(lives))
        yield amount, (), [life.end() for life in lives]
        os.close(starts)
        os.close(go)


if __name__ == "__main__":
    keys = open_store()
    if isinstance(keys, DatabaseKeys):
        keys.create_table()
    for amount, points, outcomes in histories(PLAN["crashes"]) if PLAN["crashes"] else races():
        print(json.dumps({"amount": amount, "points": points, "outcomes": outcomes}), flush=True)
