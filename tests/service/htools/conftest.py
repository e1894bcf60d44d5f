"""A small cluster in Ganeti's text format, whose parts a test may change."""

from collections.abc import Callable
from pathlib import Path

import pytest

NODES = (
    "node1.example.com|4096|256|2048|102400|61440|8|M|uuid-1|1",
    "node2.example.com|4096|256|3328|102400|81920|8|N|uuid-1|1",
    "node3.example.com|4096|256|3840|102400|102400|8|N|uuid-1|1",
)
INSTANCES = (
    "web.example.com|1024|20480|1|running|Y|node1.example.com|node2.example.com|drbd|svc:web|1",
    "data.example.com|768|20480|2|running|Y|node1.example.com||plain||1",
    "mail.example.com|512|0|1|ADMIN_down|Y|node2.example.com||ext|svc:web|1",
)

Make = Callable[..., str]


@pytest.fixture
def data(tmp_path: Path) -> Make:
    """Write a cluster and return its file: `data(nodes=(...), tags=(...))`."""

    def make(
        *,
        nodes: tuple[str, ...] = NODES,
        instances: tuple[str, ...] = INSTANCES,
        tags: tuple[str, ...] = (),
        groups: tuple[str, ...] = ("default|uuid-1|preferred||",),
        policies: tuple[str, ...] = (),
    ) -> str:
        sections = (groups, nodes, instances, tags, policies)
        path = tmp_path / "cluster.data"
        path.write_text("\n".join("".join(f"{line}\n" for line in each) for each in sections), "utf-8")
        return str(path)

    return make
