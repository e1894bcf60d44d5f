"""What tests of the scheduler share: an API server with nobody else, and a proxy before it."""

from collections.abc import Iterator

import pytest

from kube_scheduled import Cluster
from plane.plane import Plane
from plane.proxy import Proxy


@pytest.fixture(scope="module")
def bare(plane_program) -> Iterator[Plane]:
    """An API server with nobody who binds or runs pods."""
    with Plane(plane_program, ()) as running:
        yield running


@pytest.fixture
def proxy(bare: Plane) -> Iterator[Proxy]:
    with Proxy(bare) as running:
        yield running


@pytest.fixture
def namespace(bare: Plane) -> Iterator[str]:
    with bare.scratch() as name:
        yield name


@pytest.fixture
def cluster(bare: Plane, namespace: str) -> Cluster:
    return Cluster(bare, namespace)
