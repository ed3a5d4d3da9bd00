"""Refuses requests from outside the run before they reach a service of the emulator.

Every page in a browser on this machine can send requests to the emulator, which verifies no signatures and runs functions as the
user. This file refuses:

- requests whose `Host` is not a loopback name, as a protection against DNS rebinding;
- requests whose `Origin` is not the emulator's own, and requests that a browser marks as sent by another site (W3C, "Fetch Metadata
  Request Headers"), except for links to the pages of a REST API;
- calls to AWS services without the access key of this run or of a session that was issued in this run. Policies limit such a
  session. REST APIs have their own keys;
- WebSockets, because no stack uses them.

The emulator's CORS headers are removed from each response, so that pages of other origins cannot read it.
"""

import functools
import hmac
import os
import re
import secrets
from urllib.parse import parse_qs

from ministack import app
from ministack.core import lambda_runtime, router
from ministack.core.sigv4 import decode_header_value
from ministack.services import apigateway_v1, lambda_svc, sts

# This file wraps and calls internals of the emulator.
USED = {
    app: ["app", "_parse_execute_api_url", "_send_response"],
    apigateway_v1: ["stages_for_api", "find_api_scope"],
    lambda_runtime: ["execution_credentials"],
    lambda_svc: ["execution_credentials"],
    router: ["extract_access_key_id"],
    sts: ["_sessions", "register_session"],
}
HOST = re.compile(r"(127\.0\.0\.1|localhost|[a-z0-9]+\.execute-api\.localhost)(:\d+)?")
HEALTH = "/_ministack/health"
# Prefix of the paths of the emulator itself. Sessions may not use these paths, because no policy limits a session there. Export
# links contain the access key of a session, so anyone with a link could otherwise use these paths.
OWN_PATHS = "/_"
OWN_SITE = ("", "none", "same-origin")

_credentials = lambda_runtime.execution_credentials
_function_keys = {}


def refusal(method, path, query, headers):
    """`headers` maps lower-case names to lists of values."""

    def value(name):
        return ", ".join(headers.get(name, []))

    host, origin = value("host"), value("origin")
    if not HOST.fullmatch(host):
        return f"the header Host is {host!r}; it must be 127.0.0.1, localhost or <api>.execute-api.localhost"
    if origin not in ("", f"http://{host}"):
        return f"the header Origin is {origin!r}; pages of other origins may not call the local AWS"
    is_api = _is_api(host, path)
    is_link = method == "GET" and value("sec-fetch-mode") == "navigate" and value("sec-fetch-dest") == "document"
    if value("sec-fetch-site") not in OWN_SITE and not (is_api and is_link):
        return f"the header Sec-Fetch-Site is {value('sec-fetch-site')!r}; pages of other sites may not call the local AWS"
    if is_api or (method == "GET" and path == HEALTH):
        return None
    key = router.extract_access_key_id({name: value(name) for name in headers}, query)
    is_session = key in sts._sessions and not path.startswith(OWN_PATHS)
    if hmac.compare_digest(key.encode(), os.environ["AWS_ACCESS_KEY_ID"].encode()) or is_session:
        return None
    return "the access key id is not the one of this run (.payonce/local.json contains it)"


def _is_api(host, path):
    """None of the emulator's own paths begins with a stage name."""
    found = app._parse_execute_api_url(host, path)
    if found is None or apigateway_v1.find_api_scope(found[0]) is None:
        return False
    return found[1] in apigateway_v1.stages_for_api(found[0])


async def answer(guarded, scope, receive, send):
    if scope["type"] == "lifespan":
        return await guarded(scope, receive, send)
    if scope["type"] != "http":
        await receive()
        return await send({"type": "websocket.close", "code": 1008})
    headers = {}
    for name, content in scope["headers"]:
        headers.setdefault(name.decode("latin-1").lower(), []).append(decode_header_value(content))
    query = parse_qs(scope.get("query_string", b"").decode("latin-1"), keep_blank_values=True)
    reason = refusal(scope["method"], scope["path"], query, headers)
    if reason is None:
        return await guarded(scope, receive, _without_cors(send))
    await app._send_response(send, 403, {"Content-Type": "text/plain; charset=utf-8"}, f"Refused: {reason}.\n")


def _without_cors(send):
    async def send_without_cors(message):
        if message["type"] == "http.response.start":
            kept = [pair for pair in message.get("headers", []) if not pair[0].lower().startswith(b"access-control-")]
            message = {**message, "headers": kept}
        await send(message)

    return send_without_cors


def execution_credentials(config):
    """The emulator derives the original key from names that anyone can know."""
    issued = _credentials(config)
    derived = issued["AWS_ACCESS_KEY_ID"]
    key = _function_keys.setdefault(derived, f"ASIA{secrets.token_hex(16).upper()}")
    session = sts._sessions.pop(derived, None)
    if session is not None:
        sts.register_session(key, session)
    return {**issued, "AWS_ACCESS_KEY_ID": key}


def install():
    # Also guards the handlers that the other files put in front of the emulator.
    app.app = functools.partial(answer, app.app)
    lambda_runtime.execution_credentials = execution_credentials
    lambda_svc.execution_credentials = execution_credentials
