"""Saves the state of the emulator while it runs: POST /_payonce/save.

The emulator saves its state only when it ends, and only logs if a service cannot be saved. A save through this file fails
unless every service is saved. With KEEP_STATE=0, nothing is saved when the emulator ends.

The emulator can be killed while it saves at its end, for example on a busy machine. If only the stacks were saved, but not their
resources, the next deployment would assume that the resources exist, and would not create them. Therefore, at its end, the emulator
replaces the files only after all new files were written. If a file cannot be written, none is replaced.
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
# Maximum number of attempts to copy the data of a service. A copy fails if a background thread changes the data during the copy.
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
    directory, written = persistence.STATE_DIR, f"{persistence.STATE_DIR}.partial"
    shutil.rmtree(written, ignore_errors=True)
    os.makedirs(written)
    unused = []
    # The code of the functions is stored in files of its own. Code that only the earlier state uses is deleted after
    # that state is replaced.
    lambda_svc._prune_orphan_code_blobs = unused.append
    persistence.STATE_DIR = written
    try:
        save(services)
    except Exception:
        app.logger.exception("the earlier saved state is kept")
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
    """Changes when the file is replaced; None if there is no file."""
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
        status, said = 405, "the method must be POST"
    else:
        try:
            # In a thread, a request could change the state during the save.
            save(app._build_persistence_save_dict())
        except Exception as error:
            status, said = 500, str(error)
    await app._send_response(send, status, {"Content-Type": "application/json"}, json.dumps({"message": said}).encode())


def install():
    app.app = answer
    app.save_all = (lambda services: None) if os.environ.get("KEEP_STATE") == "0" else save_at_end
