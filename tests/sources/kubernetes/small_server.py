"""A small HTTP server on this host: it answers by a script, or by path, and remembers what it was asked."""

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

BREAK = object()
"""Stands for a body that never comes: the connection is closed instead."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Give the next answer of the script; the last one is given again and again."""
        self.server.seen.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
        script = self.server.paths.get(self.path.partition("?")[0], self.server.script)
        status, body, headers = script.pop(0) if len(script) > 1 else script[0]
        if body is BREAK:
            self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = True
            return
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def serving(
    *script: tuple, certificate: Path | None = None, paths: dict[str, list[tuple]] | None = None
) -> Iterator[ThreadingHTTPServer]:
    """Serve answers: status, body and perhaps headers; some paths may have a script of their own."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.handle_error = lambda *_: None
    server.script = [(*each, {})[:3] for each in script]
    server.paths = {path: [(*each, {})[:3] for each in own] for path, own in (paths or {}).items()}
    server.seen = []
    scheme = "http"
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        scheme = "https"
    server.url = f"{scheme}://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
