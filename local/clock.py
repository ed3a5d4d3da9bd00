"""The clock of the local AWS, which `payonce clock advance` moves: POST /_payonce/clock with {"advance_ms": …}.

Scheduled work becomes due: messages in queues, schedules, items with a time to live. Functions get the offset in their
environment. The process of a function keeps the offset with which it started. After the clock has moved, the process is
replaced before its next invocation. The file with the offset is part of the state, and is written before the clock moves.
Therefore, the clock is not behind the times in the rows after a restart, unless the machine crashed.
"""

import asyncio
import datetime
import email.utils
import functools
import json
import os
import time

from ministack import app
from ministack.core import lambda_runtime, persistence
from ministack.services import eventbridge

# This file replaces and calls internals of the emulator.
USED = {
    app: ["app", "_parse_execute_api_url", "_send_response", "formatdate"],
    lambda_runtime: ["Worker", "kill_workers", "workers_in_use"],
    persistence: ["STATE_DIR"],
    eventbridge: ["datetime"],
}
ADVANCE = "/_payonce/clock"
# platform.ts (lambdas/kernel/platform) uses the same name for the offset, and local/clock.ts uses the same name for the
# file. local/emulator.ts passes the offset at the next start.
OFFSET = "PAYONCE_CLOCK_OFFSET_MS"
FILE = "clock.json"
MOST_MS = 3_660 * 86_400_000
# Before the clock moves, the emulator waits for at most this time until no invocation is running. An invocation that runs during
# the move keeps the earlier time, and its messages are received again, which is harmless.
WAIT_SECONDS = 30
LOOK_EVERY_SECONDS = 0.05

_now = time.time
_offset_ms = int(os.environ.get(OFFSET, "0"))
_invoke = lambda_runtime.Worker.invoke
_spawn = lambda_runtime.Worker._spawn


def now():
    return _now() + _offset_ms / 1000


class Datetime(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return cls.fromtimestamp(time.time(), tz)


async def advance(by_ms):
    """Returns the new offset. Raises a ValueError for a value that is not allowed."""
    global _offset_ms
    if type(by_ms) is not int or by_ms <= 0 or _offset_ms + by_ms > MOST_MS:
        raise ValueError(f"advance_ms must be a positive whole number; the clock can be at most {MOST_MS} ms ahead of this machine")
    until = time.monotonic() + WAIT_SECONDS
    while lambda_runtime.workers_in_use() > 0 and time.monotonic() < until:
        await asyncio.sleep(LOOK_EVERY_SECONDS)
    path = os.path.join(persistence.STATE_DIR, FILE)
    os.makedirs(persistence.STATE_DIR, exist_ok=True)
    with open(f"{path}.new", "w") as file:
        json.dump({"offsetMs": _offset_ms + by_ms}, file)
    os.replace(f"{path}.new", path)
    _offset_ms += by_ms
    os.environ[OFFSET] = str(_offset_ms)
    return _offset_ms


def spawn(worker):
    worker.offset_ms = _offset_ms
    _spawn(worker)


def invoke(worker, *positional, **named):
    if getattr(worker, "offset_ms", _offset_ms) != _offset_ms:
        lambda_runtime.kill_workers([worker])
    return _invoke(worker, *positional, **named)


def with_own_date(send):
    async def send_with_date(message):
        if message["type"] == "http.response.start":
            others = [pair for pair in message.get("headers", []) if pair[0].lower() != b"date"]
            message = {**message, "headers": [*others, (b"date", email.utils.formatdate(now(), usegmt=True).encode())]}
        await send(message)

    return send_with_date


def is_of_deployed_api(scope):
    host = next((content.decode("latin-1") for name, content in scope["headers"] if name.lower() == b"host"), "")
    return app._parse_execute_api_url(host, scope["path"]) is not None


async def answer(others, scope, receive, send):
    if scope["type"] != "http":
        return await others(scope, receive, send)
    if is_of_deployed_api(scope):
        return await others(scope, receive, with_own_date(send))
    if scope["path"] != ADVANCE or scope["method"] != "POST":
        return await others(scope, receive, send)
    body, more = b"", True
    while more:
        message = await receive()
        body, more = body + message.get("body", b""), message.get("more_body", False)
    try:
        status, said = 200, {"offset_ms": await advance(json.loads(body)["advance_ms"])}
    except (ValueError, KeyError, TypeError) as error:
        status, said = 400, {"message": str(error)}
    await app._send_response(send, status, {"Content-Type": "application/json"}, json.dumps(said).encode())


def install():
    time.time = now
    # The header Date keeps the time of the machine: SDK clients sign requests with the machine's time, and would adjust
    # their clock to this header. Only responses of deployed APIs, which SDK clients do not call, carry the time of this
    # clock.
    app.formatdate = lambda usegmt: email.utils.formatdate(_now(), usegmt=usegmt)
    eventbridge.datetime = Datetime
    lambda_runtime.Worker._spawn = spawn
    lambda_runtime.Worker.invoke = invoke
    app.app = functools.partial(answer, app.app)
