"""Plans as pages: kept from an answer, looked at, committed or discarded by a form.

A form leads back to the page of the plan, which says what came of it: loading that again does nothing twice.
"""

from typing import TYPE_CHECKING, Any, Final

from ullage.model.errors import InputError
from ullage.web.api.ledger import refusal
from ullage.web.api.pages import FORM_BYTES_MAX, chosen_cluster, refused, shell_for
from ullage.web.forms import FORM, form_fields
from ullage.web.http import HTML, Problem, Request, Response
from ullage.web.pages.plain_words import in_plain_words
from ullage.web.pages.plan import plan_page
from ullage.web.problems import of_input
from ullage.web.routes import Route

if TYPE_CHECKING:
    from ullage.web.server import Server

_DONE: Final = {
    "committed": ("It is committed: the ledger holds the room.", "ok"),
    "discarded": ("It is discarded.", ""),
}
"""What is said once something was done, and how that sounds."""


async def make(server: "Server", request: Request) -> Response:
    """Keep what was asked as a plan."""
    fields = form_fields(request.headers, request.body)
    manifest = fields.get("manifest", "").encode()
    parameters: dict[str, Any] = {"namespace": fields["namespace"]} if fields.get("namespace") else {}
    if fields.get("replicas", "").isdecimal():
        parameters["replicas"] = int(fields["replicas"][:9])
    if fields.get("atomic"):
        parameters["atomic"] = True
    shell = shell_for(server, request)
    try:
        shell = shell_for(server, request, chosen_cluster(server, request))
        kept = await server.plans.make(shell.cluster, parameters, manifest, request.who)
    except Problem as problem:
        return refused(shell, problem, request)
    return _elsewhere(server, request, shell.cluster, kept.told.id)


async def show(server: "Server", request: Request) -> Response:
    """Return the page of a plan."""
    done = dict(request.query).get("done", "")
    return await _shown(server, request, done=done)


async def commit(server: "Server", request: Request) -> Response:
    """Hold what a plan has a place for, or say why that cannot be."""
    try:
        cluster = chosen_cluster(server, request)
        done = await server.plans.commit(cluster, request.values["plan"], request.who)
        if not done.outcome.decision.accepted:
            raise refusal(done.outcome)
    except InputError as error:
        return await _shown(server, request, of_input(error))
    except Problem as problem:
        return await _shown(server, request, problem)
    return _elsewhere(server, request, cluster, request.values["plan"], done="committed")


async def discard(server: "Server", request: Request) -> Response:
    """Give up a plan."""
    try:
        cluster = chosen_cluster(server, request)
        await server.plans.discard(cluster, request.values["plan"], request.who.name)
    except InputError as error:
        return await _shown(server, request, of_input(error))
    except Problem as problem:
        return await _shown(server, request, problem)
    return _elsewhere(server, request, cluster, request.values["plan"], done="discarded")


async def _shown(
    server: "Server", request: Request, problem: Problem | None = None, *, done: str = ""
) -> Response:
    """Return the page of a plan, with why something was not done, or what was."""
    shell = shell_for(server, request)
    try:
        shell = shell_for(server, request, chosen_cluster(server, request))
        kept = await server.plans.get(shell.cluster, request.values["plan"])
    except Problem as missing:
        return refused(shell, missing)
    if problem is not None:
        why = map(in_plain_words, filter(None, (problem.title, problem.detail)))
        told = "; ".join(("It was not done", *why))
        return Response(problem.status, plan_page(shell, kept, told, "bad"), HTML)
    words, tone = _DONE.get(done, ("", "")) if done == kept.told.state else ("", "")
    return Response(200, plan_page(shell, kept, words, tone), HTML)


def _elsewhere(server: "Server", request: Request, cluster: str, plan: str, done: str = "") -> Response:
    path = shell_for(server, request, cluster).address(f"/plans/{plan}", done=done)
    return Response(303, content=HTML, headers=(("location", path),))


_ANSWERS: Final = {200: HTML, 303: ""}
ROUTES: Final = (
    Route("GET", "/plans/{plan}", show, "read", "The page: a plan.", answers={200: HTML}, in_turns=True),
    Route(
        "POST",
        "/plans",
        make,
        "plan",
        "The page: keep a plan.",
        body=FORM,
        answers=_ANSWERS,
        body_bytes_max=FORM_BYTES_MAX,
    ),
    Route("POST", "/plans/{plan}/commit", commit, "commit", "The page: commit.", body=FORM, answers=_ANSWERS),
    Route(
        "POST", "/plans/{plan}/discard", discard, "plan", "The page: discard.", body=FORM, answers=_ANSWERS
    ),
)
