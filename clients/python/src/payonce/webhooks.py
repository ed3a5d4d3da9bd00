"""Verifies webhooks."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast

from .errors import InvalidWebhookError

if TYPE_CHECKING:
    from .api_types import Event


def verify_webhook(
    body: bytes | str,
    headers: Mapping[str, str] | Mapping[str, Sequence[str]],
    *,
    secrets: Sequence[str],
    tolerance_seconds: float = 300,
    now: float | None = None,
) -> Event:
    """Verify a webhook (Standard Webhooks) and return its event.

    Events are delivered at least once: process each ``id`` only once.

    ``body`` is the body exactly as received. ``headers`` has names in upper or lower case. ``secrets`` are those of the
    endpoint (``whsec_…``): after a rotation, both the new and the previous one. ``tolerance_seconds`` is the maximum
    difference between the timestamp and this machine's clock, in either direction. ``now`` is the Unix time of the
    verification in seconds, by default the current time.

    Raises InvalidWebhookError for an invalid parameter or header, a timestamp outside the tolerance, and a signature
    that matches none of the secrets.
    """
    if not isinstance(body, (bytes, bytearray, memoryview, str)):
        raise InvalidWebhookError("the body must be the text or the bytes as received, not parsed JSON")
    if not hasattr(headers, "items"):
        raise InvalidWebhookError("headers must be a mapping of the request's header names to values")
    if isinstance(secrets, (str, bytes)) or not isinstance(secrets, Sequence):
        raise InvalidWebhookError("secrets must be a list: secrets=[current, previous]")
    names = ("webhook-id", "webhook-timestamp", "webhook-signature")
    identity, timestamp, signatures = (_header(headers, name) for name in names)
    # The full stop separates the signed fields. If the id contained one, a signature would match several combinations
    # of id, time and body.
    if "." in identity:
        raise InvalidWebhookError("webhook-id contains a full stop")
    if not re.fullmatch("[0-9]{1,12}", timestamp):
        raise InvalidWebhookError("webhook-timestamp is not a time in Unix seconds")
    if abs((time.time() if now is None else now) - int(timestamp)) > tolerance_seconds:
        raise InvalidWebhookError(
            f"it was signed more than {tolerance_seconds:g} seconds before or after this machine's time"
        )
    if not secrets:
        raise InvalidWebhookError("secrets is empty")
    received = body.encode() if isinstance(body, str) else bytes(body)
    signed = f"{identity}.{timestamp}.".encode() + received
    keys = [_key_of(secret) for secret in secrets]
    given = [_bytes_of(each[3:]) for each in signatures.split(" ") if each.startswith("v1,")]
    expected = [hmac.new(key, signed, hashlib.sha256).digest() for key in keys]
    matches = [hmac.compare_digest(own, each) for own in expected for each in given if each is not None]
    if not any(matches):
        raise InvalidWebhookError("no signature matches any secret")
    return cast("Event", json.loads(received))


def _header(headers: Mapping[str, str] | Mapping[str, Sequence[str]], name: str) -> str:
    value = next((value for given, value in headers.items() if given.lower() == name), None)
    # Repeated headers form one list (RFC 9110, section 5.3), whose members are separated by spaces (Standard Webhooks).
    text = value if isinstance(value, str) else " ".join(value or ())
    if text == "":
        raise InvalidWebhookError(f"the header {name} is missing")
    return text


def _key_of(secret: str) -> bytes:
    key = _bytes_of(secret[len("whsec_") :]) if isinstance(secret, str) and secret.startswith("whsec_") else None
    # The message must not contain the secret.
    if not key:
        raise InvalidWebhookError("a secret must be whsec_ followed by base64")
    return key


def _bytes_of(text: str) -> bytes | None:
    """Decode base64, with or without its padding. Return ``None`` for text that is not base64."""
    digits = re.sub("[\t\n\f\r ]", "", text)
    if len(digits) % 4 == 0:
        digits = re.sub("={1,2}$", "", digits)
    if len(digits) % 4 == 1 or not re.fullmatch("[A-Za-z0-9+/]*", digits):
        return None
    return base64.b64decode(digits + "=" * (-len(digits) % 4))
