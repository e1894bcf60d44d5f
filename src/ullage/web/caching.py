"""Entity tags: what an answer depends on, so that nobody is told again what they know.

A tag names this run of the server too: revisions are counted anew by the next one.
"""

import secrets
from typing import Final

RUN: Final = secrets.token_hex(4)
TAG_CHARACTERS_MAX: Final = 4096


def tag(*parts: object) -> str:
    """Return the tag of what depends on these revisions, of this run of the server."""
    return f'"{RUN}-{"-".join(str(each) for each in parts)}"'


def is_known(header: str, current: str) -> bool:
    """Whether an If-None-Match names what is current; a weak tag is as good as a strong one there."""
    if not header or len(header) > TAG_CHARACTERS_MAX:
        return False
    if header.strip() == "*":
        return True
    wanted = current.removeprefix("W/")
    return any(each.strip().removeprefix("W/") == wanted for each in header.split(","))
