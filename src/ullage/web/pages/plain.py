"""Pages that need no cluster: signing in, and what went wrong. They are drawn where HTTP is spoken."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from ullage.web.pages.plain_words import in_plain_words
from ullage.web.pages.shell import Shell, draw
from ullage.web.security import FORGERY_FIELD

NO_FIELDS: Final[Mapping[str, str]] = MappingProxyType({})

_HEADINGS: Final = {
    401: "Not signed in",
    403: "Not allowed",
    404: "Not found",
    409: "Refused",
    412: "It has moved",
    422: "It cannot be answered",
    503: "Not ready",
    504: "It takes too long",
}
_DETAILS: Final = {
    401: "sign in again, and come back",
    504: "ask about less at a time; the same question in a terminal may take as long as it needs",
}
"""What to do, in the words of a page, where programs are told something else."""
_LATER: Final = frozenset((429, 503, 504))
"""What may well be answered if it is asked again."""


def login(shell: Shell, wanted: str, *, failed: bool) -> bytes:
    """Return the page on which somebody signs in, and then goes on to where they wanted to go."""
    return draw("login", shell, next=wanted, failed=failed)


def problem(
    shell: Shell, status: int, title: str, detail: str = "", fields: Mapping[str, str] = NO_FIELDS
) -> bytes:
    """Return the page that says why there is no other, and what to do; a form can be sent again as it was."""
    heading = _HEADINGS.get(status, "It did not work")
    told = _DETAILS.get(status) or in_plain_words(detail)
    again = status in _LATER
    sent = {name: value for name, value in fields.items() if name != FORGERY_FIELD}
    return draw(
        "problem",
        shell,
        heading=heading,
        title=in_plain_words(title),
        detail=told,
        again=again,
        is_form=bool(fields),
        fields=sent,
    )
