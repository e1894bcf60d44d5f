"""What surrounds every page: which cluster, who looks, which theme, where else to go; how pages are drawn.

The process that speaks HTTP knows these things and the one that holds the cluster draws the page, so they
travel as one JSON text among the parameters. This module knows no cluster: it is drawn with in both.
"""

import shlex
from collections.abc import Mapping
from typing import Any, Final, Literal
from urllib.parse import quote, urlencode

import msgspec

from ullage.render.html import environment
from ullage.render.html.assets import asset_address

Theme = Literal["", "light", "dark"]
PARAMETER: Final = "shell"
"""The parameter that holds the shell; nobody else can send one of that name."""
PAGES: Final = (
    ("Overview", "/", "o"),
    ("Nodes", "/nodes", "n"),
    ("What if", "/what-if", "w"),
    ("What breaks", "/what-breaks", "b"),
    ("Quotas", "/quotas", "q"),
    ("Drives", "/drives", "d"),
    ("Balance", "/balance", "a"),
    ("Usage", "/usage", "u"),
    ("History", "/history", "h"),
)
PATIENCE_SECONDS: Final = 320
_NEXT_THEME: Final[Mapping[Theme, tuple[str, str]]] = {
    "": ("light", "Theme: system"),
    "light": ("dark", "Theme: light"),
    "dark": ("system", "Theme: dark"),
}


class Shell(msgspec.Struct, frozen=True):
    """What every page knows beside its own answer; `back` is the address it was asked for by.

    `after` is the last event before it was drawn: whatever comes after that may be news to whoever looks.
    `origin` is how whoever looks reaches this server, such as http://127.0.0.1:8480.
    """

    cluster: str = ""
    clusters: tuple[str, ...] = ()
    revision: int = 0
    path: str = "/"
    back: str = "/"
    theme: Theme = ""
    csrf: str = ""
    who: str = ""
    scope: str = "read"
    can_leave: bool = False
    is_inside: bool = True
    after: str = ""
    origin: str = ""

    @property
    def patience_seconds(self) -> int:
        """How long a page waits for what it asks for: longer than the server takes to give up."""
        return PATIENCE_SECONDS

    @property
    def page(self) -> str:
        """The page of the menu that this one belongs to."""
        if self.path == "/":
            return "/"
        first = "/" + self.path.split("/")[1]
        first = "/history" if first == "/plans" else first
        return first if any(path == first for _, path, _ in PAGES) else ""

    @property
    def pages(self) -> tuple[tuple[str, str, str], ...]:
        """The menu: words, path, and the letter that leads there."""
        return PAGES

    @property
    def next_theme(self) -> str:
        """The theme that the switch goes to."""
        return _NEXT_THEME[self.theme][0]

    @property
    def theme_words(self) -> str:
        """What the switch says: how it is now."""
        return _NEXT_THEME[self.theme][1]

    @property
    def may_plan(self) -> bool:
        """Whether plans may be made."""
        return self.scope in {"plan", "commit"}

    @property
    def may_commit(self) -> bool:
        """Whether plans may be committed."""
        return self.scope == "commit"

    def address(self, path: str, /, *name: str, **query: str) -> str:
        """Return the address of a page about the same cluster, or about what has a name there."""
        path = "/".join((quote(path), *(quote(each, safe="") for each in name)))
        wanted = {name.rstrip("_"): value for name, value in query.items() if value}
        if len(self.clusters) > 1 and self.cluster:
            wanted["cluster"] = self.cluster
        return f"{path}?{urlencode(wanted)}" if wanted else path


def terminal(shell: Shell, words: str) -> str:
    """Return the command that answers the same in a terminal: it asks this server, wherever it reads from."""
    source = f"{shell.origin}/v1/clusters/{quote(shell.cluster, safe='')}"
    return f"ullage {words} -c {shlex.quote(source)}"


def shell_of(parameters: Mapping[str, str]) -> Shell:
    """Return the shell that came with a page's parameters."""
    return msgspec.json.decode(parameters.get(PARAMETER, "{}"), type=Shell)


def draw(template: str, shell: Shell, **values: Any) -> bytes:
    """Return a page of the web, as the bytes that are sent."""
    drawn = environment().get_template(f"screens/{template}.html.jinja")
    return drawn.render(shell=shell, asset=asset_address, **values).encode()
