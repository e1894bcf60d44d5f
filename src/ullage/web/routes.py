"""Which handler answers which path: one table, compiled once, looked up without regular expressions.

A path is a literal one, found at once in a dictionary, or has parts in braces, found segment by segment;
where both would do the literal one counts. A value may hold an encoded slash: paths are split before they are
decoded.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import unquote

from ullage.web.http import JSON, Request, Response, Scope, Streamed

if TYPE_CHECKING:
    from ullage.web.server import Server

    Handler = Callable[[Server, Request], Awaitable[Response | Streamed]]
else:
    Handler = Callable[..., Any]

BODY_BYTES_MAX: Final = 1 << 20
SEGMENTS_MAX: Final = 16
VALUE_CHARACTERS_MAX: Final = 512
FOUND_MAX: Final = 4096
_OK: Final = MappingProxyType({200: JSON})
_NONE: Final = MappingProxyType[str, str]({})


class Route(NamedTuple):
    """What is asked under a path, by whom it may be asked, and what comes and goes there.

    `scope` None is for everybody. `parameters` is the record of the query. `body` is a record, which comes as
    JSON, or the media types that are taken, with commas between them. An answer is a record (as JSON),
    media types with commas between them, or nothing (""). `headers` are those that a program may send, with
    what they mean. Where files are read for it, clients have their turns.
    """

    method: str
    path: str
    handler: Handler
    scope: Scope | None
    summary: str
    parameters: type | None = None
    body: type | str | None = None
    answers: Mapping[int, Any] = _OK
    body_bytes_max: int = BODY_BYTES_MAX
    headers: Mapping[str, str] = _NONE
    in_turns: bool = False

    @property
    def media(self) -> tuple[str, ...]:
        """The media types of what is answered when all goes well; none where that is nothing."""
        return media_types(next((what for status, what in self.answers.items() if status < 300), JSON))


def media_types(answer: Any) -> tuple[str, ...]:
    """Return the media types of an answer, without parameters."""
    kinds = answer.split(",") if isinstance(answer, str) else [JSON]
    return tuple(each.partition(";")[0].strip() for each in kinds if each)


Methods = dict[str, Route]


class Found(NamedTuple):
    """The routes of a path by method, and the values of the parts that they name."""

    methods: Methods
    values: Mapping[str, str]


class _Step:
    """What may follow after some segments of a path."""

    def __init__(self) -> None:
        self.literal: dict[str, _Step] = {}
        self.named: _Step | None = None
        self.names: tuple[str, ...] = ()
        self.methods: Methods = {}


class Routes:
    """All routes of a server."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self.all = tuple(routes)
        self._literal: dict[str, Found] = {}
        self._root = _Step()
        self._found: dict[str, Found] = {}
        """Paths that were asked for before: most are asked for again."""
        for route in self.all:
            self._add(route)

    def _add(self, route: Route) -> None:
        segments = route.path.split("/")[1:]
        if not route.path.startswith("/") or len(segments) > SEGMENTS_MAX:
            raise ValueError(f"{route.path!r} is no path of a route")
        names = tuple(each[1:-1] for each in segments if each.startswith("{"))
        if names:
            step = self._root
            for segment in segments:
                if segment.startswith("{"):
                    step.named = step.named or _Step()
                    step = step.named
                else:
                    step = step.literal.setdefault(segment, _Step())
            step.names = step.names or names
            methods, known = step.methods, step.names
        else:
            methods, known = self._literal.setdefault(route.path, Found({}, _NONE)).methods, ()
        if route.method in methods or names != known:
            raise ValueError(f"{route.method} {route.path} is in the table twice, or under other names")
        methods[route.method] = route

    def find(self, path: str) -> Found | None:
        """Return what a path, as it was sent, leads to."""
        found = self._literal.get(path) or self._found.get(path)
        if found is None:
            found = self._search(path)
            if found is not None:
                if len(self._found) >= FOUND_MAX:
                    self._found.clear()
                self._found[path] = found
        return found

    def _search(self, path: str) -> Found | None:
        segments = path.split("/", SEGMENTS_MAX + 1)[1:]
        if not segments or len(segments) > SEGMENTS_MAX:
            return None
        if "%" in path:
            segments = [unquote(each) for each in segments]
        values: list[str] = []
        step = _walk(self._root, segments, 0, values)
        if step is None:
            literal = "/" + "/".join(segments)
            return self._literal.get(literal) if "%" in path else None
        return Found(step.methods, dict(zip(step.names, values, strict=True)))


def _walk(step: _Step, segments: list[str], place: int, values: list[str]) -> _Step | None:
    """Return the step at which these segments end; `values` then has those of the named ones."""
    if place == len(segments):
        return step if step.methods else None
    segment = segments[place]
    following = step.literal.get(segment)
    if following is not None:
        found = _walk(following, segments, place + 1, values)
        if found is not None:
            return found
    if step.named is None or not _is_value(segment):
        return None
    values.append(segment)
    found = _walk(step.named, segments, place + 1, values)
    if found is None:
        values.pop()
    return found


def _is_value(segment: str) -> bool:
    return 0 < len(segment) <= VALUE_CHARACTERS_MAX and segment.isprintable()


def allowed(methods: Methods) -> str:
    """Return the methods that a path answers, as the header Allow has them."""
    names = {*methods, "OPTIONS"} | ({"HEAD"} if "GET" in methods else set())
    return ", ".join(sorted(names))
