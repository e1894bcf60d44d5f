"""What is asked over HTTP and what is answered, apart from how either travels.

A handler gets a Request that was let in already (who asks may ask that, the body is whole and within bounds)
and returns a Response, or raises a Problem, which becomes application/problem+json.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

import msgspec

JSON: Final = "application/json"
HTML: Final = "text/html; charset=utf-8"
PROBLEM: Final = "application/problem+json"
Scope = Literal["read", "plan", "commit"]
"""What somebody may do: look, make plans, or commit them; who may do more may do less too."""
SCOPES: Final[tuple[Scope, ...]] = ("read", "plan", "commit")


class Principal(NamedTuple):
    """Who asks: the name of a token, or the one who sits at this machine, and how far they may go."""

    name: str
    scope: Scope


class Request(NamedTuple):
    """What is asked; `values` are the parts of the path that its route names."""

    method: str
    path: str
    headers: Mapping[str, str]
    who: Principal
    values: Mapping[str, str] = {}
    query: Sequence[tuple[str, str]] = ()
    body: bytes = b""


class Response(NamedTuple):
    """An answer in one piece."""

    status: int = 200
    body: bytes = b""
    content: str = JSON
    headers: tuple[tuple[str, str], ...] = ()


class Streamed(NamedTuple):
    """An answer without an end, in parts as they come, to a client."""

    parts: AsyncIterator[bytes]
    content: str
    headers: tuple[tuple[str, str], ...] = ()
    client: str = ""


class Problem(Exception):  # noqa: N818 - the word of RFC 9457
    """Why something is not answered: a status, one line, and what a program may want to know besides."""

    def __init__(self, status: int, title: str, detail: str = "", /, **members: Any) -> None:
        super().__init__(title)
        self.status = status
        self.title = title
        self.detail = detail
        self.members = members

    def response(self) -> Response:
        """Return the problem as it is answered."""
        told = {"type": "about:blank", "title": self.title, "status": self.status}
        if self.detail:
            told["detail"] = self.detail
        return Response(self.status, msgspec.json.encode({**told, **self.members}), PROBLEM)
