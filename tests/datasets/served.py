"""A web server on this model that counts what it is asked."""

from __future__ import annotations

import http.server
import threading
from typing import Any


class Server:
    """Answers with other contents under their paths, not at all with None, else with one."""

    def __init__(self, content: bytes, others: dict[str, bytes | None]) -> None:
        self.requests = 0
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.requests += 1
                body = others.get(self.path, content)
                if body is None:
                    self.send_error(404)
                    return
                self.send_response(200)
                # What is cut has the length of the whole.
                length = len(content) if self.path.startswith("/cut") else len(body)
                self.send_header("Content-Length", str(length))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                """Keep the test output clean."""

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
