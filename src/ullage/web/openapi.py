"""What can be asked, told to programs: OpenAPI 3.1, made from the table of routes and its records.

Nothing is written twice: names, defaults, bounds and descriptions are those of the records that read the
query and the body. Whatever is not answered is problem+json, on every path.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from ullage.model.quantity import INT64_MAX
from ullage.web.http import JSON, PROBLEM
from ullage.web.routes import Route, Routes, media_types
from ullage.web.schemas import Schemas

VERSION: Final = "3.1.0"
_VALUES: Final[Mapping[str, tuple[str, str]]] = {
    "cluster": ("The name of a cluster.", "^[a-z0-9](?:[a-z0-9._-]{0,61}[a-z0-9])?$"),
}


class ProblemDetails(msgspec.Struct):
    """Why something is not answered, as RFC 9457 has it; `title` is the line of the command line."""

    type: str
    title: str
    status: int
    detail: str = ""
    what: str = ""
    where: str = ""
    remedy: str = ""


def document(routes: Routes, version: str) -> dict[str, Any]:
    """Return the description of all routes that are for programs."""
    shown = [route for route in routes.all if is_shown(route)]
    schemas = Schemas()
    paths: dict[str, Any] = {}
    for route in shown:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, schemas)
    return {
        "openapi": VERSION,
        "info": {
            "title": "Ullage",
            "version": version,
            "description": "How much room a cluster has, who may use it, where things go and what breaks.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "schemas": dict(sorted(schemas.components.items())),
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "Made by `ullage token add`; on the same machine none is needed.",
                }
            },
        },
    }


def is_shown(route: Route) -> bool:
    """Whether a route is for programs: pages, their forms and what browsers fetch for them are not."""
    return route.path.startswith("/v1/") or route.path == "/metrics" or set(route.media) <= {JSON}


def _operation(route: Route, schemas: Schemas) -> dict[str, Any]:
    parameters = [_value(name) for name in _names(route.path)]
    if route.parameters is not None:
        parameters += _query(route.parameters, schemas)
    parameters += [
        {"name": name, "in": "header", "description": told, "schema": {"type": "string"}}
        for name, told in route.headers.items()
    ]
    found: dict[str, Any] = {
        "operationId": operation_name(route),
        "summary": route.summary,
        "tags": [tag(route)],
        "responses": _answers(route, schemas),
    }
    if parameters:
        found["parameters"] = parameters
    if route.body is not None:
        found["requestBody"] = _body(route, schemas)
    if route.scope is not None:
        found["security"] = [{"token": []}, {}]
        found["x-ullage-scope"] = route.scope
    return found


def _names(path: str) -> list[str]:
    return [each[1:-1] for each in path.split("/") if each.startswith("{")]


def _value(name: str) -> dict[str, Any]:
    described, pattern = _VALUES.get(name, (f"The {name} that is meant.", ""))
    schema = {"type": "string", "minLength": 1, **({"pattern": pattern} if pattern else {})}
    return {"name": name, "in": "path", "required": True, "description": described, "schema": schema}


def _query(record: type, schemas: Schemas) -> list[dict[str, Any]]:
    """Return the parameters of a query; the record itself is no component."""
    apart = Schemas()
    fields = apart.fields(record)
    required = apart.components[record.__name__].get("required", ())
    for name, part in apart.components.items():
        if name != record.__name__:
            schemas.components.setdefault(name, part)
    return [_query_field(name, dict(told), is_required=name in required) for name, told in fields.items()]


def _query_field(name: str, schema: dict[str, Any], *, is_required: bool) -> dict[str, Any]:
    """Return one parameter; where nothing may be given, it is left out, and there is no word for nothing."""
    described = schema.pop("description", "")
    if schema.get("default", "") is None:
        del schema["default"]
    choices = [each for each in schema.get("anyOf", ()) if each != {"type": "null"}]
    if choices:
        del schema["anyOf"]
        schema = {**choices[0], **schema} if len(choices) == 1 else {**schema, "anyOf": choices}
    if None in schema.get("enum", ()):
        schema["enum"] = [each for each in schema["enum"] if each is not None]
    if schema.get("type") == "integer":
        schema = {"minimum": -INT64_MAX, "maximum": INT64_MAX, **schema}
    field: dict[str, Any] = {"name": name, "in": "query", "schema": schema}
    if described:
        field["description"] = described
    return {**field, "required": True} if is_required else field


def _body(route: Route, schemas: Schemas) -> dict[str, Any]:
    if isinstance(route.body, type):
        return {"required": True, "content": {JSON: {"schema": schemas.of(route.body)}}}
    kinds = [each.strip() for each in str(route.body).split(",")]
    content: dict[str, Any] = {"content": {kind: {"schema": {}} for kind in kinds}}
    return {"required": True, **content} if route.method == "PUT" else content


def _answers(route: Route, schemas: Schemas) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for status, what in route.answers.items():
        if isinstance(what, type):
            media = PROBLEM if status >= 400 else JSON
            found[str(status)] = _answer(status, {media: {"schema": schemas.of(what)}})
        elif what:
            kinds = {
                each: {"schema": {} if _is_json(each) else {"type": "string"}} for each in media_types(what)
            }
            found[str(status)] = _answer(status, kinds)
        else:
            found[str(status)] = _answer(status, {})
    if any(name.lower() == "if-none-match" for name in route.headers) and route.method == "GET":
        found["304"] = _answer(304, {})
    found["default"] = {
        "description": "Why it is not answered.",
        "content": {PROBLEM: {"schema": schemas.of(ProblemDetails)}},
    }
    return found


def _is_json(media: str) -> bool:
    return media == JSON or media.endswith("+json")


def _answer(status: int, content: dict[str, Any]) -> dict[str, Any]:
    from http import HTTPStatus

    described = {"description": HTTPStatus(status).phrase}
    return {**described, "content": content} if content else described


def tag(route: Route) -> str:
    """Return the subject that a route belongs to."""
    segments = [each for each in route.path.split("/") if each and not each.startswith("{") and each != "v1"]
    if not route.path.startswith("/v1/"):
        return "operations"
    return segments[1] if segments[0] == "clusters" and len(segments) > 1 else segments[0]


def operation_name(route: Route) -> str:
    """Return the name of an operation, which no other has: getClustersByClusterStatus."""
    words = [route.method.lower()]
    for segment in route.path.split("/"):
        if segment.startswith("{"):
            words += ["by", segment[1:-1]]
        elif segment and segment != "v1":
            words += segment.replace(".", "-").split("-")
    return words[0] + "".join(word[:1].upper() + word[1:] for word in words[1:])
