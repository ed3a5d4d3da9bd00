"""The client over a real network, with each key store."""

from __future__ import annotations

import inspect
import json
import os
import pickle
import re
import sqlite3
import stat
import sys
import tempfile
import threading
import time
import unittest
import unittest.mock
from dataclasses import replace
from pathlib import Path
from typing import Any

import payonce.api_types
import payonce.client
from payonce import (
    Client,
    DatabaseKeys,
    FileKeys,
    FinalProblemError,
    InvalidWebhookError,
    MemoryKeys,
    NoAnswerError,
    OperationChangedError,
    PayonceError,
    ProblemError,
    StoredAnswer,
    StoredOperation,
    StoredRequest,
    UnfinishedError,
    verify_webhook,
)
from payonce.waiting import pause_seconds
from scripted_server import ScriptedServer

TEA: Any = {"amount": 1000, "currency": "EUR", "source": "tok_ok"}
PAID = {"status": 201, "body": '{"object":"payment","id":"pay_1","status":"succeeded"}'}
PROCESSING = {"status": 200, "body": '{"object":"payment","id":"pay_1","status":"processing"}'}
FAILED = {
    "status": 402,
    "body": '{"type":"https://example.com/payment_failed","code":"payment_failed","status":402,"detail":"x",'
    '"request_id":"r","payment":{"id":"pay_1","status":"failed"}}',
}
REFUSED = {"status": 400, "body": '{"code":"invalid_request","status":400,"detail":"x","request_id":"r"}'}
ANSWER = StoredAnswer(201, '{"id":"pay_1","object":"payment","note":"Tee für zwei\\u0000"}')
LONG_SECONDS = 600
"""A time limit that no passing test reaches."""
AnyKeys = MemoryKeys | FileKeys | DatabaseKeys


def request(key: str, operation: str = "order_42", body: str | None = '{"amount":1000}') -> StoredRequest:
    return StoredRequest(operation, key, "POST", "/v1/payments", body, "test")


class InFolder(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="payonce-keys-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)


class KeyStores(InFolder):
    def stores(self) -> list[tuple[AnyKeys, AnyKeys]]:
        """Open each store twice, as two processes would, except MemoryKeys, which belongs to one process."""
        memory = MemoryKeys()
        database = DatabaseKeys(lambda: sqlite3.connect(self.folder / "keys.db"), table="keys_of_shop")
        database.create_table()
        database.create_table()
        autocommit = DatabaseKeys(lambda: sqlite3.connect(self.folder / "auto.db", isolation_level=None))
        autocommit.create_table()
        files = self.folder / "deep" / "keys"
        return [(memory, memory), (FileKeys(files), FileKeys(files)), (database, database), (autocommit, autocommit)]

    def test_keep_the_first_request_of_an_operation_and_its_answer(self) -> None:
        for one, other in self.stores():
            self.assertEqual(one.put_if_absent(request("k-1")), StoredOperation(request("k-1")))
            self.assertEqual(other.put_if_absent(request("k-2", body="{}")), StoredOperation(request("k-1")))
            other.keep_answer(request("k-1"), ANSWER)
            one.keep_answer(request("k-1"), ANSWER)
            self.assertEqual(one.put_if_absent(request("k-3")), StoredOperation(request("k-1"), ANSWER))

    def test_keep_a_refusal_until_there_is_an_answer_and_no_refusal_after_it(self) -> None:
        for one, other in self.stores():
            one.put_if_absent(request("k-1"))
            one.keep_refusal(request("k-1"))
            self.assertEqual(other.put_if_absent(request("k-2")), StoredOperation(request("k-1"), refused=True))
            corrected = request("k-1", body='{"amount":2000}')
            other.keep_answer(corrected, ANSWER)
            one.keep_refusal(request("k-1"))
            self.assertEqual(one.put_if_absent(request("k-3")), StoredOperation(corrected, ANSWER))

    def test_keep_one_of_many_concurrent_requests(self) -> None:
        for stores in self.stores():
            keys: list[str] = []
            start = threading.Barrier(10)

            def put(number: int, stores: tuple[AnyKeys, AnyKeys] = stores, start: threading.Barrier = start) -> None:
                start.wait()
                keys.append(stores[number % 2].put_if_absent(request(f"k-{number}")).request.key)

            threads = [threading.Thread(target=put, args=(number,)) for number in range(10)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual((len(keys), len(set(keys))), (10, 1))

    def test_keep_operations_separate_for_any_names(self) -> None:
        names = ["order_42", "ORDER_42", "../order_42", "order/42", "ö" * 200, "🍵", ".", "__proto__"]
        for store, _ in self.stores():
            for name in names:
                store.put_if_absent(request(f"k {name}", name, None))
            for name in names:
                self.assertEqual(store.put_if_absent(request("new", name)).request, request(f"k {name}", name, None))

    def test_a_file_is_readable_only_by_its_owner_and_no_other_file_is_left(self) -> None:
        files = FileKeys(self.folder / "keys")
        files.put_if_absent(request("k-1"))
        files.put_if_absent(request("k-2"))
        files.keep_answer(request("k-1"), ANSWER)
        (row,) = os.scandir(self.folder / "keys")
        self.assertEqual(stat.S_IMODE(row.stat().st_mode), 0o600)
        self.assertEqual(stat.S_IMODE((self.folder / "keys").stat().st_mode), 0o700)

    def test_a_row_and_its_name_are_on_disk_before_the_row_is_used(self) -> None:
        called: list[str] = []

        def observe(_: Any, event: str, function: Any) -> None:
            if event == "c_call" and function.__name__ in ("fsync", "fcntl", "link", "replace"):
                called.append("sync" if function.__name__ in ("fsync", "fcntl") else function.__name__)

        files = FileKeys(self.folder / "new" / "keys")
        sys.setprofile(observe)
        try:
            files.put_if_absent(request("k-1"))
            called.append("sent")
            files.keep_answer(request("k-1"), ANSWER)
            called.append("returned")
            files.put_if_absent(request("k-2"))
        finally:
            sys.setprofile(None)
        put = ["sync", "link", "sync"]
        first = called.index("link") - 1
        self.assertGreaterEqual(first, 2)  # The names of the folders.
        self.assertEqual(called[first:], [*put, "sent", "sync", "replace", "sync", "returned", *put])

    @unittest.skipUnless(sys.platform == "linux", "reads /proc")
    def test_the_names_of_folders_that_a_crashed_process_created_are_on_disk_before_the_row_is_used(self) -> None:
        keys = self.folder / "new" / "keys"
        keys.mkdir(parents=True)  # The process crashed before it synced the names.
        synced: list[str] = []
        with unittest.mock.patch("os.fsync", lambda each: synced.append(os.readlink(f"/proc/self/fd/{each}"))):
            FileKeys(keys).put_if_absent(request("k-1"))
        self.assertLessEqual({os.path.realpath(each) for each in (self.folder, keys.parent, keys)}, set(synced))

    def test_a_draft_of_a_crashed_process_is_ignored(self) -> None:
        (self.folder / ".crashed.draft").write_text('{"operation":"ord')
        self.assertEqual(FileKeys(self.folder).put_if_absent(request("k-1")), StoredOperation(request("k-1")))

    def test_no_draft_is_left_when_the_disk_is_full(self) -> None:
        def sync(descriptor: int) -> None:
            if stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise OSError("the disk is full")

        files = FileKeys(self.folder)
        files.put_if_absent(request("k-1"))
        with unittest.mock.patch("payonce.file_keys._sync", sync):
            with self.assertRaisesRegex(OSError, "full"):
                files.put_if_absent(request("k-2", "order_43"))
            with self.assertRaisesRegex(OSError, "full"):
                files.keep_answer(request("k-1"), ANSWER)
        self.assertEqual(len(list(self.folder.iterdir())), 1)

    def test_a_damaged_row_is_an_error_instead_of_a_new_key(self) -> None:
        files = FileKeys(self.folder)
        files.put_if_absent(request("k-1"))
        (row,) = self.folder.iterdir()
        row.write_bytes(row.read_bytes()[:20] + b"\xff")
        with self.assertRaises(PayonceError) as raised:
            files.put_if_absent(request("k-2"))
        self.assertEqual(raised.exception.code, "invalid_key_store")

    def test_a_database_keeps_the_transaction_of_its_caller_open(self) -> None:
        path = self.folder / "shop.db"
        keys = DatabaseKeys(lambda: sqlite3.connect(path))
        keys.create_table()
        own = sqlite3.connect(path)
        self.addCleanup(own.close)
        own.execute("BEGIN")
        keys.put_if_absent(request("k-1"))
        self.assertTrue(own.in_transaction)

    def test_a_database_of_another_driver_or_table_is_refused(self) -> None:
        class Named(sqlite3.Connection):
            """A subclass in a module other than the driver's."""

        keys = DatabaseKeys(lambda: sqlite3.connect(":memory:", factory=Named))
        with self.assertRaises(sqlite3.OperationalError):
            keys.put_if_absent(request("k-1"))  # The driver is known; the table is missing.
        with self.assertRaisesRegex(ValueError, "paramstyle"):
            DatabaseKeys(lambda: open(os.devnull)).keep_answer(request("k-1"), ANSWER)  # type: ignore[arg-type, return-value]
        with self.assertRaisesRegex(ValueError, "table"):
            DatabaseKeys(lambda: sqlite3.connect(":memory:"), table="keys; DROP TABLE orders")


class Operations(InFolder):
    def test_a_repeated_call_gets_the_stored_answer_without_a_request(self) -> None:
        keys = FileKeys(self.folder)
        with ScriptedServer([PAID]) as server:
            one = Client(server.url + "/stage/", keys=keys, api_key="sk_test_1")
            other = Client(server.url, keys=keys, api_key="sk_test_1")
            first = one.payments.create(TEA, operation="order_42")
            again = other.payments.create(TEA, operation="order_42")
        self.assertEqual([first, again], [first, first])
        (sent,) = server.requests
        (row,) = self.folder.iterdir()
        self.assertEqual(sent["authorization"], "Bearer sk_test_1")
        self.assertEqual(sent["path"], "/stage/v1/payments")
        self.assertIn(sent["idempotency-key"], row.read_text())

    def test_a_changed_call_is_refused_without_a_request_and_without_its_values(self) -> None:
        with ScriptedServer([PAID]) as server:
            client = Client(server.url, keys=FileKeys(self.folder))
            client.payments.create(TEA, operation="order_42")
            with self.assertRaises(OperationChangedError) as raised:
                changed: Any = {**TEA, "amount": 1001}
                client.payments.create(changed, operation="order_42")
            with self.assertRaises(OperationChangedError):
                client.payments.cancel("pay_1", operation="order_42")
        self.assertTrue(raised.exception.may_have_taken_effect)  # The first call has taken effect.
        self.assertIn("different amount.", str(raised.exception))
        self.assertIn("repeat it to get its response, before you start a new operation.", str(raised.exception))
        self.assertNotIn("1001", str(raised.exception))
        self.assertEqual(len(server.requests), 1)

    def test_a_refused_call_may_have_another_body_with_the_same_key_until_it_is_answered(self) -> None:
        class WithoutRefusals:
            def __init__(self) -> None:
                keys = MemoryKeys()
                self.put_if_absent, self.keep_answer = keys.put_if_absent, keys.keep_answer

        wrong: Any = {**TEA, "amount": -1}
        with ScriptedServer([REFUSED, PAID, REFUSED]) as server:
            client = Client(server.url, keys=FileKeys(self.folder))
            with self.assertRaises(ProblemError):
                client.payments.create(wrong, operation="order_42")
            with self.assertRaises(OperationChangedError) as raised:
                client.payments.cancel("pay_1", operation="order_42")
            # Another process may have corrected the body and sent it.
            self.assertTrue(raised.exception.may_have_taken_effect)
            for _ in range(2):
                self.assertEqual(client.payments.create(TEA, operation="order_42")["id"], "pay_1")
            with self.assertRaises(OperationChangedError):
                client.payments.create(wrong, operation="order_42")
            plain = Client(server.url, keys=WithoutRefusals())
            with self.assertRaises(ProblemError):
                plain.payments.create(wrong, operation="order_42")
            with self.assertRaisesRegex(OperationChangedError, "the key store needs keep_refusal"):
                plain.payments.create(TEA, operation="order_42")
        one, corrected, _ = server.requests
        self.assertEqual(one["idempotency-key"], corrected["idempotency-key"])
        self.assertEqual([json.loads(sent["body"])["amount"] for sent in server.requests], [-1, 1000, -1])

    def test_a_refusal_after_a_crash_lets_the_body_be_corrected(self) -> None:
        class Crashing(FileKeys):
            def keep_refusal(self, request: StoredRequest) -> None:
                raise KeyboardInterrupt

        wrong: Any = {**TEA, "amount": -1}
        with ScriptedServer([REFUSED, REFUSED, PAID]) as server:
            with self.assertRaises(KeyboardInterrupt):
                Client(server.url, keys=Crashing(self.folder)).payments.create(wrong, operation="order_42")
            client = Client(server.url, keys=FileKeys(self.folder))
            with self.assertRaisesRegex(OperationChangedError, "If it is refused, you can then send the changed body"):
                client.payments.create(TEA, operation="order_42")
            with self.assertRaises(ProblemError) as raised:
                client.payments.create(wrong, operation="order_42")
            self.assertTrue(raised.exception.may_have_taken_effect)
            self.assertEqual(client.payments.create(TEA, operation="order_42")["id"], "pay_1")
        self.assertEqual(len({sent["idempotency-key"] for sent in server.requests}), 1)

    def test_an_answered_call_has_no_other_body_even_if_its_row_is_still_marked_as_refused(self) -> None:
        class Marked(MemoryKeys):
            def put_if_absent(self, request: StoredRequest) -> StoredOperation:
                return replace(super().put_if_absent(request), refused=True)

        other: Any = {**TEA, "amount": 2000}
        with ScriptedServer([PAID]) as server:
            client = Client(server.url, keys=Marked())
            client.payments.create(TEA, operation="order_42")
            with self.assertRaises(OperationChangedError):
                client.payments.create(other, operation="order_42")

    def test_a_final_problem_is_raised_again_with_its_type_and_can_be_pickled(self) -> None:
        with ScriptedServer([FAILED]) as server:
            client = Client(server.url, keys=FileKeys(self.folder))
            for _ in range(2):
                with self.assertRaises(FinalProblemError) as raised:
                    client.payments.create(TEA, operation="order_42")
                error = pickle.loads(pickle.dumps(raised.exception))
                self.assertIsInstance(error, FinalProblemError)
                self.assertEqual(error.problem["payment"]["status"], "failed")
                self.assertEqual(
                    (error.type, error.status, error.code, str(error)),
                    ("https://example.com/payment_failed", 402, "payment_failed", str(raised.exception)),
                )
        self.assertEqual(len(server.requests), 1)

    def test_nothing_is_sent_if_the_key_store_fails_or_returns_another_row(self) -> None:
        class Broken(MemoryKeys):
            def __init__(self, row: Any) -> None:
                super().__init__()
                self.row = row

            def put_if_absent(self, request: StoredRequest) -> Any:
                if isinstance(self.row, Exception):
                    raise self.row
                return self.row

        rows = [None, StoredOperation(request("k", "order_1")), StoredOperation(request("")), request("k")]
        with ScriptedServer([]) as server:
            for row in rows:
                with self.assertRaises(PayonceError) as raised:
                    Client(server.url, keys=Broken(row)).payments.create(TEA, operation="order_42")
                self.assertEqual(raised.exception.code, "invalid_key_store")
                self.assertTrue(raised.exception.may_have_taken_effect)
            with self.assertRaisesRegex(OSError, "disk is full"):
                Client(server.url, keys=Broken(OSError("the disk is full"))).payments.create(TEA, operation="order_42")
        self.assertEqual(server.requests, [])

    def test_other_amounts_than_whole_numbers_and_no_object_are_refused_before_anything_is_stored(self) -> None:
        keys = FileKeys(self.folder / "keys")
        client = Client("http://127.0.0.1:9", keys=keys)
        fields = ({"amount": 20.0}, {"items": [{"quantity": 1.0}]}, {"amount": 1j})
        wrong: list[Any] = [*({**TEA, **field} for field in fields), [], "tea", 42]
        for params in wrong:
            with self.assertRaises(TypeError):
                client.payments.create(params, operation="order_42")
        self.assertFalse((self.folder / "keys").exists())

    def test_a_missing_option_is_named(self) -> None:
        nothing: Any = None
        for call, sentence in (
            (lambda: Client("http://127.0.0.1:9", keys=nothing), "needs keys, which"),
            (lambda: Client(nothing, keys=MemoryKeys()), "needs url, the"),
            (lambda: Client("https://pay.example.com/v1", keys=MemoryKeys()), "must not end in /v1"),
            (lambda: FileKeys(""), "needs a folder"),
            (lambda: FileKeys(nothing), "needs a folder"),
            (lambda: verify_webhook(nothing, {}, secrets=["whsec_AA"]), "not parsed JSON"),
            (lambda: verify_webhook("{}", nothing, secrets=["whsec_AA"]), "mapping of the request's header names"),
            (lambda: verify_webhook("{}", {}, secrets="whsec_AA"), "secrets must be a list"),
            (lambda: verify_webhook("{}", {}, secrets=nothing), "secrets must be a list"),
        ):
            with self.assertRaisesRegex((TypeError, ValueError, InvalidWebhookError), sentence):
                call()

    def test_ids_and_keys_cannot_change_the_request(self) -> None:
        with ScriptedServer([{"status": 200, "body": '{"object":"payment"}'}]) as server:
            client = Client(server.url, keys=MemoryKeys())
            client.payments.retrieve("../orders/ord_1?x=1")
            for wrong in ("", "..", None):
                with self.assertRaises(TypeError):
                    client.payments.retrieve(wrong)  # type: ignore[arg-type]
        self.assertEqual(server.requests[0]["path"], "/v1/payments/..%2Forders%2Ford_1%3Fx%3D1")
        with self.assertRaises(ValueError):
            Client(server.url, keys=MemoryKeys(), api_key="sk_test_1\r\nx: y")


class Types(unittest.TestCase):
    def test_each_type_of_a_method_is_generated_from_the_description_of_the_api(self) -> None:
        named = set(re.findall(r"\bapi\.(\w+)", inspect.getsource(payonce.client)))
        self.assertGreater(len(named), 20)
        self.assertEqual([name for name in sorted(named) if not hasattr(payonce.api_types, name)], [])
        self.assertLessEqual({"amount", "currency", "source"}, payonce.api_types.CreatePayment.__annotations__.keys())


class Network(InFolder):
    def call(self, attempt: Any, seconds: float) -> tuple[PayonceError, float, int]:
        with ScriptedServer([attempt] * 100) as server:
            client = Client(server.url, keys=MemoryKeys())
            began = time.monotonic()
            with self.assertRaises(NoAnswerError) as raised:
                client.payments.create(TEA, operation="order_42", timeout_seconds=seconds)
            return raised.exception, time.monotonic() - began, len(server.requests)

    def test_a_call_ends_at_its_time_limit_if_the_server_is_silent_or_answers_byte_by_byte(self) -> None:
        # On a busy machine, a short time limit can pass before the request arrives. The test then tries a longer one.
        for attempt in ("silent", "dripping"):
            for seconds in (0.3, 3, 30):
                error, took, requests = self.call(attempt, seconds)
                self.assertTrue(error.may_have_taken_effect)
                self.assertGreaterEqual(took, 0.9 * seconds)
                # The limit of one attempt is 30 s, so the call would take longer without its own limit.
                self.assertLess(took, seconds + 29)
                if requests:
                    break
            self.assertEqual(requests, 1)

    def test_a_refused_connection_is_named_at_once(self) -> None:
        with ScriptedServer([]) as server:
            pass
        client = Client(server.url, keys=MemoryKeys())
        # At the second call, the key is already stored, so another process may have sent the request.
        for may_have_taken_effect in (False, True):
            with self.assertRaisesRegex(PayonceError, "^Nothing listens at http://127.0.0.1:.* refused") as raised:
                client.payments.create(TEA, operation="x", timeout_seconds=LONG_SECONDS)
            self.assertEqual(raised.exception.code, "connection_refused")
            self.assertEqual(raised.exception.may_have_taken_effect, may_have_taken_effect)

    def test_an_unknown_host_is_named(self) -> None:
        with self.assertRaises(PayonceError) as raised:
            Client("http://payonce.invalid", keys=MemoryKeys()).payments.retrieve("pay_1", timeout_seconds=0.01)
        self.assertIn(raised.exception.code, ("no_connection", "no_answer"))  # The machine may have no name server.
        self.assertFalse(raised.exception.may_have_taken_effect)

    def test_a_connection_that_is_refused_after_an_answer_is_retried(self) -> None:
        with ScriptedServer([PAID]) as server:
            client = Client(server.url, keys=MemoryKeys())
            client.payments.retrieve("pay_1")
        with self.assertRaisesRegex(NoAnswerError, "refused") as raised:
            client.payments.create(TEA, operation="x", timeout_seconds=0.01)
        self.assertFalse(raised.exception.may_have_taken_effect)

    def test_an_answer_shorter_than_announced_is_no_answer(self) -> None:
        with ScriptedServer([{**PAID, "length": 500}, PAID]) as server:
            paid = Client(server.url, keys=MemoryKeys()).payments.create(TEA, operation="order_42")
        self.assertEqual((paid["id"], len(server.requests)), ("pay_1", 2))

    def test_a_wait_ends_with_the_outcome_or_with_the_object_as_last_read(self) -> None:
        with ScriptedServer([PROCESSING, PAID, *[PROCESSING] * 100]) as server:
            client = Client(server.url, keys=MemoryKeys())
            self.assertEqual(client.payments.wait("pay_1")["status"], "succeeded")
            with self.assertRaises(UnfinishedError) as raised:
                client.payments.wait("pay_1", timeout_seconds=0.2)
        self.assertEqual(raised.exception.object["status"], "processing")

    def test_a_list_is_read_page_by_page(self) -> None:
        pages = [
            {"status": 200, "body": '{"object":"list","data":[{"id":"a"},{"id":"b"}],"has_more":true}'},
            {"status": 200, "body": '{"object":"list","data":[],"has_more":true,"next_cursor":"c"}'},
            {"status": 200, "body": '{"object":"list","data":[{"id":"d"}],"has_more":false}'},
            {"status": 200, "body": '{"object":"list","data":[{"sequence":1}],"has_more":true}'},
            {"status": 200, "body": '{"object":"list","data":[],"has_more":true}'},
        ]
        with ScriptedServer(pages) as server:
            client = Client(server.url, keys=MemoryKeys())
            listed = client.payments.list({"limit": 2, "status": "succeeded"})
            self.assertEqual([each["id"] for each in listed], ["a", "b", "d"])
            with self.assertRaises(PayonceError) as raised:
                list(client.payments.transitions("pay_1"))
        queries = [request["path"].partition("?")[2] for request in server.requests]
        first = "limit=2&status=succeeded"
        self.assertEqual(
            queries, [first, f"{first}&starting_after=b", f"{first}&starting_after=c", "", "starting_after=1"]
        )
        self.assertEqual(raised.exception.code, "unexpected_answer")

    def test_pauses_have_full_jitter_up_to_a_ceiling(self) -> None:
        self.assertEqual([pause_seconds(each, 0.5) for each in range(6)], [0.25, 0.5, 1, 2, 4, 4])
        self.assertEqual([pause_seconds(each, 0) for each in (0, 5, 10_000)], [0, 0, 0])
        self.assertEqual(pause_seconds(10_000, 0.5, asked=7), 11)


if __name__ == "__main__":
    unittest.main()
