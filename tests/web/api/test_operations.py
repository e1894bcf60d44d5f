"""Whether a server is well, and whether it is ready."""

import asyncio

from ullage.web.api.operations import ROUTES
from ullage.web.settings import Listed
from web_client import ask, running


def asked(folder, *paths, starts=False, **settings):
    async def work():
        async with running(folder, *ROUTES, **settings) as server:
            if starts:
                await server.server.pool.start()
            return [await ask(server.address, "GET", path) for path in paths]

    return asyncio.run(work())


def test_a_server_without_clusters_is_well_and_ready(tmp_path):
    well, ready = asked(tmp_path, "/health", "/ready")
    assert (well.status, well.data) == (200, {"status": "ok"})
    assert (ready.status, ready.data) == (200, {"status": "ok"})


def test_it_is_not_ready_before_its_clusters_are_read_but_well(tmp_path):
    clusters = (Listed("demo", "demo"),)
    well, ready = asked(tmp_path, "/health", "/ready", starts=True, clusters=clusters)
    assert well.status == 200
    assert (ready.status, ready.data["title"]) == (503, "not read yet: demo")
    assert ready.headers["retry-after"] == "1"
