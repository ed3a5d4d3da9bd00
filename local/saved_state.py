"""Saves the state of the emulator while it runs: POST /_payonce/save.

The emulator saves its state only when it ends, and only logs that a service cannot be saved. This fails unless every service is.
With KEEP_STATE=0 nothing is saved at the end.

A busy machine can kill the emulator while it saves at its end. If the stacks were then saved, but not their resources, the next
deployment would leave resources unchanged that it takes for updated. Therefore, the files are replaced after all were written.
If one cannot be written, none is replaced.
"""

import json
import os
import shutil

from ministack import app
from ministack.core import persistence
from ministack.services import lambda_svc

# This file replaces and calls internals of the emulator.
USED = {
    app: ["app", "save_all", "_build_persistence_save_dict", "_send_response", "logger"],
    persistence: ["STATE_DIR", "save_state"],
    lambda_svc: ["_prune_orphan_code_blobs"],
}
SAVE = "/_payonce/save"
# A background thread can change what is being copied.
TRIES = 5

_app = app.app
_prune = lambda_svc._prune_orphan_code_blobs


def save(services):
    """Raises an error when a service is not saved."""
    for service, get_state in services.items():
        state = _copied(get_state)
        if state is None:
            continue
        path = os.path.join(persistence.STATE_DIR, f"{service}.json")
        before = _identity(path)
        persistence.save_state(service, state)
        if _identity(path) in (None, before):
            raise RuntimeError(f"the state of {service} is not saved")


def save_at_end(services):
    """Replaces the saved state of the services after it was written completely."""
    directory, written = persistence.STATE_DIR, f"{persistence.STATE_DIR}.partial"
    shutil.rmtree(written, ignore_errors=True)
    os.makedirs(written)
    unused = []
    # The code of the functions is saved apart. The earlier state needs its code until it is replaced.
    lambda_svc._prune_orphan_code_blobs = unused.append
    persistence.STATE_DIR = written
    try:
        save(services)
    except Exception:
        app.logger.exception("the state stays as it was saved before")
        return
    os.makedirs(directory, exist_ok=True)
    for name in os.listdir(written):
        os.replace(os.path.join(written, name), os.path.join(directory, name))
    for referenced in unused:
        _prune(referenced)
    os.rmdir(written)


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
            save(app._build_persistence_save_dict())
        except Exception as error:
            status, said = 500, str(error)
    await app._send_response(send, status, {"Content-Type": "application/json"}, json.dumps({"message": said}).encode())


def install():
    app.app = answer
    app.save_all = (lambda services: None) if os.environ.get("KEEP_STATE") == "0" else save_at_end
