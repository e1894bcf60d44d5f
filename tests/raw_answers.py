"""Sockets that answer HTTP with given bytes, for what no server of ours would answer."""

import contextlib
import socket
import threading

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nUllage-Revision: 3\r\n\r\nhi"


@contextlib.contextmanager
def answering(*answers, tls=None):
    """Answer with these bytes, one after the other, whatever is asked; yields an address and what it was."""
    heard = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve():
            for answer in answers:
                with contextlib.suppress(OSError):
                    connection, _ = listening.accept()
                    with tls.wrap_socket(connection, server_side=True) if tls else connection as opened:
                        heard.append(opened.recv(65536))
                        opened.sendall(answer)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        scheme = "https" if tls else "http"
        host = "localhost" if tls else "127.0.0.1"
        yield f"{scheme}://{host}:{listening.getsockname()[1]}", heard
        listening.close()
        thread.join(10)


def problem(status, text, content="application/problem+json"):
    head = f"HTTP/1.1 {status} Why\r\nContent-Type: {content}\r\nContent-Length: {len(text.encode())}\r\n"
    return f"{head}Location: http://127.0.0.1:1/\r\n\r\n{text}".encode()
