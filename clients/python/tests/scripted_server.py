"""A real HTTP server that sends prepared responses."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class ScriptedServer:
    """Answers each request with the next element of ``attempts``: a response, or ``lost``, which closes the connection,
    ``silent``, which never answers, or ``dripping``, which sends the bytes of an endless answer slowly. Closes the
    connection of each later request."""

    def __init__(self, attempts: list[Any]) -> None:
        self.requests: list[dict[str, str]] = []
        self.closing = closing = threading.Event()
        requests = self.requests

        class Handler(BaseHTTPRequestHandler):
            def answer(self) -> None:
                attempt: Any = attempts[len(requests)] if len(requests) < len(attempts) else "lost"
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                fields = {name.lower(): value for name, value in self.headers.items()}
                requests.append({**fields, "method": self.command, "path": self.path, "body": body.decode()})
                if attempt == "silent":
                    closing.wait()
                elif attempt == "dripping":
                    self.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
                    while not closing.wait(0.02):
                        self.wfile.write(b"x")
                        self.wfile.flush()
                elif attempt != "lost":
                    content = attempt["body"].encode()
                    self.send_response_only(attempt["status"])
                    for name, value in attempt.get("headers", {}).items():
                        self.send_header(name, value)
                    self.send_header("content-length", str(attempt.get("length", len(content))))
                    self.end_headers()
                    self.wfile.write(content)
                self.close_connection = True

            do_GET = do_POST = do_PATCH = do_DELETE = answer

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.handle_error = lambda *_: None  # type: ignore[method-assign]
        self._thread = threading.Thread(target=lambda: self._server.serve_forever(poll_interval=0.01))
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> ScriptedServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
