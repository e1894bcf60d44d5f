"""All that a server consists of, started in order and stopped in the reverse one.

What happens to a cluster is told to everything that depends on it here, in one place.
"""

import asyncio
import os

from ullage.service.ledger_cluster import CLUSTER, ClusterPlace
from ullage.web.app import Traffic
from ullage.web.clusters import Heard
from ullage.web.events import Events
from ullage.web.figures import Figures
from ullage.web.history import History
from ullage.web.jobs import Jobs
from ullage.web.ledgers import Ledgers
from ullage.web.logs import Log
from ullage.web.metrics import metrics_of
from ullage.web.plans import Plans
from ullage.web.pool import Pool
from ullage.web.security import Security
from ullage.web.settings import Settings
from ullage.web.state import State
from ullage.web.tokens import Tokens


class Server:
    """What handlers use to answer."""

    def __init__(self, settings: Settings, log: Log | None = None) -> None:
        self.settings = settings
        self.log = log or Log()
        self.traffic = Traffic()
        self.ending = asyncio.Event()
        """Set when the server stops: whoever listens to a stream is let go."""
        self.state = State(settings.folder)
        self.tokens = Tokens(self.state)
        self.security = Security(settings, self.tokens)
        self.pool = Pool(settings, self.log)
        self.events = Events()
        self.ledgers = Ledgers(
            settings.folder, self.pool, in_cluster=_in_cluster(settings), told=self.events.ledger_moved
        )
        self.jobs = Jobs(self.pool)
        self.history = History(self.state)
        self.figures = Figures(self.pool, self.ledgers, self.history)
        self.plans = Plans(self.state, self.pool, self.ledgers, self.history, self.events)
        self.metrics = metrics_of(self)
        self.pool.hear(self._heard)

    async def start(self) -> None:
        """Start everything that runs by itself."""
        await self.pool.start()
        self.ledgers.start()
        self.figures.start()

    async def stop(self) -> None:
        """Stop it, and let go of all files."""
        self.ending.set()
        await self.jobs.stop()
        await self.figures.stop()
        await self.ledgers.close()
        await self.pool.stop()
        self.tokens.close()
        self.state.close()
        self.log.write()

    def _heard(self, heard: Heard) -> None:
        """Pass on what happened to a cluster."""
        state = heard.state
        self.events.tell(heard.kind, state.name, revision=state.revision)
        if heard.kind == "revision":
            self.ledgers.moved(state.name)
            self.figures.moved()
        elif heard.kind == "removed":
            self.figures.forget(state.name)


def _in_cluster(settings: Settings) -> dict[str, ClusterPlace]:
    """Return the live clusters whose promises are kept there, and not by the server."""
    if settings.store != "kube":
        return {}
    if settings.kubeconfig:
        os.environ["KUBECONFIG"] = settings.kubeconfig  # workers read the same ledgers
    return {
        each.name: ClusterPlace(each.context, settings.kubeconfig, settings.as_user)
        for each in settings.clusters
        if each.source == CLUSTER
    }
