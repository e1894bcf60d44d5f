"""Every question of the command line over HTTP, from the one table of them: the same JSON, byte for byte.

Options are the query, files are the body. An answer of "no" is an answer: the header Ullage-Answer tells it,
as the exit code does on a command line. `Prefer: respond-async` makes a job of any question.
"""

from collections.abc import Awaitable, Callable
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final

import msgspec

from ullage.service.question_parts import CLUSTER
from ullage.service.questions import QUESTIONS, Question
from ullage.web.api.jobs import accepted
from ullage.web.http import JSON, Request, Response
from ullage.web.jobs import JobState
from ullage.web.parameters import query_of
from ullage.web.routes import Route
from ullage.web.work import Work

if TYPE_CHECKING:
    from ullage.web.server import Server

SECONDS_MAX: Final = 30.0
BODY_BYTES_MAX: Final = 32 << 20
CLUSTER_BYTES_MAX: Final = 256 << 20
MEDIA: Final = (
    "application/yaml, application/json, application/x-yaml, text/yaml, text/csv, application/octet-stream"
)
_PATH: Final = "/v1/clusters/{cluster}/"
_HEADERS: Final = {"Prefer": "respond-async: answer with a job at once."}
_KNOWN: Final = {"If-None-Match": "The ETag of an answer; 304 where it is still the same."}


class Report(msgspec.Struct, rename="camel"):
    """What `-o json` prints: a version, a kind, and what is in it."""

    api_version: str
    kind: str


def _answering(question: Question) -> "Callable[[Server, Request], Awaitable[Response]]":
    async def answer(server: "Server", request: Request) -> Response:
        cluster = request.values["cluster"]
        parameters: dict[str, Any] = msgspec.to_builtins(query_of(question.parameters, request))
        server.pool.revision(cluster)
        place, observed = server.ledgers.place(cluster), server.ledgers.observed(cluster)
        work = Work(f"question/{question.name}", parameters, request.body, place, observed)
        if wants_job(request):
            return accepted(server.jobs.begin(cluster, work, request.who))
        done = await server.pool.ask(cluster, work, seconds_max=SECONDS_MAX, client=request.who.name)
        if done.status != 200:
            return Response(done.status, done.body, done.content)
        digest = blake2b(done.body, digest_size=8).hexdigest()
        headers = (
            ("etag", f'"{done.revision}-{digest}"'),
            ("ullage-answer", "yes" if done.yes else "no"),
            ("ullage-revision", str(done.revision)),
        )
        return Response(body=done.body, content=done.content, headers=headers)

    return answer


def wants_job(request: Request) -> bool:
    """Whether somebody would rather not wait for the answer."""
    wishes = request.headers.get("prefer", "").lower()
    return any(each.strip().partition(";")[0] == "respond-async" for each in wishes.split(","))


def _routes(question: Question) -> list[Route]:
    handler = _answering(question)
    answers = {200: JSON if question.name == "schema" else Report, 202: JobState}
    path = f"{_PATH}{question.name}"
    route = Route(
        "GET",
        path,
        handler,
        "read",
        f"{question.summary}.",
        question.parameters,
        answers=answers,
        headers={**_HEADERS, **_KNOWN},
    )
    if not question.takes_body:
        return [route]
    size = CLUSTER_BYTES_MAX if CLUSTER in question.takes else BODY_BYTES_MAX
    summary = f"{question.summary}, with what is sent along ({', '.join(_words(question))})."
    sent = route._replace(method="POST", summary=summary, body=MEDIA, body_bytes_max=size, headers=_HEADERS)
    return [route, sent]


def _words(question: Question) -> list[str]:
    return [_WORDS.get(each, each) for each in question.takes]


_WORDS: Final = {"-": "workloads", CLUSTER: "another cluster"}
ROUTES: Final = tuple(route for question in QUESTIONS.values() for route in _routes(question))
