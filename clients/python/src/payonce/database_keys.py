"""A key store in a database."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any, Protocol

from .keys import StoredAnswer, StoredOperation, StoredRequest, stored_in


class Connection(Protocol):
    """The part of a DB-API 2.0 connection that the store uses."""

    def cursor(self) -> Any: ...
    def commit(self) -> None: ...
    def close(self) -> None: ...


_PLACEHOLDERS = {"qmark": "?", "format": "%s", "pyformat": "%s"}


class DatabaseKeys:
    """Stores operations in a table of SQLite or PostgreSQL, over any DB-API 2.0 driver (PEP 249).

    ``connect`` opens a connection, for example ``lambda: sqlite3.connect("shop.db")`` or
    ``lambda: psycopg.connect(url)``. The store opens a connection for each step, commits, and closes the connection, so
    it never commits a transaction of yours. Rows are as durable as other commits of the database.

    ``table`` is the name of the table. Call ``create_table`` once to create it.

    Raises ValueError for an invalid table name, and from its methods for a driver whose ``paramstyle`` is neither
    ``qmark``, ``format`` nor ``pyformat``.
    """

    def __init__(self, connect: Callable[[], Connection], *, table: str = "payonce_operations") -> None:
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)?", table):
            raise ValueError(f"table must be a name such as payonce_operations, but is {table!r}")
        self._connect = connect
        self._table = table

    def create_table(self) -> None:
        """Create the table if it does not exist."""
        columns = "operation TEXT NOT NULL PRIMARY KEY, request TEXT NOT NULL, answer TEXT"
        with self._opened() as (connection, cursor, _):
            cursor.execute(f"CREATE TABLE IF NOT EXISTS {self._table} ({columns})")
            connection.commit()

    def put_if_absent(self, request: StoredRequest) -> StoredOperation:
        with self._opened() as (connection, cursor, place):
            # Of two concurrent transactions, the second waits for the first one's commit and then inserts nothing.
            cursor.execute(
                f"INSERT INTO {self._table} (operation, request) VALUES ({place}, {place})"
                " ON CONFLICT (operation) DO NOTHING",
                (request.operation, request.to_json()),
            )
            # Read in a new transaction: at a strict isolation level, the first transaction may not see a row of another
            # process.
            connection.commit()
            cursor.execute(
                f"SELECT request, answer FROM {self._table} WHERE operation = {place}", (request.operation,)
            )
            row = cursor.fetchone()
            return stored_in(None) if row is None else stored_in(row[0], row[1])

    def keep_answer(self, request: StoredRequest, answer: StoredAnswer) -> None:
        with self._opened() as (connection, cursor, place):
            cursor.execute(
                f"INSERT INTO {self._table} (operation, request, answer) VALUES ({place}, {place}, {place})"
                " ON CONFLICT (operation) DO UPDATE SET request = excluded.request, answer = excluded.answer",
                (request.operation, request.to_json(), answer.to_json()),
            )
            connection.commit()

    def keep_refusal(self, request: StoredRequest) -> None:
        with self._opened() as (connection, cursor, place):
            cursor.execute(
                f"UPDATE {self._table} SET request = {place} WHERE operation = {place} AND answer IS NULL",
                (request.to_json(refused=True), request.operation),
            )
            connection.commit()

    @contextmanager
    def _opened(self) -> Iterator[tuple[Connection, Any, str]]:
        with closing(self._connect()) as connection:
            place = _placeholder(connection)
            with closing(connection.cursor()) as cursor:
                yield connection, cursor, place


def _placeholder(connection: Connection) -> str:
    drivers = [sys.modules.get(base.__module__.partition(".")[0]) for base in type(connection).__mro__]
    styles = [getattr(driver, "paramstyle", None) for driver in drivers]
    for style in styles:
        if style in _PLACEHOLDERS:
            return _PLACEHOLDERS[style]
    raise ValueError(
        f"{type(connection)} is not a connection of a driver with the paramstyle {' or '.join(_PLACEHOLDERS)}"
    )
