"""The client of Payonce's API."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from urllib.parse import quote, urlsplit

from .keys import KeyStore
from .operations import Operations
from .reading import Reading
from .sender import TIMEOUT_SECONDS, Sender
from .surroundings import Surroundings

if TYPE_CHECKING:
    from . import api_types as api

Part = TypeVar("Part")

WAIT_SECONDS = 120.0
"""A payer's bank usually decides within this time."""


class Client:
    """A client of Payonce's API that cannot charge twice.

    For each change that must happen once, the caller chooses a name (``operation``) of 1 to 200 characters, for example
    ``order_42``. Calls with this name send the same key and body, in this and in later processes, and get the same
    answer. After a refusal that stored nothing, a call may have a corrected body. The client stores the change with its
    key before it sends the change. Threads can share a client.

    ``url`` is the address of the API including its stage, but without ``/v1``, for example ``https://pay.example.com``.
    ``api_key`` is a tenant's API key; by default, no key is sent. ``keys`` is a FileKeys, a DatabaseKeys, or an object
    of your own with the two methods of KeyStore. The parameter ``timeout_seconds`` of a call is the time limit for all
    attempts and the pauses between them.

    Raises ValueError for a URL that is not http or https or ends in ``/v1``, and for an API key that no header can
    contain; TypeError for a missing URL or key store.
    """

    def __init__(
        self, url: str, *, keys: KeyStore, api_key: str | None = None, surroundings: Surroundings | None = None
    ) -> None:
        for method in ("put_if_absent", "keep_answer"):
            if not callable(getattr(keys, method, None)):
                raise TypeError("Client needs keys, which store each request before it is sent: keys=FileKeys(folder)")
        around = surroundings or Surroundings()
        if api_key is not None and not re.fullmatch("[!-~]+", api_key):
            raise ValueError("api_key must consist of printable ASCII characters without spaces")
        headers = {} if api_key is None else {"authorization": f"Bearer {api_key}"}
        sender = Sender(_address_of(url), headers, around)
        reading = Reading(sender, around)
        mode = re.match("sk_(test|live)_", api_key or "")
        changes = Operations(keys, sender, mode[1] if mode else None, around)
        self.payments = Payments(changes, reading)
        self.refunds: Parts[api.Refund] = Parts(reading, "refunds")
        self.captures: Parts[api.Capture] = Parts(reading, "captures")
        self.cancellations: Parts[api.Cancellation] = Parts(reading, "cancellations")
        self.disputes = Disputes(reading)
        self.orders = Orders(changes, reading)
        self.events = Events(reading)
        self.webhook_endpoints = WebhookEndpoints(changes, reading)


class _Resource:
    """``timeout_seconds`` limits all attempts and the pauses between them."""

    def __init__(self, changes: Operations | None, reading: Reading, root: str) -> None:
        self._changes = changes
        self._reading = reading
        self._root = root

    def _at(self, id: str, *rest: str) -> str:
        return "/".join((self._root, _segment(id), *rest))

    def _run(
        self, path: str, params: Mapping[str, Any] | None, operation: str, timeout_seconds: float, method: str = "POST"
    ) -> Any:
        assert self._changes is not None
        return self._changes.run(method, path, params, operation, timeout_seconds)


class Payments(_Resource):
    """Payments, and their captures, cancellations and refunds. Amounts are whole numbers in minor units."""

    def __init__(self, changes: Operations, reading: Reading) -> None:
        super().__init__(changes, reading, "/v1/payments")

    def create(
        self, params: api.CreatePayment, *, operation: str, timeout_seconds: float = TIMEOUT_SECONDS
    ) -> api.Payment:
        """Create a payment. Its status can be ``processing`` or ``requires_action``: see ``wait``.

        Raises FinalProblemError ``payment_failed`` with the payment.
        """
        return self._run(self._root, params, operation, timeout_seconds)

    def capture(
        self, id: str, params: api.CapturePayment, *, operation: str, timeout_seconds: float = TIMEOUT_SECONDS
    ) -> api.Payment:
        """Capture an authorized payment. Without an amount, the full authorized amount is captured."""
        return self._run(self._at(id, "capture"), params, operation, timeout_seconds)

    def cancel(self, id: str, *, operation: str, timeout_seconds: float = TIMEOUT_SECONDS) -> api.Payment:
        """Cancel an authorized payment, or a payment that waits for its payer."""
        return self._run(self._at(id, "cancel"), None, operation, timeout_seconds)

    def refund(
        self, id: str, params: api.RefundPayment, *, operation: str, timeout_seconds: float = TIMEOUT_SECONDS
    ) -> api.Refund:
        """Refund a payment. Without an amount, the remaining amount is refunded."""
        return self._run(self._at(id, "refunds"), params, operation, timeout_seconds)

    def retrieve(self, id: str, *, timeout_seconds: float = TIMEOUT_SECONDS) -> api.Payment:
        return self._reading.get(self._at(id), timeout_seconds)

    def wait(self, id: str, *, timeout_seconds: float = WAIT_SECONDS) -> api.Payment:
        """Wait while the payment is ``processing``.

        Does not wait for a payment in ``requires_action`` or ``needs_review``, because a person must act first. Raises
        UnfinishedError when the time is up.
        """
        return self._reading.wait(self._at(id), _has_status("processing"), timeout_seconds)

    def list(
        self, query: api.ListPayments | None = None, *, timeout_seconds: float = TIMEOUT_SECONDS
    ) -> Iterator[api.Payment]:
        """Yield all payments, page by page."""
        return self._reading.pages(self._root, query, timeout_seconds)

    def transitions(self, id: str, *, timeout_seconds: float = TIMEOUT_SECONDS) -> Iterator[api.Transition]:
        return self._reading.pages(self._at(id, "transitions"), None, timeout_seconds)

    def captures(self, id: str, *, timeout_seconds: float = TIMEOUT_SECONDS) -> Iterator[api.Capture]:
        return self._reading.pages(self._at(id, "captures"), None, timeout_seconds)

    def cancellations(self, id: str, *, timeout_seconds: float = TIMEOUT_SECONDS) -> Iterator[api.Cancellation]:
        return self._reading.pages(self._at(id, "cancellations"), None, timeout_seconds)

    def refunds(self, id: str, *, timeout_seconds: float = TIMEOUT_SECONDS) -> Iterator[api.Refund]:
        return self._reading.pages(self._at(id, "refunds"), None, timeout_seconds)

    def disputes(self, id: str, *, timeout_seconds: float = TIMEOUT_SECONDS) -> Iterator[api.Dispute]:
        return self._reading.pages(self._at(id, "disputes"), None, timeout_seconds)


class Parts(_Resource, Generic[Part]):
    """One kind of change to payments: captures, cancellations or refunds."""

    def __init__(self, reading: Reading, name: str) -> None:
        super().__init__(None, reading, f"/v1/{name}")

    def retrieve(self, id: str, *, timeout_seconds: float = TIMEOUT_SECONDS) -> Part:
        part: Part = self._reading.get(self._at(id), timeout_seconds)
        return part

    def wait(self, id: str, *, timeout_seconds: float = WAIT_SECONDS) -> Part:
        """Wait while the change is ``pending``. Raises UnfinishedError when the time is up."""
        part: Part = self._reading.wait(self._at(id), _has_status("pending"), timeout_seconds)
        return part


class Disputes(_Resource):
    """Disputes of payments."""

    def __init__(self, reading: Reading) -> None:
        super().__init__(None, reading, "/v1/disputes")

    def retrieve(self, id: str, *, timeout_seconds: float = TIMEOUT_SECONDS) -> api.Dispute:
        return self._reading.get(self._at(id), timeout_seconds)

    def list(
        self, query: api.ListDisputes | None = None, *, timeout_seconds: float = TIMEOUT_SECONDS
    ) -> Iterator[api.Dispute]:
        """Yield all disputes, page by page."""
        return self._reading.pages(self._root, query, timeout_seconds)


class Orders(_Resource):
    """Orders. Each order has a payment and a reservation of stock."""

    def __init__(self, changes: Operations, reading: Reading) -> None:
        super().__init__(changes, reading, "/v1/orders")

    def create(self, params: api.CreateOrder, *, operation: str, timeout_seconds: float = TIMEOUT_SECONDS) -> api.Order:
        """Create an order. Raises FinalProblemError ``payment_failed``, ``out_of_stock`` or ``order_canceled``."""
        return self._run(self._root, params, operation, timeout_seconds)

    def retrieve(self, id: str, *, timeout_seconds: float = TIMEOUT_SECONDS) -> api.Order:
        return self._reading.get(self._at(id), timeout_seconds)

    def wait(self, id: str, *, timeout_seconds: float = WAIT_SECONDS) -> api.Order:
        """Wait while the order is ``processing``. Raises UnfinishedError when the time is up."""
        return self._reading.wait(self._at(id), _has_status("processing"), timeout_seconds)

    def list(
        self, query: api.ListOrders | None = None, *, timeout_seconds: float = TIMEOUT_SECONDS
    ) -> Iterator[api.Order]:
        """Yield all orders, page by page."""
        return self._reading.pages(self._root, query, timeout_seconds)


class Events(_Resource):
    """Events, as webhooks deliver them."""

    def __init__(self, reading: Reading) -> None:
        super().__init__(None, reading, "/v1/events")

    def retrieve(self, id: str, *, timeout_seconds: float = TIMEOUT_SECONDS) -> api.Event:
        return self._reading.get(self._at(id), timeout_seconds)

    def list(
        self, query: api.ListEvents | None = None, *, timeout_seconds: float = TIMEOUT_SECONDS
    ) -> Iterator[api.Event]:
        """Yield all events, page by page."""
        return self._reading.pages(self._root, query, timeout_seconds)


class WebhookEndpoints(_Resource):
    """Webhook endpoints and their deliveries."""

    def __init__(self, changes: Operations, reading: Reading) -> None:
        super().__init__(changes, reading, "/v1/webhook_endpoints")

    def create(
        self, params: api.CreateWebhookEndpoint, *, operation: str, timeout_seconds: float = TIMEOUT_SECONDS
    ) -> api.WebhookEndpointWithSecret:
        """Create an endpoint. The answer contains the secret, and stays in the key store."""
        return self._run(self._root, params, operation, timeout_seconds)

    def update(
        self, id: str, params: api.UpdateWebhookEndpoint, *, timeout_seconds: float = TIMEOUT_SECONDS
    ) -> api.WebhookEndpoint:
        """Update an endpoint. A repeated update changes nothing, so it needs no operation."""
        return self._reading.set(self._at(id), params, timeout_seconds)

    def delete(
        self, id: str, *, operation: str, timeout_seconds: float = TIMEOUT_SECONDS
    ) -> api.DeletedWebhookEndpoint:
        return self._run(self._at(id), None, operation, timeout_seconds, "DELETE")

    def rotate_secret(
        self, id: str, params: api.RotateWebhookSecret, *, operation: str, timeout_seconds: float = TIMEOUT_SECONDS
    ) -> api.WebhookEndpointWithSecret:
        """Rotate the secret. The answer contains the new secret, and stays in the key store."""
        return self._run(self._at(id, "rotate_secret"), params, operation, timeout_seconds)

    def replay(
        self, id: str, params: api.ReplayWebhooks, *, operation: str, timeout_seconds: float = TIMEOUT_SECONDS
    ) -> api.WebhookReplay:
        """Deliver the events of a period again."""
        return self._run(self._at(id, "replay"), params, operation, timeout_seconds)

    def resend(
        self, id: str, delivery: str, *, operation: str, timeout_seconds: float = TIMEOUT_SECONDS
    ) -> api.WebhookDelivery:
        """Send one delivery again."""
        return self._run(self._at(id, "deliveries", _segment(delivery), "resend"), None, operation, timeout_seconds)

    def retrieve(self, id: str, *, timeout_seconds: float = TIMEOUT_SECONDS) -> api.WebhookEndpoint:
        return self._reading.get(self._at(id), timeout_seconds)

    def list(self, *, timeout_seconds: float = TIMEOUT_SECONDS) -> Iterator[api.WebhookEndpoint]:
        """Yield all endpoints, page by page."""
        return self._reading.pages(self._root, None, timeout_seconds)

    def deliveries(
        self, id: str, query: api.ListWebhookDeliveries | None = None, *, timeout_seconds: float = TIMEOUT_SECONDS
    ) -> Iterator[api.WebhookDelivery]:
        """Yield all deliveries of an endpoint, page by page."""
        return self._reading.pages(self._at(id, "deliveries"), query, timeout_seconds)


def _has_status(status: str) -> Any:
    return lambda value: value["status"] == status


def _segment(id: str) -> str:
    """Escape an id as a path segment, so that it cannot lead to another path."""
    if not isinstance(id, str) or id in ("", ".", ".."):
        raise TypeError(f"an id must be a string such as pay_…, but is {id!r}")
    return quote(id, safe="-_.!~*'()")


def _address_of(url: str) -> str:
    if not isinstance(url, str):
        raise TypeError("Client needs url, the address of the API with its stage: https://pay.example.com")
    is_address = re.fullmatch(r"https?://[^\s\\/?#@]+(?:/[^\s\\?#]*)?", url, re.IGNORECASE)
    try:
        host = urlsplit(url).hostname if is_address and urlsplit(url).port != 0 else None
    except ValueError:
        host = None
    if not host:
        raise ValueError(f"url must be an http or https address without a query, but is {url}")
    address = url.rstrip("/")
    if re.search("[^/]/v1$", address):
        raise ValueError(f"url must not end in /v1, which the client adds, but is {url}")
    return address
