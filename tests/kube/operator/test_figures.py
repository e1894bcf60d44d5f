"""What Prometheus is shown is in whole units, and goes when its quota or group goes."""

import asyncio

from prometheus_client.parser import text_string_to_metric_families

from builders import cluster, node, pod, quota, resources
from ullage.engine.capacity.summary import summarise_groups
from ullage.engine.columns import Columns
from ullage.engine.quota.following import FollowedQuotas
from ullage.kube.metrics import Metrics
from ullage.kube.operator.figures import Looks, show_groups, show_quotas, show_work
from ullage.model.resources import ResourceTypes


class Kept:
    """Figures of keepers as they are read."""

    labels_written, written, failures = 3, 4, 5

    def __init__(self, columns: Columns) -> None:
        self.figures = FollowedQuotas(columns).figures()
        self._summaries = summarise_groups(columns)

    def summaries(self):
        return self._summaries

    def over_committed(self):
        return {"east": 1}


def columns() -> Columns:
    east = node("n1", cpu="4", memory="8Gi").in_group("east").holding(pod("a/p", cpu="2500m", memory="1Gi"))
    return Columns(cluster(east, quota("a", {"cpu": "2", "memory": "2Gi"})))


def shown(metrics: Metrics) -> dict[tuple, float]:
    text = asyncio.run(metrics.answer(b"")).data.decode()
    return {
        (sample.name.removeprefix("ullage_"), *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_quotas_and_groups_are_shown_in_whole_units():
    metrics, kept = Metrics(), Kept(columns())
    show_quotas(metrics, kept, ResourceTypes())
    show_groups(metrics, kept, ResourceTypes())
    found = shown(metrics)
    assert found["quota_used", "a", "cpu"] == 2.5
    assert found["quota_min", "a", "memory"] == 2 << 30
    assert found["quota_borrowed", "a", "cpu"] == 0.5
    assert found["quota_entitlement", "a", "cpu"] == 2.5
    assert found["group_free", "east", "cpu"] == found["group_ullage", "east", "cpu"] == 1.5
    assert found["group_spare", "east", "memory"] == 0
    assert found["group_limit", "east", "cpu"] == found["group_allocatable", "east", "cpu"] == 4
    assert found["group_committed", "east", "memory"] == 1 << 30
    assert (found["group_nodes", "east"], found["group_nodes_over_committed", "east"]) == (1, 1)
    kept.figures, kept._summaries = [], []
    assert set(shown(metrics)) == {("group_nodes_over_committed", "east")}


def test_amounts_of_types_of_ones_own_are_in_whole_units_too():
    from ullage.model.resources import ResourceType

    types = ResourceTypes([ResourceType("example.com/licences", internal_scale_exponent=3)])
    metrics, kept = Metrics(), Kept(columns())
    kept.figures = [kept.figures[0]._replace(used=resources({"example.com/licences": "1500m"}, types))]
    show_quotas(metrics, kept, types)
    assert shown(metrics)["quota_used", "a", "example.com/licences"] == 1.5


def test_work_is_counted():
    metrics, kept, looks = Metrics(), Kept(columns()), Looks()
    show_work(metrics, kept, kept, kept, looks)
    found = shown(metrics)
    assert found["labels_written_total",] == 3
    assert found["statuses_written_total",] == 4
    assert found["write_failures_total",] == 5
    assert found["last_success_timestamp_seconds",] == 0
    looks.succeeded()
    assert shown(metrics)["last_success_timestamp_seconds",] > 1_700_000_000
