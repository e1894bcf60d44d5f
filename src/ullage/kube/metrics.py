"""Figures of a process on Kubernetes: those of render/metrics.py, answered as its other paths are."""

from typing import Final

from ullage.kube.serving import Response
from ullage.render import metrics

_OK: Final = 200


class Metrics(metrics.Metrics):
    """All figures of one process."""

    async def answer(self, _: bytes) -> Response:
        """Answer what Prometheus asks."""
        return Response(_OK, self.exposition(), metrics.CONTENT)
