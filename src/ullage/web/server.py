"""All that a server consists of, started in order and stopped in the reverse one.

What happens to a cluster is told to everything that depends on it here, in one place.
"""

import asyncio
import contextlib
import os
from collections.abc import Iterator

from ullage.service.ledger_cluster import CLUSTER, ClusterPlace
from ullage.stores.entry_pages import Wanted
from ullage.web.clusters import Heard
from ullage.web.events import Events
from ullage.web.figures import Figures
from ullage.web.history import History
from ullage.web.http import Problem
from ullage.web.jobs import Jobs
from ullage.web.ledgers import Ledgers
from ullage.web.logs import Log
from ullage.web.metrics import metrics_of
from ullage.web.observing import Observers
from ullage.web.plans import Plans
from ullage.web.pool import Pool
from ullage.web.security import Security
from ullage.web.settings import Settings
from ullage.web.state import State
from ullage.web.takeover import take_over
from ullage.web.tokens import Tokens
from ullage.web.traffic import Traffic


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
            settings.folder,
            self.pool,
            in_cluster=_in_cluster(settings),
            told=self.events.ledger_moved,
            say=lambda what, cluster, why: self.log.say(what, cluster=cluster, why=why),
        )
        self.observers = Observers(settings, self.pool, self.ledgers, self.log)
        self.jobs = Jobs(self.pool)
        self.history = History(self.state)
        self.figures = Figures(self.pool, self.ledgers, self.history, log=self.log)
        self.plans = Plans(self.state, self.pool, self.ledgers, self.history, self.events)
        self.metrics = metrics_of(self)
        self.pool.hear(self._heard)

    async def start(self) -> None:
        """Note what a server before could not, and start everything that runs by itself."""
        await self.state.run(lambda connection: take_over(connection, self.settings.folder, self.log))
        self.state.is_served = True
        await self.pool.start()
        self.ledgers.start()
        self.figures.start()

    async def stop(self) -> None:
        """Stop it, and let go of all files; what cannot be stopped keeps nothing else from it."""
        self.ending.set()
        with self._logged("jobs"):
            await self.jobs.stop()
        with self._logged("figures"):
            await self.figures.stop()
        with self._logged("observers"):
            await self.observers.stop()
        with self._logged("ledgers"):
            await self.ledgers.close()
        with self._logged("pool"):
            await self.pool.stop()
        with self._logged("tokens"):
            self.tokens.close()
        with self._logged("state"):
            self.state.close(lambda connection: take_over(connection, self.settings.folder, self.log))
        self.log.write()

    @contextlib.contextmanager
    def _logged(self, what: str) -> Iterator[None]:
        """Log why a part cannot be stopped, and go on."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 - whatever it is, the other parts have to stop
            self.log.say("cannot stop", what=what, why=f"{type(error).__name__}: {error}")

    def _heard(self, heard: Heard) -> None:
        """Pass on what happened to a cluster."""
        state = heard.state
        self.events.tell(heard.kind, state.name, revision=state.revision)
        if heard.kind == "revision":
            self.ledgers.moved(state.name)
            self.figures.moved()
            self.observers.moved(state)
        elif heard.kind == "removed":
            self.figures.forget(state.name)

    async def remove(self, cluster: str) -> None:
        """Forget a cluster that was uploaded: what gets its name next has nothing of it.

        Raises a Problem where something is promised on it.
        """
        live = (await self.ledgers.page(cluster, Wanted(), "", 1)).live
        if live:
            what = f"{live} {'promise' if live == 1 else 'promises'} on {cluster} would be forgotten"
            raise Problem(409, what, "release them first, or wait until they end", live=live)
        await self.pool.remove(cluster, lambda: self._let_go(cluster))

    async def _let_go(self, cluster: str) -> None:
        with self._logged(f"who observes {cluster}"):
            await self.observers.forget(cluster)
        await self.ledgers.forget(cluster)
        await asyncio.to_thread(self.ledgers.put_aside, cluster)
        await self.plans.forget(cluster)


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
