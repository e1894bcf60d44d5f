"""What a process on Kubernetes answers to Prometheus: all of its figures, as it reads them."""

import asyncio

from prometheus_client.parser import text_string_to_metric_families

from ullage.kube.metrics import Metrics


def test_figures_are_answered_as_prometheus_reads_them():
    metrics = Metrics()
    metrics.gauge("leads", "Whether it leads.", lambda: 1.0)
    response = asyncio.run(metrics.answer(b""))
    assert (response.status, response.content) == (200, "text/plain; version=0.0.4; charset=utf-8")
    (family,) = text_string_to_metric_families(response.data.decode())
    assert [(sample.name, sample.value) for sample in family.samples] == [("ullage_leads", 1)]
