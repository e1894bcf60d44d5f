"""The files that the web page fetches beside its HTML: style, scripts, icon; all from this package.

The name a browser asks for holds a digest of the content, so that it may keep the file for ever and never
sees an old one. Files of others are listed in static/vendored.json with their versions.
"""

from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple

from ullage.render.html import environment

STATIC: Final = Path(__file__).parent / "static"
STYLE: Final = "ullage.css"
ADDRESS: Final = "/static/"
_DIGEST_LETTERS: Final = 12
_CONTENTS: Final = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


class Asset(NamedTuple):
    """A file as it is served: the name that holds its digest, what it is, and its bytes."""

    served_name: str
    content: str
    data: bytes


@cache
def assets() -> Mapping[str, Asset]:
    """Return every asset by its plain name; the style is made of the templates that reports use too."""
    found = {STYLE: _asset(STYLE, environment().get_template("screen.css.jinja").render().encode())}
    for path in sorted(STATIC.iterdir()):
        if path.suffix in _CONTENTS:
            found[path.name] = _asset(path.name, path.read_bytes())
    return MappingProxyType(found)


@cache
def by_served_name() -> Mapping[str, Asset]:
    """Return every asset by the name that a browser asks for."""
    return MappingProxyType({each.served_name: each for each in assets().values()})


def asset_address(name: str) -> str:
    """Return where a browser finds an asset."""
    return ADDRESS + assets()[name].served_name


def _asset(name: str, data: bytes) -> Asset:
    stem, dot, ending = name.rpartition(".")
    digest = sha256(data).hexdigest()[:_DIGEST_LETTERS]
    return Asset(f"{stem}.{digest}.{ending}", _CONTENTS[dot + ending], data)
