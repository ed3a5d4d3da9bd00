"""The cases of clients/contract.json, which the tests of the TypeScript client also read."""

from __future__ import annotations

import json
import socket
import ssl
import unittest
from pathlib import Path
from typing import Any

from payonce import (
    Client,
    HttpTransport,
    MemoryKeys,
    PayonceError,
    ProblemError,
    StoredOperation,
    StoredRequest,
    Surroundings,
)
from payonce import errors, stored_in, verify_webhook
from payonce.operations import differences
from payonce.waiting import parse_retry_after
from scripted_server import ScriptedServer

CONTRACT = json.loads((Path(__file__).parents[2] / "contract.json").read_text("utf-8"))
NOW = CONTRACT["now"]
TEA: Any = {"amount": 1000, "currency": "EUR", "source": "tok_ok"}


FAILURES = {
    "refused": ConnectionRefusedError("refused"),
    "unknown_host": socket.gaierror(socket.EAI_NONAME, "unknown"),
    "no_name_server": socket.gaierror(socket.EAI_AGAIN, "try again"),
    "untrusted": ssl.SSLCertVerificationError("self-signed certificate"),
}
"""Errors of a transport that has sent nothing, by their names in contract.json."""


class FailingTransport(HttpTransport):
    """Records the key and the body of each attempt. For an attempt in FAILURES, raises its error instead of sending."""

    def __init__(self, attempts: list[Any]) -> None:
        super().__init__()
        self.attempts = attempts
        self.sent: list[tuple[str, str]] = []

    def __call__(self, method: str, url: str, headers: Any, body: bytes | None, timeout_seconds: float) -> Any:
        attempt = self.attempts[len(self.sent)] if len(self.sent) < len(self.attempts) else "lost"
        self.sent.append((headers["idempotency-key"], (body or b"").decode()))
        if isinstance(attempt, str) and attempt in FAILURES:
            raise FAILURES[attempt]
        return super().__call__(method, url, headers, body, timeout_seconds)


class Clock:
    """A clock that advances only during pauses."""

    def __init__(self) -> None:
        self.seconds = float(NOW)
        self.pauses: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.seconds += seconds


class RecordingKeys(MemoryKeys):
    """Keeps the status of each stored answer, and the body of each stored refusal."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: list[int] = []
        self.refused: list[Any] = []

    def keep_answer(self, request: Any, answer: Any) -> None:
        self.kept.append(answer.status)
        super().keep_answer(request, answer)

    def keep_refusal(self, request: Any) -> None:
        self.refused.append(json.loads(request.body))
        super().keep_refusal(request)


class Contract(unittest.TestCase):
    def test_problems(self) -> None:
        for case in CONTRACT["problems"]:
            code, status = case["code"], case["status"]
            error = errors.problem_error({"code": code, "status": status})  # type: ignore[typeddict-item]
            found = {
                "code": code,
                "status": status,
                "recovery": error.recovery,
                "retried": errors.is_passing(code, status),
                "stored": errors.is_final(code),
            }
            self.assertEqual(found, case)
        self.assertEqual(set(errors.RECOVERIES), {case["code"] for case in CONTRACT["problems"]})

    def test_calls(self) -> None:
        for case in CONTRACT["calls"]:
            received = [each for each in case["attempts"] if not isinstance(each, str) or each not in FAILURES]
            with self.subTest(case["name"]), ScriptedServer(received) as server:
                keys, clock, transport = RecordingKeys(), Clock(), FailingTransport(case["attempts"])
                before = case.get("storedBefore")
                if before is not None:
                    row = StoredRequest("order_42", "k-1", "POST", "/v1/payments", before, "test")
                    keys.put_if_absent(row)
                    if "storedRefused" in case:
                        MemoryKeys.keep_refusal(keys, row)
                around = Surroundings(
                    transport=transport,
                    monotonic=lambda: clock.seconds,
                    now=lambda: clock.seconds,
                    sleep=clock.sleep,
                    fraction=lambda: 0.5,
                )
                client = Client(server.url, keys=keys, api_key="sk_test_1", surroundings=around)
                try:
                    result: Any = client.payments.create(TEA, operation="order_42")
                except PayonceError as error:
                    result = {"code": error.code, "mayHaveTakenEffect": error.may_have_taken_effect}
                    self.assertIn(case.get("says", ""), str(error))
                    if isinstance(error, ProblemError):
                        result["recovery"] = error.recovery
                        self.assertEqual(error.type, error.problem.get("type", "about:blank"))
                self.assertEqual(result, {**result, **case["then"]})
                self.assertEqual((len(transport.sent), len(server.requests)), (len(case["attempts"]), len(received)))
                if "pausesSeconds" in case:
                    self.assertEqual(clock.pauses, case["pausesSeconds"])
                self.assertEqual(keys.kept, [] if case["stored"] is None else [case["stored"]])
                self.assertEqual(keys.refused, [TEA] if "refused" in case else [])
                sent = set(transport.sent)
                self.assertEqual(len(sent), 1)
                if "storedRefused" in case:
                    ((key, body),) = sent
                    self.assertEqual((key, json.loads(body)), ("k-1", TEA))
                elif before is not None:
                    self.assertEqual(sent, {("k-1", before)})

    def test_changes(self) -> None:
        for case in CONTRACT["changes"]:
            with self.subTest(case["name"]):
                rows = [StoredRequest(operation="x", key="k", **case[name]) for name in ("stored", "offered")]
                self.assertEqual(differences(*rows), case["differ"])

    def test_names(self) -> None:
        with ScriptedServer([{"status": 201, "body": '{"object":"payment"}'}] * 9) as server:
            client = Client(server.url, keys=MemoryKeys())
            for case in CONTRACT["names"]:
                sent = len(server.requests)
                try:
                    outcome: Any = client.payments.create(TEA, operation=case["name"])["object"]
                except PayonceError as error:
                    outcome = error.code
                self.assertEqual(outcome, "payment" if case["valid"] else "invalid_operation")
                self.assertEqual(len(server.requests) - sent, 1 if case["valid"] else 0)

    def test_rows(self) -> None:
        for case in CONTRACT["rows"]:
            with self.subTest(case["name"]):
                try:
                    read: StoredOperation | str = stored_in(case["request"], case.get("answer"))
                except PayonceError as error:
                    read = error.code
                if case["valid"]:
                    assert isinstance(read, StoredOperation)
                    self.assertEqual((read.request.operation, read.request.key), ("order_42", "k-1"))
                    self.assertEqual(read.refused, "refused" in case)
                else:
                    self.assertEqual(read, "invalid_key_store")

    def test_retry_after(self) -> None:
        for case in CONTRACT["retryAfter"]:
            self.assertEqual(parse_retry_after(case["header"], NOW), case["seconds"], case["header"])

    def test_addresses(self) -> None:
        for case in CONTRACT["addresses"]:
            try:
                Client(case["url"], keys=MemoryKeys())
                valid = True
            except ValueError:
                valid = False
            self.assertEqual(valid, case["valid"], case["url"])

    def test_webhooks(self) -> None:
        for case in CONTRACT["webhooks"]:
            with self.subTest(case["name"]):
                try:
                    event = verify_webhook(case["body"], case["headers"], secrets=case["secrets"], now=NOW)
                    refused = None
                    self.assertEqual(event["id"], "evt_1")
                except PayonceError as error:
                    self.assertEqual(error.code, "invalid_webhook")
                    refused = str(error)
                if case["refused"] is None:
                    self.assertIsNone(refused)
                else:
                    self.assertIn(case["refused"], refused or "accepted")


if __name__ == "__main__":
    unittest.main()
