"""How many of a workload its elastic quotas let in while nobody is evicted, and what is against more."""

from ullage.engine.quota.accounts import Accounts
from ullage.engine.quota.claims import Claims
from ullage.engine.quota.told import Words
from ullage.engine.trial import Trial
from ullage.model.cluster import Workload
from ullage.model.resources import ResourceTypes


class ElasticAdmission:
    """Elastic quotas as something that lets in a number of replicas, and charges those that have a place."""

    def __init__(self, claims: Claims, types: ResourceTypes) -> None:
        self._claims = claims
        self._words = Words(claims.rules, types)
        self.take = claims.take
        self.mark = claims.mark
        self.undo = claims.undo

    def admits(self, workload: Workload, replicas: int) -> tuple[int, str]:
        """Return how many replicas may run, and why not all."""
        admitted = self._claims.admits(workload, replicas)
        if admitted == replicas:
            return replicas, ""
        mark = self._claims.mark()
        self._claims.take(workload, admitted)
        reason = self._words.refusals(self._claims.judged(workload))
        self._claims.undo(mark)
        return admitted, reason


def elastic_of(trial: Trial) -> ElasticAdmission | None:
    """Return the elastic quotas of a trial's cluster, if it has any."""
    snapshot = trial.columns.snapshot
    if not len(snapshot.quotas):
        return None
    return ElasticAdmission(Claims(trial, Accounts(trial.columns)), snapshot.resource_types)
