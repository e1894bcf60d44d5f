"""What is shown is what Prometheus reads: by its own parser."""

from prometheus_client.parser import text_string_to_metric_families

from ullage.render.metrics import Metrics


def read(metrics: Metrics) -> dict[str, object]:
    return {family.name: family for family in text_string_to_metric_families(metrics.exposition().decode())}


def values(family) -> dict[tuple, float]:
    return {(sample.name, *sample.labels.values()): sample.value for sample in family.samples}


def test_figures_are_read_when_somebody_asks():
    metrics, figures = Metrics(), {"count": 1, "rooms": {("east", "cpu"): 1.5}}
    metrics.counter("writes", "What was written.", lambda: figures["count"])
    metrics.gauge("room", "What is free.", lambda: figures["rooms"], ("group", "resource"))
    metrics.gauge("leads", "Whether it leads.", lambda: 1.0)
    seen = read(metrics)
    assert seen["ullage_writes"].type == "counter"
    assert values(seen["ullage_writes"]) == {("ullage_writes_total",): 1}
    assert values(seen["ullage_room"]) == {("ullage_room", "east", "cpu"): 1.5}
    assert seen["ullage_room"].samples[0].labels == {"group": "east", "resource": "cpu"}
    assert values(seen["ullage_leads"]) == {("ullage_leads",): 1}
    figures["count"], figures["rooms"] = 7, {('a "b"\n\\', "memory"): 2.0}
    seen = read(metrics)
    assert values(seen["ullage_writes"]) == {("ullage_writes_total",): 7}
    assert values(seen["ullage_room"]) == {("ullage_room", 'a "b"\n\\', "memory"): 2}
    figures["rooms"] = {}
    assert values(read(metrics)["ullage_room"]) == {}


def test_what_only_grows_may_be_counted_by_labels():
    metrics = Metrics()
    metrics.counter("answers", "Answers.", lambda: {("GET", "200"): 3.0}, ("method", "status"))
    seen = read(metrics)["ullage_answers"]
    assert (seen.type, values(seen)) == ("counter", {("ullage_answers_total", "GET", "200"): 3})


def test_seconds_are_counted_in_buckets():
    metrics = Metrics()
    metrics.seconds("cycle", "How long a cycle takes.").observe(0.003)
    found = values(read(metrics)["ullage_cycle_seconds"])
    assert found["ullage_cycle_seconds_count",] == 1
    assert found["ullage_cycle_seconds_sum",] == 0.003
    assert (
        found["ullage_cycle_seconds_bucket", "0.0025"],
        found["ullage_cycle_seconds_bucket", "0.005"],
    ) == (0, 1)


def test_what_the_process_uses_is_shown_under_our_name():
    metrics = Metrics()
    metrics.process()
    seen = read(metrics)
    assert values(seen["ullage_process_resident_memory_bytes"])["ullage_process_resident_memory_bytes",] > 0
    assert values(seen["ullage_process_start_time_seconds"])["ullage_process_start_time_seconds",] > 0
