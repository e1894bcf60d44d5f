"""What Prometheus asks for is answered as it reads it."""

import pytest

from ullage.render.metrics import CONTENT, Metrics
from ullage.web.api import metrics as module
from web.standing import told


@pytest.fixture
def run(tmp_path):
    return lambda story: told(tmp_path, module.ROUTES, story)


def test_figures_are_answered_as_prometheus_reads_them(run):
    async def story(client):
        client.metrics = Metrics()
        client.metrics.gauge("x", "X.", lambda: 3.0)
        answer = await client.ask("GET", "/metrics")
        assert (answer.status, answer.content) == (200, CONTENT)
        assert b"ullage_x 3.0" in answer.body

    run(story)
