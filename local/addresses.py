"""The addresses of REST APIs in the environments of functions.

On AWS a function calls `https://<api>.execute-api.<region>.amazonaws.com/<stage>`, the address in the template. The emulator serves
the API under a path of its own, over plain HTTP, so a function's process gets that address instead.
"""

import os
import re

from ministack.core import lambda_runtime

# This file wraps an internal of the emulator.
USED = {lambda_runtime: ["Worker"]}
ADDRESS = re.compile(r"https://([a-z0-9]+)\.execute-api\.[a-z0-9.-]+/(\w+)")

_begin = lambda_runtime.Worker.__init__


def _local(text):
    return ADDRESS.sub(rf"http://127.0.0.1:{os.environ['GATEWAY_PORT']}/restapis/\1/\2/_user_request_", text)


def _begin_here(self, name, config, *others, **named):
    variables = (config.get("Environment") or {}).get("Variables") or {}
    here = {key: _local(value) for key, value in variables.items()}
    _begin(self, name, {**config, "Environment": {**(config.get("Environment") or {}), "Variables": here}}, *others, **named)


def install():
    lambda_runtime.Worker.__init__ = _begin_here
