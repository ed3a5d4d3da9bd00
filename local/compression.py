"""Compressed responses of REST APIs, which the emulator lacks: it stores `minimumCompressionSize` and does not apply it.

From the Amazon API Gateway developer guide, "Payload compression for REST APIs": a response is compressed when the API has a
minimum size, the body reaches it, the integration set no Content-Encoding, and the coding that the caller prefers is
supported. Without Accept-Encoding, nothing is compressed.
"""

import gzip
import zlib

from ministack.services import apigateway_v1

# This file replaces and reads internals of the emulator.
USED = {apigateway_v1: ["_handle_execute_in_scope", "_rest_apis", "_header_ci"]}
CODINGS = {"gzip": lambda body: gzip.compress(body, mtime=0), "deflate": zlib.compress}

_execute = apigateway_v1._handle_execute_in_scope


def _preferred(accepted):
    """Returns the coding with the highest quality value, or the first of several such codings; an empty string if the header names none."""
    best, coding = 0.0, ""
    for part in accepted.lower().split(","):
        name, _, weight = part.partition(";")
        try:
            quality = float(weight.strip().removeprefix("q=") or 1)
        except ValueError:
            continue
        if quality > best:
            best, coding = quality, name.strip()
    return coding


async def execute(api_id, stage_name, method, path, headers, *others):
    status, answered, body = await _execute(api_id, stage_name, method, path, headers, *others)
    least = (apigateway_v1._rest_apis.get(api_id) or {}).get("minimumCompressionSize")
    coding = _preferred(apigateway_v1._header_ci(headers, "accept-encoding"))
    if least is None or coding not in CODINGS or len(body) < int(least) or apigateway_v1._header_ci(answered, "content-encoding"):
        return status, answered, body
    return status, {**answered, "Content-Encoding": coding}, CODINGS[coding](body)


def install():
    apigateway_v1._handle_execute_in_scope = execute
