"""What tests of the scheduler share: an API server with nobody else, and a proxy before it."""

from collections.abc import Iterator

import pytest

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
