"""Binds pods by a plain loop that decides nothing: what the API server lets be done at most.

    python benchmarks/plain_binding.py KUBECONFIG NODES PODS

It is a process of its own, as schedulers are, so that it is measured as they are. When all is bound it stays
until its standard input ends.
"""

import asyncio
import sys

from ullage.sources.kubernetes.api.client import ApiClient
from ullage.sources.kubernetes.kubeconfig import find_access

BINDERS = 48


async def bind(kubeconfig: str, nodes: int, pods: int) -> None:
    """Bind all pods, one node after the other."""
    client = ApiClient(find_access(kubeconfig=kubeconfig))
    numbers = iter(range(pods))

    async def bind_some() -> None:
        for number in numbers:
            name = f"p{number:05d}"
            target = {"apiVersion": "v1", "kind": "Node", "name": f"n{number % nodes:05d}"}
            document = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": target}
            await client.create(f"/api/v1/namespaces/default/pods/{name}/binding", document)

    await asyncio.gather(*(bind_some() for _ in range(BINDERS)))
    await client.close()


if __name__ == "__main__":
    asyncio.run(bind(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
    sys.stdin.read()
