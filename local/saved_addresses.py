"""The addresses in the saved state of the emulator.

These addresses contain the port of the run that saved the state: queue URLs, also in the environments of functions and in stack
outputs, and the URLs of REST APIs. When the state is loaded, the port is replaced by the port of this run. Rows of tables and
messages in queues are data, and remain unchanged.
"""

import os
import re

from ministack import app

# This file wraps an internal of the emulator.
USED = {app: ["load_state"]}
SERVICES = ("cloudformation", "lambda", "sqs", "ssm")
ADDRESS = re.compile(r"http://(localhost|127\.0\.0\.1):\d+/(\d{12}/|restapis/)")

_load_state = app.load_state


def with_port(value, port):
    """Changes lists and dictionaries in place."""
    if isinstance(value, str):
        return ADDRESS.sub(rf"http://\1:{port}/\2", value)
    if isinstance(value, list):
        value[:] = [with_port(item, port) for item in value]
    elif isinstance(value, dict):
        items = list(value.items())
        value.clear()
        for key, item in items:
            value[_key(key, port)] = item if key == "messages" else with_port(item, port)
    elif hasattr(value, "_data"):
        with_port(value._data, port)
    return value


def _key(key, port):
    """A key is a tuple of account, region and name, or a text."""
    return tuple(with_port(part, port) for part in key) if isinstance(key, tuple) else with_port(key, port)


def load_state(service):
    state = _load_state(service)
    return with_port(state, os.environ["GATEWAY_PORT"]) if service in SERVICES else state


def install():
    app.load_state = load_state
