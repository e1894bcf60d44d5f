"""The page that lists what can be asked, drawn from the OpenAPI description: nothing is fetched for it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ullage.web.api.pages import shell_for
from ullage.web.http import Request
from ullage.web.pages.shell import draw

if TYPE_CHECKING:
    from ullage.web.server import Server


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


def page(server: "Server", request: Request, description: Mapping[str, Any]) -> bytes:
    """Return the page."""
    clusters = server.pool.clusters()
    shell = shell_for(server, request, clusters[0].name if clusters else "")
    return draw("api", shell, groups=_groups(description), version=description["info"]["version"])


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
