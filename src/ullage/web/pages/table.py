"""Which function draws which page; each module is loaded when its page is first asked for."""

from collections.abc import Callable, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, cast

if TYPE_CHECKING:
    from ullage.service.asked import Asked

    View = Callable[[Asked, Mapping[str, str], bytes], bytes]

NAMES: Final = (
    *("overview", "nodes", "node", "what_if", "what_breaks"),
    *("quotas", "drives", "balance", "explain", "step", "usage"),
)


def _later(name: str) -> "View":
    def page(asked: "Asked", parameters: Mapping[str, str], body: bytes) -> bytes:
        return cast("bytes", import_module(f"ullage.web.pages.{name}").page(asked, parameters, body))

    return page


PAGES: "Final[Mapping[str, View]]" = MappingProxyType({name: _later(name) for name in NAMES})
