"""The errors of the client, and a caller's next action after each problem of the API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

if TYPE_CHECKING:
    from .api_types import Problem

Item = TypeVar("Item")

Recovery = Literal["new_operation", "read_object", "same_operation", "correct"]
"""A caller's next action after a problem:

- ``new_operation``: the answer is final for this operation. A further attempt needs a new operation.
- ``read_object``: the operation already took effect, and its answer is no longer stored. Read the object that the
  problem names.
- ``same_operation``: no answer was stored. The same operation can succeed later.
- ``correct``: the request was refused, and nothing was stored. Fix the cause. The same operation can then succeed. If
  the key store has ``keep_refusal``, the operation may have a corrected body.
"""

_FINAL: Recovery = "new_operation"
_LATER: Recovery = "same_operation"
_CORRECT: Recovery = "correct"

RECOVERIES: dict[str, Recovery] = {
    "payment_failed": _FINAL,
    "payment_canceled": _FINAL,
    "capture_failed": _FINAL,
    "cancellation_failed": _FINAL,
    "refund_failed": _FINAL,
    "payment_not_attempted": _FINAL,
    "capture_not_attempted": _FINAL,
    "cancellation_not_attempted": _FINAL,
    "refund_not_attempted": _FINAL,
    "order_not_attempted": _FINAL,
    "out_of_stock": _FINAL,
    "order_canceled": _FINAL,
    "idempotency_key_expired": "read_object",
    "idempotency_key_in_progress": _LATER,
    "rate_limited": _LATER,
    "internal_error": _LATER,
    "processor_unavailable": _LATER,
    "temporarily_unavailable": _LATER,
    "timeout": _LATER,
    "no_processor_configured": _LATER,
    "change_in_progress": _LATER,
    "too_many_exports": _LATER,
    "webhook_replay_running": _LATER,
    "processor_books_unreadable": _LATER,
    "webhook_endpoint_limit": _CORRECT,
    "webhook_endpoint_disabled": _CORRECT,
    "invalid_json": _CORRECT,
    "invalid_request": _CORRECT,
    "unknown_field": _CORRECT,
    "unknown_parameter": _CORRECT,
    "card_number_not_allowed": _CORRECT,
    "secret_not_allowed": _CORRECT,
    "url_not_allowed": _CORRECT,
    "unbalanced": _CORRECT,
    "missing_idempotency_key": _CORRECT,
    "invalid_idempotency_key": _CORRECT,
    "unauthorized": _CORRECT,
    "invalid_signature": _CORRECT,
    "insufficient_scope": _CORRECT,
    "insufficient_role": _CORRECT,
    "livemode_not_available": _CORRECT,
    "own_approval": _CORRECT,
    "testmode_not_available": _CORRECT,
    "forbidden": _CORRECT,
    "not_found": _CORRECT,
    "method_not_allowed": _CORRECT,
    "already_reversed": _CORRECT,
    "approval_ended": _CORRECT,
    "approval_outdated": _CORRECT,
    "key_ended": _CORRECT,
    "last_owner_key": _CORRECT,
    "nothing_to_redrive": _CORRECT,
    "reference_already_used": _CORRECT,
    "payment_not_capturable": _CORRECT,
    "payment_not_cancelable": _CORRECT,
    "payment_not_refundable": _CORRECT,
    "payment_not_in_review": _CORRECT,
    "change_not_undecided": _CORRECT,
    "charge_unknown_at_processor": _CORRECT,
    "amount_differs_from_processor": _CORRECT,
    "override_not_allowed": _CORRECT,
    "too_many_refunds": _CORRECT,
    "amount_exceeds_left": _CORRECT,
    "body_too_large": _CORRECT,
    "unsupported_media_type": _CORRECT,
    "idempotency_key_payload_mismatch": _CORRECT,
    "no_processor_for_payment": _CORRECT,
    "balance_too_large": _CORRECT,
}
"""The recovery for each code of the API."""

_PASSING = frozenset(
    {
        "idempotency_key_in_progress",
        "rate_limited",
        "internal_error",
        "processor_unavailable",
        "temporarily_unavailable",
        "timeout",
    }
)
"""Problems that usually end within the time limit of a request. The client retries them with the same key and body."""


def is_passing(code: str, status: int) -> bool:
    """Also true for unknown codes of 5xx answers."""
    return code in _PASSING or (code not in RECOVERIES and status >= 500)


def is_final(code: str) -> bool:
    return RECOVERIES.get(code) == _FINAL


def stored_nothing(code: str) -> bool:
    """Return whether the problem says that the API stored nothing for the idempotency key.

    False if another body or answer already belongs to the key, and for codes that this client does not know.
    """
    return RECOVERIES.get(code) in (_LATER, _CORRECT) and code != "idempotency_key_payload_mismatch"


def _restored(cls: type[PayonceError], args: tuple[Any, ...], state: dict[str, Any]) -> PayonceError:
    error = cls.__new__(cls, *args)
    error.args = args
    error.__dict__.update(state)
    return error


class PayonceError(Exception):
    """The base of the client's errors, except for a TypeError or ValueError for an argument.

    Errors of the caller's key store are raised unchanged.
    """

    code: str
    """A code of the API, or ``invalid_operation``, ``operation_changed``, ``invalid_key_store``, ``connection_refused``,
    ``no_connection``, ``no_answer``, ``unexpected_answer``, ``unfinished`` or ``invalid_webhook``."""
    may_have_taken_effect: bool
    """Whether this operation may have taken effect, now or in an earlier process. To find out, call again with the
    same operation, which never causes a second effect."""

    def __init__(self, code: str, message: str, *, may_have_taken_effect: bool = False) -> None:
        super().__init__(message)
        self.code = code
        self.may_have_taken_effect = may_have_taken_effect

    def __reduce__(self) -> tuple[Any, ...]:
        # Task queues pickle the errors that their workers raise.
        return _restored, (type(self), self.args, self.__dict__)


class OperationChangedError(PayonceError):
    """Raised when an operation is called with another method, path, body or mode than before. Nothing was sent."""


class NoAnswerError(PayonceError):
    """Raised when the time limit expires without an answer. Repeat the call, with the same operation if it has one."""


class InvalidWebhookError(PayonceError):
    """Raised when a webhook cannot be verified."""

    def __init__(self, why: str) -> None:
        super().__init__("invalid_webhook", f"The webhook cannot be verified: {why}.")


class ProblemError(PayonceError):
    """Raised when the API answers a request with a problem (RFC 9457)."""

    problem: Problem
    """The problem, with members that depend on its code, such as ``payment``, ``payment_id`` or ``amount_left``."""
    type: str
    """The URI that identifies the problem's type."""
    status: int
    recovery: Recovery

    def __init__(self, problem: Problem, *, may_have_taken_effect: bool) -> None:
        code, detail, request = problem["code"], problem.get("detail", ""), problem.get("request_id", "")
        super().__init__(
            code,
            f"{code}: {detail}{_advice_for(code)} (request {request})",
            may_have_taken_effect=may_have_taken_effect,
        )
        self.problem = problem
        self.type = problem.get("type", "about:blank")
        self.status = problem["status"]
        self.recovery = RECOVERIES.get(code, _CORRECT)


class FinalProblemError(ProblemError):
    """Raised when the problem is the final answer of its operation. A further attempt needs a new operation."""


def problem_error(problem: Problem, *, may_have_taken_effect: bool = False) -> ProblemError:
    kind = FinalProblemError if is_final(problem["code"]) else ProblemError
    return kind(problem, may_have_taken_effect=may_have_taken_effect)


def _advice_for(code: str) -> str:
    if code == "idempotency_key_expired":
        return " The operation already took effect: retrieve the object that the problem names."
    advice = " This response is final for the operation: a further attempt needs a new operation."
    return advice if is_final(code) else ""


class UnfinishedError(PayonceError, Generic[Item]):
    """Raised when a wait ends before the object has an outcome."""

    object: Item
    """The object as last read."""

    def __init__(self, item: Item, waited_seconds: float) -> None:
        message = f"There was no outcome within {waited_seconds:g} s. Wait again, or rely on the webhook."
        super().__init__("unfinished", message)
        self.object = item
