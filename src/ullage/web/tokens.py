"""Tokens: who may ask a server from elsewhere, how far they may go, and until when.

A token is 256 random bits, so that a plain hash of it is kept and nothing slower is needed. Its first part
names it: the one hash it is to have is compared in constant time.
"""

import hashlib
import hmac
import math
import secrets
import sqlite3
import time
from pathlib import Path
from typing import Final, NamedTuple

from ullage.model.errors import InputError
from ullage.web.http import SCOPES, Principal, Scope
from ullage.web.state import FILE, State, read_only

PREFIX: Final = "ullage"
TOKENS_MAX: Final = 10_000
NAME_CHARACTERS_MAX: Final = 100
SESSION_SECONDS: Final = 12 * 3600
SESSIONS_MAX: Final = 10_000
LOOK_SECONDS: Final = 1.0
"""How long what was read is believed: a token that is removed is refused at most this much later."""
_COLUMNS: Final = "identifier, name, scope, hash, made_seconds, ends_seconds"


class Token(NamedTuple):
    """A token as it is kept."""

    identifier: str
    name: str
    scope: Scope
    hash: bytes
    made_seconds: int
    ends_seconds: int | None = None


def digest(secret: str) -> bytes:
    """Return what is kept of a secret."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


def add_token(state: State, name: str, scope: Scope, at_seconds: int, ends_seconds: int | None = None) -> str:
    """Make a token and return it; it is not kept anywhere, and cannot be had again."""
    if not 0 < len(name) <= NAME_CHARACTERS_MAX or not name.isprintable() or name.strip() != name:
        raise InputError(f"{name[:40]!r} is no name of a token", remedy="use a few printable characters")
    if scope not in SCOPES:
        raise InputError(f"scope {scope!r} is unknown", remedy=f"use one of {', '.join(SCOPES)}")
    identifier = secrets.token_hex(4)
    secret = f"{PREFIX}_{identifier}_{secrets.token_urlsafe(32)}"
    token = Token(identifier, name, scope, digest(secret), at_seconds, ends_seconds)

    def write(connection: sqlite3.Connection) -> None:
        (count,) = connection.execute("SELECT count(*) FROM tokens").fetchone()
        if count >= TOKENS_MAX:
            raise InputError(f"there are {count} tokens already", remedy="remove some: ullage token list")
        if connection.execute("SELECT 1 FROM tokens WHERE name = ?", (name,)).fetchone():
            raise InputError(
                f"there is a token {name!r} already", remedy="remove it first, or choose another name"
            )
        connection.execute(f"INSERT INTO tokens ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)", token)  # noqa: S608 - names of ours

    state.now(write)
    return secret


def remove_token(state: State, name: str) -> None:
    """Forget a token, and everybody who signed in with it."""

    def write(connection: sqlite3.Connection) -> int:
        return connection.execute("DELETE FROM tokens WHERE name = ?", (name,)).rowcount

    if not state.now(write):
        raise InputError(f"there is no token {name!r}", remedy="see `ullage token list`")


def list_tokens(folder: Path) -> list[Token]:
    """Return all tokens by name; none where there is no state yet."""
    path = folder / FILE
    if not path.exists():
        return []
    connection = read_only(path)
    try:
        return _read(connection)
    finally:
        connection.close()


def _read(connection: sqlite3.Connection) -> list[Token]:
    found = connection.execute(f"SELECT {_COLUMNS} FROM tokens ORDER BY name")  # noqa: S608 - names of ours
    return [Token(*row) for row in found]


class Tokens:
    """Who may come in: tokens and sessions as the file has them, looked at again about once in a second."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._connection = read_only(state.path)
        self._version = -1
        self._looked = -math.inf
        self._tokens: dict[str, Token] = {}
        self._sessions: dict[bytes, tuple[str, int]] = {}

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    def of_token(self, secret: str) -> Principal | None:
        """Return who a token is, if it is one and has not ended."""
        self._look()
        token = self._named(secret)
        if token is None or not _lasts(token.ends_seconds):
            return None
        return Principal(token.name, token.scope)

    def _named(self, secret: str) -> Token | None:
        parts = secret.split("_", 2)
        token = self._tokens.get(parts[1]) if len(parts) == 3 else None
        known = token.hash if token else bytes(32)
        return token if hmac.compare_digest(digest(secret), known) else None

    def of_session(self, secret: str) -> Principal | None:
        """Return who signed in for this session, if it and their token have not ended."""
        self._look()
        identifier, ends_seconds = self._sessions.get(digest(secret), ("", 0))
        token = self._tokens.get(identifier)
        if token is None or not _lasts(ends_seconds) or not _lasts(token.ends_seconds):
            return None
        return Principal(token.name, token.scope)

    async def sign_in(self, secret: str) -> str | None:
        """Begin a session with a token; return what its cookie holds, or nothing if the token is none."""
        self._look()
        token = self._named(secret)
        if token is None or not _lasts(token.ends_seconds):
            return None
        session = secrets.token_urlsafe(32)
        now = int(time.time())

        def write(connection: sqlite3.Connection) -> None:
            connection.execute("DELETE FROM sessions WHERE ends_seconds <= ?", (now,))
            connection.execute(
                "DELETE FROM sessions WHERE hash IN "
                "(SELECT hash FROM sessions ORDER BY ends_seconds DESC LIMIT -1 OFFSET ?)",
                (SESSIONS_MAX - 1,),
            )
            row = (digest(session), token.identifier, now + SESSION_SECONDS)
            connection.execute("INSERT INTO sessions (hash, token, ends_seconds) VALUES (?, ?, ?)", row)

        await self._state.run(write)
        self._looked = -math.inf
        return session

    async def sign_out(self, session: str) -> None:
        """End a session."""
        await self._state.run(
            lambda connection: connection.execute("DELETE FROM sessions WHERE hash = ?", (digest(session),))
        )
        self._looked = -math.inf

    def _look(self) -> None:
        """Read the file again, if it was not read just now and has changed."""
        now = time.monotonic()
        if now - self._looked < LOOK_SECONDS:
            return
        self._looked = now
        (version,) = self._connection.execute("PRAGMA data_version").fetchone()
        if version == self._version:
            return
        self._tokens = {token.identifier: token for token in _read(self._connection)}
        found = self._connection.execute("SELECT hash, token, ends_seconds FROM sessions")
        self._sessions = {row[0]: (row[1], row[2]) for row in found}
        self._version = version


def _lasts(ends_seconds: int | None) -> bool:
    return ends_seconds is None or time.time() < ends_seconds
