"""Jobs over HTTP: the handlers, on a pool of real processes."""

from types import SimpleNamespace

import msgspec
import pytest

from ullage.web.api.jobs import ROUTES, accepted
from ullage.web.http import Principal, Problem, Request
from ullage.web.jobs import Jobs
from ullage.web.served import Bounds
from ullage.web.work import Work
from web.pools import Served, until

WHO = Principal("anne", "read")
ONE = "/v1/jobs/{job}"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    running = Served(tmp_path_factory.mktemp("api"), [("demo", "demo")], Bounds(workers=1))
    running.run(running.pool.refresh("demo"))
    yield SimpleNamespace(pool=running.pool, jobs=Jobs(running.pool), run=running.run)
    running.close()


def asked(server, method, path, job="", who=WHO):
    (route,) = (each for each in ROUTES if (each.method, each.path) == (method, path))
    return server.run(route.handler(server, Request(method, path, {}, who, {"job": job})))


def told(response):
    return msgspec.json.decode(response.body)


def begun(server, work):
    async def begin():
        return server.jobs.begin("demo", work, WHO)

    return server.run(begin())


def test_a_job_is_followed_from_its_location_to_its_result(server):
    answer = accepted(begun(server, Work("question/status")))
    assert answer.status == 202
    location = dict(answer.headers)["location"]
    assert location == f"/v1/jobs/{told(answer)['id']}"
    assert (told(answer)["apiVersion"], told(answer)["kind"]) == ("ullage.dev/v1", "Job")
    job = location.rpartition("/")[2]
    server.run(until(lambda: server.jobs.state(job, WHO).state == "done"))
    stands = told(asked(server, "GET", ONE, job))
    assert (stands["apiVersion"], stands["kind"], stands["state"]) == ("ullage.dev/v1", "Job", "done")
    assert (stands["stepsDone"], stands["stepsTotal"], stands["stepsOf"]) == (0, 0, "")
    result = asked(server, "GET", f"{ONE}/result", job)
    assert (result.status, told(result)["kind"]) == (200, "StatusReport")
    assert dict(result.headers) == {"ullage-answer": "yes", "ullage-revision": "1"}
    listed = told(asked(server, "GET", "/v1/jobs"))
    assert (listed["kind"], [each["id"] for each in listed["items"]]) == ("JobList", [job])
    assert told(asked(server, "GET", "/v1/jobs", who=Principal("boris", "read")))["items"] == []
    assert asked(server, "DELETE", ONE, job).status == 204
    with pytest.raises(Problem) as refused:
        asked(server, "GET", ONE, job)
    assert refused.value.status == 404


def test_the_result_of_a_job_that_was_refused_is_its_problem(server):
    job = begun(server, Work("question/fit", {"shape": "bogus"})).id
    server.run(until(lambda: server.jobs.state(job, WHO).state == "failed"))
    result = asked(server, "GET", f"{ONE}/result", job)
    assert (result.status, result.content) == (422, "application/problem+json")
