"""Connections under TLS from when they are accepted until both sides know each other, held to bounds.

A connection is no client before that, and whoever says nothing would be kept beside all of them. So each has
little time for it, and there are only so many: where one more comes, the one that came first of them goes.
Whoever means it is done within milliseconds.
"""

import asyncio
import contextlib
import functools
import socket
from collections.abc import Callable
from typing import Final

from ullage.web.certificate import Certificate

HANDSHAKES_MAX: Final = 256
HANDSHAKE_SECONDS_MAX: Final = 10.0
AGAIN_SECONDS: Final = 0.2
"""When to accept again where nothing more can be opened just now."""


class Handshakes:
    """Who is accepted on a socket and not a client yet."""

    def __init__(
        self, listening: socket.socket, certificate: Certificate, client: Callable[[], asyncio.Protocol]
    ) -> None:
        self._listening = listening
        self._certificate = certificate
        self._client = client
        self._waited_for: dict[str, dict[asyncio.Task[None], socket.socket]] = {}
        """By the address that they come from, those first who have come first."""
        self._tasks: set[asyncio.Task[None]] = set()
        listening.settimeout(0)
        self._accepting = asyncio.create_task(self._accept())

    def close(self) -> None:
        """Accept nobody any more, and let go of those who are no clients yet."""
        self._accepting.cancel()
        self._listening.close()
        for task in self._tasks:
            task.cancel()

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                accepted, (address, *_) = await loop.sock_accept(self._listening)
            except OSError:  # too many files, or the one who called has gone
                await asyncio.sleep(AGAIN_SECONDS)
                continue
            if sum(map(len, self._waited_for.values())) >= HANDSHAKES_MAX:
                self._let_one_go()
            task = asyncio.create_task(self._shake_hands(accepted))
            self._waited_for.setdefault(address, {})[task] = accepted
            self._tasks.add(task)
            task.add_done_callback(functools.partial(self._ended, address))

    def _let_one_go(self) -> None:
        """Hang up on the one who has waited longest, of the address from which most have come."""
        address = max(self._waited_for, key=lambda each: len(self._waited_for[each]))
        task = next(iter(self._waited_for[address]))
        _let_go(self._waited_for[address][task])
        self._forget(address, task)

    def _ended(self, address: str, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._forget(address, task)

    def _forget(self, address: str, task: asyncio.Task[None]) -> None:
        own = self._waited_for.get(address, {})
        own.pop(task, None)
        if not own:
            self._waited_for.pop(address, None)

    async def _shake_hands(self, accepted: socket.socket) -> None:
        """Have a connection become a client, or be gone; why it is gone is nobody's business."""
        try:
            await asyncio.get_running_loop().connect_accepted_socket(
                self._client,
                accepted,
                ssl=self._certificate.context,
                ssl_handshake_timeout=HANDSHAKE_SECONDS_MAX,
            )
        except OSError:  # what TLS does not like is one too
            pass
        except asyncio.CancelledError:
            _let_go(accepted)
            raise


def _let_go(connection: socket.socket) -> None:
    """End a connection for both sides: whoever waits for it hears that."""
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
