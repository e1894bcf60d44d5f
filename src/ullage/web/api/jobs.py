"""Jobs over HTTP: how one stands, its result, and its end.

One is begun by any question with the header `Prefer: respond-async`; `accepted` is the answer to that.
"""

from typing import TYPE_CHECKING, Final, Literal

import msgspec

from ullage.model.wire import API_VERSION
from ullage.web.api.ledger import versioned
from ullage.web.http import JSON, Request, Response
from ullage.web.jobs import JobState
from ullage.web.routes import Route

if TYPE_CHECKING:
    from ullage.web.server import Server


JOB: Final = "Job"


class JobList(msgspec.Struct, frozen=True, rename="camel"):
    """The jobs of who asks, newest first."""

    items: tuple[JobState, ...]
    api_version: str = API_VERSION
    kind: Literal["JobList"] = "JobList"


def accepted(state: JobState) -> Response:
    """Return the answer to a question that has become a job."""
    headers = (("location", f"/v1/jobs/{state.id}"), ("preference-applied", "respond-async"))
    return Response(202, versioned(JOB, state), headers=headers)


async def jobs(server: "Server", request: Request) -> Response:
    """Answer the jobs of who asks."""
    return Response(body=msgspec.json.encode(JobList(tuple(server.jobs.all(request.who)))))


async def job(server: "Server", request: Request) -> Response:
    """Answer how a job stands."""
    return Response(body=versioned(JOB, server.jobs.state(request.values["job"], request.who)))


async def result(server: "Server", request: Request) -> Response:
    """Answer what the question of a job would have been answered with."""
    done = server.jobs.result(request.values["job"], request.who)
    told = (("ullage-answer", "yes" if done.yes else "no"), ("ullage-revision", str(done.revision)))
    return Response(done.status, done.body, done.content, told if done.status < 400 else ())


async def cancel(server: "Server", request: Request) -> Response:
    """Cancel a job, or forget a finished one."""
    await server.jobs.cancel(request.values["job"], request.who)
    return Response(204)


_PATH: Final = "/v1/jobs/{job}"
ROUTES: Final = (
    Route("GET", "/v1/jobs", jobs, "read", "Your jobs, newest first", answers={200: JobList}),
    Route("GET", _PATH, job, "read", "How a job stands", answers={200: JobState}),
    Route("GET", f"{_PATH}/result", result, "read", "What came of a job", answers={200: JSON}),
    Route("DELETE", _PATH, cancel, "read", "Cancel a job, or forget a finished one", answers={204: ""}),
)
