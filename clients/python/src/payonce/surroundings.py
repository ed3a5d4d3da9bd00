"""The environment of the client: network, clocks and randomness. Tests replace it."""

from __future__ import annotations

import http.client
import io
import random
import socket
import ssl
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, Protocol, cast
from urllib.parse import urlsplit


class Response(NamedTuple):
    """A complete response of a server."""

    status: int
    headers: Mapping[str, str]
    """The headers, with names in lower case."""
    body: bytes


class Transport(Protocol):
    """Sends one request. Follows no redirects."""

    def __call__(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes | None, timeout_seconds: float
    ) -> Response:
        """Return the complete response.

        Raises ConnectionRefusedError, socket.gaierror or ssl.SSLCertVerificationError if nothing was sent, and any other
        Exception if there is no complete response. In the second case, the request may have arrived.
        """


class HttpTransport:
    """Sends each request over a separate connection, with the standard library.

    ``context`` is the TLS context that verifies the server. By default, it trusts the system's certificate authorities.
    """

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        self._given = context

    @cached_property
    def _context(self) -> ssl.SSLContext:
        return self._given or ssl.create_default_context()

    def __call__(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes | None, timeout_seconds: float
    ) -> Response:
        until = time.monotonic() + timeout_seconds
        address = urlsplit(url)
        host = address.hostname or ""
        connection: http.client.HTTPConnection
        if address.scheme == "https":
            connection = http.client.HTTPSConnection(host, address.port, context=self._context)
            plain = _connected(host, connection.port, until)
            try:
                connection.sock = self._context.wrap_socket(plain, server_hostname=host)
            except BaseException:
                plain.close()
                raise
        else:
            connection = http.client.HTTPConnection(host, address.port)
            connection.sock = _connected(host, connection.port, until)
        try:
            target = (address.path or "/") + (f"?{address.query}" if address.query else "")
            connection.request(method, target, body, dict(headers))
            with http.client.HTTPResponse(cast(Any, _Reader(connection.sock, until)), method=method) as answer:
                answer.begin()
                whole = answer.read()
                return Response(answer.status, {name.lower(): value for name, value in answer.getheaders()}, whole)
        finally:
            connection.close()


def _connected(host: str, port: int, until: float) -> socket.socket:
    last: OSError = OSError(f"{host} has no address")
    for family, kind, protocol, _, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
        connecting = socket.socket(family, kind, protocol)
        try:
            connecting.settimeout(_left(until))
            connecting.connect(address)
            connecting.settimeout(_left(until))
            return connecting
        except OSError as error:
            connecting.close()
            last = error
    raise last


def _left(until: float) -> float:
    left = until - time.monotonic()
    if left <= 0:
        raise TimeoutError("the answer was not complete in time")
    return left


class _Reader(io.RawIOBase):
    """Reads a response from a socket until a deadline. The socket's own timeout would restart with each read."""

    def __init__(self, source: socket.socket, until: float) -> None:
        self._source = source
        self._until = until

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(self)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._source.settimeout(_left(self._until))
        return self._source.recv_into(buffer)


@dataclass(frozen=True)
class Surroundings:
    """The environment of a client."""

    transport: Transport = field(default_factory=HttpTransport)
    monotonic: Callable[[], float] = time.monotonic
    """Monotonic time in seconds, for time limits."""
    now: Callable[[], float] = time.time
    """Unix time in seconds, for dates in ``Retry-After``."""
    sleep: Callable[[float], None] = time.sleep
    fraction: Callable[[], float] = random.random
    """A random number from 0 (inclusive) to 1 (exclusive), for jitter only."""
    mint_key: Callable[[], str] = lambda: str(uuid.uuid4())
    """Returns a new idempotency key with 122 random bits."""
