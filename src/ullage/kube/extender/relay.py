"""What only the replica that leads may answer, passed on to it.

Two that bind at once could each give the same quota away, and the places of gangs are held by one. The leader
is known by its lease, and its address by the name it leads under.
"""

import asyncio
import socket
import ssl
from typing import Final

from ullage.kube.scheduler.actions import NotDoneError
from ullage.sources.kubernetes.api.connection import Address, BrokenError, connect

RELAY_SECONDS_MAX: Final = 660
"""Longer than volumes are waited for."""
ANSWER_BYTES_MAX: Final = 1 << 24
"""Every node may be named with a reason."""
_OK: Final = 200
_MARK: Final = "@"


def identity(name: str, host: str, port: int) -> str:
    """Return the name under which a replica leads that is reached at an address."""
    return f"{name}{_MARK}{host}:{port}"


def own_host() -> str:
    """Return the address of this host, as its pod has it."""
    try:
        found = socket.getaddrinfo(socket.gethostname(), None, type=socket.SOCK_STREAM)
    except OSError:
        return "127.0.0.1"
    return str(found[0][4][0])


def trusting(certificate: str) -> ssl.SSLContext:
    """Return what replicas trust each other by: they have the same certificate."""
    context = ssl.create_default_context(cafile=certificate)
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.check_hostname = False
    return context


def leader_path(verb: str) -> str:
    """Return where replicas ask each other: who does not lead after all passes nothing on."""
    return f"/{verb}/leader"


async def relay(holder: str, verb: str, body: bytes, tls: ssl.SSLContext | None = None) -> bytes:
    """Return what the replica of a name answers; raises a NotDoneError."""
    where, _, port = holder.rpartition(_MARK)[2].rpartition(":")
    if not where or not port.isdigit():
        raise NotDoneError("no replica leads yet" if not holder else f"{holder} has no address")
    request = (
        f"POST {leader_path(verb)} HTTP/1.1\r\nHost: {where}:{port}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    ).encode() + body
    try:
        async with asyncio.timeout(RELAY_SECONDS_MAX):
            connection = await connect(Address(where, int(port), tls))
            try:
                answer = await connection.ask(request, bytes_max=ANSWER_BYTES_MAX)
            finally:
                connection.close()
    except (BrokenError, TimeoutError) as error:
        raise NotDoneError(f"the replica that leads does not answer: {error}") from None
    if answer.status != _OK:
        raise NotDoneError(f"the replica that leads answered {answer.status}")
    return bytes(answer.data)
