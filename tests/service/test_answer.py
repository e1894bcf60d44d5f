"""Reports as JSON data."""

from builders import BUILT_IN_TYPES, resources
from ullage.model.constraints import Record
from ullage.model.resources import Resources
from ullage.service.answer import versioned


class Report(Record, frozen=True):
    spare_nodes: int
    free: Resources


def test_version_and_kind_come_first_and_amounts_are_quantities():
    data = versioned("Report", Report(0, resources(cpu="2500m", memory="40Mi")), BUILT_IN_TYPES)
    assert list(data.items()) == [
        ("apiVersion", "ullage.dev/v1"),
        ("kind", "Report"),
        ("spareNodes", 0),
        ("free", {"cpu": "2500m", "memory": "40Mi"}),
    ]
