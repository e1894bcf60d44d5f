"""A handshake of TLS in memory, between a server that is tried and a client."""

import ssl

TURNS_MAX = 10


def shakes_hands(server: ssl.SSLContext, client: ssl.SSLContext, name: str | None = None) -> bool:
    """Whether a client gets through to a server, which it knows by a name if it wants to."""
    to_client, to_server = ssl.MemoryBIO(), ssl.MemoryBIO()
    sides = [
        client.wrap_bio(to_client, to_server, server_hostname=name),
        server.wrap_bio(to_server, to_client, server_side=True),
    ]
    for _ in range(TURNS_MAX):
        for side in list(sides):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
            except ssl.SSLError:
                return False
            sides.remove(side)
    return not sides
