"""Saves the state of the emulator while it runs: POST /_payonce/save.

The emulator saves its state only when it ends, and only logs that a service cannot be saved. This fails unless every service is.
With KEEP_STATE=0 nothing is saved at the end.
"""

import json
import os

from ministack import app
from ministack.core import persistence

# This file replaces and calls internals of the emulator.
USED = {
    app: ["app", "save_all", "_build_persistence_save_dict", "_send_response"],
    persistence: ["STATE_DIR", "save_state"],
}
SAVE = "/_payonce/save"
# A background thread can change what is being copied.
TRIES = 5

_app = app.app


def save():
    """Raises an error when a service is not saved."""
    for service, get_state in app._build_persistence_save_dict().items():
        state = _copied(get_state)
        if state is None:
            continue
        path = os.path.join(persistence.STATE_DIR, f"{service}.json")
        before = _identity(path)
        persistence.save_state(service, state)
        if _identity(path) in (None, before):
            raise RuntimeError(f"the state of {service} is not saved")


def _copied(get_state):
    for _ in range(TRIES - 1):
        try:
            return get_state()
        except RuntimeError:
            continue
    return get_state()


def _identity(path):
    """Returns what differs after the file has been replaced."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_mtime_ns


async def answer(scope, receive, send):
    if scope["type"] != "http" or scope["path"] != SAVE:
        return await _app(scope, receive, send)
    status, said = 200, "saved"
    if scope["method"] != "POST":
        status, said = 405, "it must be a POST"
    else:
        try:
            # Not in a thread: no request changes the state while it is saved.
            save()
        except Exception as error:
            status, said = 500, str(error)
    await app._send_response(send, status, {"Content-Type": "application/json"}, json.dumps({"message": said}).encode())


def install():
    app.app = answer
    if os.environ.get("KEEP_STATE") == "0":
        app.save_all = lambda services: None
