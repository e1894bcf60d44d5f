"""The page that lists what can be asked, drawn from the OpenAPI description: nothing is fetched for it.

It is long, anybody may ask for it, and it is drawn where HTTP is spoken: so what is the same for all is drawn
once, and what surrounds it is kept for those who ask again.
"""

from collections.abc import Mapping
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ullage.web.api.operations import description
from ullage.web.pages.shell import Shell, draw

if TYPE_CHECKING:
    from markupsafe import Markup

PAGES_KEPT: Final = 32


class Field(NamedTuple):
    """One thing that can be given with a request."""

    name: str
    place: str
    kind: str
    default: str
    told: str


class Shown(NamedTuple):
    """One operation as it is shown."""

    name: str
    method: str
    path: str
    summary: str
    scope: str
    fields: tuple[Field, ...]
    bodies: tuple[str, ...]
    answers: tuple[tuple[str, str], ...]


@lru_cache(PAGES_KEPT)
def page(shell: Shell) -> bytes:
    """Return the page for whoever asks."""
    return draw("api", shell, operations=_operations(), version=description()["info"]["version"])


@cache
def _operations() -> "Markup":
    """Return the list of all that can be asked, which is the same for everybody."""
    from markupsafe import Markup

    drawn = draw("operations", Shell(), groups=_groups(description())).decode()
    return Markup(drawn)  # noqa: S704 - a template has drawn it, and it has escaped what it was given


def _groups(description: Mapping[str, Any]) -> list[tuple[str, list[Shown]]]:
    """Return the operations by subject, in the order of the table."""
    found: dict[str, list[Shown]] = {}
    for path, methods in description["paths"].items():
        for method, operation in methods.items():
            found.setdefault(operation["tags"][0], []).append(_shown(method, path, operation))
    return list(found.items())


def _shown(method: str, path: str, operation: Mapping[str, Any]) -> Shown:
    fields = tuple(
        Field(
            each["name"],
            each["in"],
            _kind(each["schema"]),
            str(each["schema"].get("default", "")),
            each.get("description", ""),
        )
        for each in operation.get("parameters", ())
    )
    answers = tuple(
        (status, ", ".join(told.get("content", {}))) for status, told in operation["responses"].items()
    )
    return Shown(
        operation["operationId"],
        method.upper(),
        path,
        operation["summary"],
        operation.get("x-ullage-scope", ""),
        fields,
        tuple(operation.get("requestBody", {}).get("content", ())),
        answers,
    )


def _kind(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return " | ".join(str(each) for each in schema["enum"])
    if "anyOf" in schema:
        return " | ".join(_kind(each) for each in schema["anyOf"])
    if schema.get("type") == "array":
        return f"{_kind(schema.get('items', {}))}, may be repeated"
    return str(schema.get("type", "anything"))
