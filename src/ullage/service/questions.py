"""The one table of questions: each by its name, with its parameters, what may be sent along, and who answers.

Every face that is no terminal asks through it, so that an answer is the same as the command line's, byte by
byte. Who answers is imported when it is asked: to know the table costs next to nothing.
"""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from ullage.model.errors import InputError
from ullage.service import question_ledger as of_ledger
from ullage.service import question_records as records
from ullage.service import question_usage as of_usage
from ullage.service.question_parts import (
    CATALOG,
    CLUSTER,
    COUNTERS,
    POLICY,
    PRICES,
    QUOTAS,
    TRACE,
    TYPES,
    WORKLOADS,
    parts_of,
)

if TYPE_CHECKING:
    from ullage.service.answer import Answer
    from ullage.service.asked import Asked


class Sent(NamedTuple):
    """What a question is asked with: the cluster, its parameters, and which parts were sent along."""

    asked: "Asked"
    told: Any
    parts: frozenset[str] = frozenset()

    @property
    def paths(self) -> tuple[str, ...]:
        """The workloads that were sent."""
        return (WORKLOADS,) if WORKLOADS in self.parts else ()


class Question(NamedTuple):
    """A question; `takes` are the parts that may be sent with it, `is_long` says that it may take seconds."""

    name: str
    summary: str
    parameters: type[records.Parameters]
    answer: Callable[[Sent], "Answer"]
    takes: tuple[str, ...] = (POLICY, TYPES)
    is_long: bool = False

    @property
    def takes_body(self) -> bool:
        """Whether anything may be sent with it."""
        return bool(self.takes)


def ask(
    name: str,
    values: Mapping[str, Any],
    *,
    cluster: str,
    body: bytes = b"",
    ledger: str = "",
    observed: str = "",
) -> "Answer":
    """Answer a question about a cluster that is held; `ledger` is the file of its promises, if it has any.

    `observed` is that of its use, if it is another. Nothing is read but these and what was sent along.
    """
    from ullage.service.asked import Asked
    from ullage.sources.given import giving

    question = question_of(name)
    told = parameters_of(question, values)
    if body.strip() and not question.takes:
        raise InputError(f"{name} takes nothing with it", remedy="send no body")
    parts = parts_of(body, question.takes)
    policy = getattr(told, "policy", "")
    if POLICY in parts:
        if policy:
            raise InputError("a policy is named, and one is sent", remedy="leave out one of them")
        policy = POLICY
    asked = Asked(
        cluster,
        policy,
        getattr(told, "namespace", ""),
        getattr(told, "selector", ""),
        (TYPES,) if TYPES in parts else (),
        ledger=ledger,
        observed=observed,
    )
    with giving(parts):
        return question.answer(Sent(asked, told, frozenset(parts)))


def question_of(name: str) -> Question:
    """Return the question of a name."""
    found = PLAN if name == PLAN.name else QUESTIONS.get(name)
    if found is None:
        raise InputError(f"no question {name!r}", remedy=f"ask one of {', '.join(QUESTIONS)}")
    return found


def parameters_of(question: Question, values: Mapping[str, Any]) -> Any:
    """Return parameters as they are meant; numbers and flags may be texts, as addresses have them."""
    try:
        return msgspec.convert(values, question.parameters, strict=False)
    except msgspec.ValidationError as error:
        raise InputError(
            f"{question.name}: {str(error)[:1].lower()}{str(error)[1:]}", remedy="see the parameters of it"
        ) from None


def values_of(question: Question, pairs: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Return the parameters of an address by name: those that may be given more than once as lists."""
    found: dict[str, Any] = {}
    several = _several(question.parameters)
    for name, value in pairs:
        if name in several:
            found.setdefault(name, []).append(value)
        elif name in found:
            raise InputError(f"{question.name}: {name} is given twice", remedy="give it once")
        else:
            found[name] = value
    return found


def _several(parameters: type[records.Parameters]) -> frozenset[str]:
    fields = msgspec.structs.fields(parameters)
    return frozenset(each.encode_name for each in fields if isinstance(each.default, tuple))


def _status(sent: Sent) -> "Answer":
    from ullage.service.status import status

    return status(sent.asked, sent.told.by or "", sent.told.usage or "")


def _fit(sent: Sent) -> "Answer":
    from ullage.service.fit import FitQuestion, fit

    told = sent.told
    question = FitQuestion(
        sent.paths,
        told.shape,
        told.replicas,
        told.atomic,
        told.pod_template,
        told.placement or "",
        told.seed,
        told.exact_seconds,
        told.run_min_seconds,
    )
    return fit(sent.asked, question)


def _plan(sent: Sent) -> "Answer":
    from ullage.service.fit_plan import fit_plan

    return fit_plan(sent.asked, sent.told, sent.paths)


def _headroom(sent: Sent) -> "Answer":
    from ullage.service.headroom import HeadroomQuestion, headroom

    told = sent.told
    question = HeadroomQuestion(
        told.shapes, sent.paths, told.together, told.placement or "", told.pod_template, tiered=told.tiered
    )
    return headroom(sent.asked, question)


def _check(sent: Sent) -> "Answer":
    from ullage.service.check import CheckQuestion, check

    told = sent.told
    question = CheckQuestion(
        told.lose,
        told.nodes_lost,
        told.placement or "",
        told.exact_seconds,
        balances=not told.no_balance,
        usage=told.usage or "",
    )
    return check(sent.asked, question)


def _balance(sent: Sent) -> "Answer":
    from ullage.service.balance import BalanceQuestion, balance

    told = sent.told
    question = BalanceQuestion(
        told.drain,
        told.placement or "",
        told.squeeze,
        told.rolling,
        told.weights,
        told.moves_max,
        told.gain_min,
        disk_moves=not told.no_disk_moves,
        groups=told.groups,
        by_load=told.by_load,
        usage=told.usage or "",
    )
    return balance(sent.asked, question)


def _buy(sent: Sent) -> "Answer":
    from ullage.service.buy import BuyQuestion, buy

    if CATALOG not in sent.parts:
        raise InputError("there is no catalog", remedy="send a document of kind Catalog")
    told = sent.told
    question = BuyQuestion(
        CATALOG, sent.paths, told.shape, told.replicas, told.nodes_lost, told.pod_template, told.exact_seconds
    )
    return buy(sent.asked, question)


def _explain(sent: Sent) -> "Answer":
    from ullage.service.explain import explain

    return explain(sent.asked, sent.told.subject, sent.told.resource, sent.told.usage or "")


def _quota_list(sent: Sent) -> "Answer":
    from ullage.service.quota_list import quota_list

    return quota_list(sent.asked)


def _quota_risk(sent: Sent) -> "Answer":
    from ullage.service.quota_risk import quota_risk

    return quota_risk(sent.asked, sent.told.subject)


def _quota_replay(sent: Sent) -> "Answer":
    from ullage.service.quota_replay import Choice, quota_replay

    told = sent.told
    if TRACE not in sent.parts:
        raise InputError("there is no trace", remedy="send a document of kind Trace")
    quotas = QUOTAS if QUOTAS in sent.parts else ""
    choice = Choice((TRACE,), quotas, told.quota_mode or "", told.run_min_seconds, told.every_seconds)
    return quota_replay(sent.asked, choice)


def _quota_audit(sent: Sent) -> "Answer":
    from ullage.service.quota_audit import quota_audit

    return quota_audit(sent.asked)


def _disks_list(sent: Sent) -> "Answer":
    from ullage.service.disks_list import disks_list

    return disks_list(sent.asked, sent.told.subject)


def _disks_fragmentation(sent: Sent) -> "Answer":
    from ullage.service.disks_fragmentation import disks_fragmentation

    return disks_fragmentation(sent.asked, sent.told.sizes)


def _policy_show(sent: Sent) -> "Answer":
    from ullage.service.policy import list_profiles, show_policy

    return list_profiles() if sent.told.wants_list else show_policy(sent.asked, sent.told.target)


def _policy_check(sent: Sent) -> "Answer":
    from ullage.service.policy import check_policy

    return check_policy(sent.asked)


def _snapshot_show(sent: Sent) -> "Answer":
    from ullage.service.snapshot import show

    return show(sent.asked)


def _snapshot_diff(sent: Sent) -> "Answer":
    from ullage.service.snapshot import diff

    if CLUSTER not in sent.parts:
        raise InputError("there is nothing to compare with", remedy="send another cluster")
    return diff(sent.asked.cluster, CLUSTER)


def _schema(sent: Sent) -> "Answer":
    from ullage.service.schema import list_schemas, schema

    return schema(sent.told.kind) if sent.told.kind else list_schemas()


_WITH: Final = (POLICY, TYPES)
_ASKED: Final = (
    Question("status", "How full the cluster is", records.Status, _status),
    Question("fit", "Whether workloads fit, and where", records.Fit, _fit, (*_WITH, WORKLOADS)),
    Question("headroom", "How many more fit", records.Headroom, _headroom, (*_WITH, WORKLOADS)),
    Question("check", "What is wrong, and what breaks", records.Check, _check, is_long=True),
    Question("balance", "What to move", records.Balance, _balance, is_long=True),
    Question(
        "advise/ratio",
        "How far memory can be over-committed",
        records.AdviseRatio,
        of_usage.ask_advise_ratio,
        is_long=True,
    ),
    Question("buy", "What to buy", records.Buy, _buy, (*_WITH, CATALOG, WORKLOADS), is_long=True),
    Question("forecast", "When room runs out", records.Forecast, of_usage.ask_forecast, is_long=True),
    Question(
        "advise/requests",
        "What workloads should ask for",
        records.AdviseRequests,
        of_usage.ask_advise_requests,
    ),
    Question("explain", "What stands behind something", records.Explain, _explain),
    Question("quota/list", "What every quota has and uses", records.OfCluster, _quota_list),
    Question("quota/risk", "Who is evicted when owners claim", records.QuotaRisk, _quota_risk),
    Question(
        "quota/replay",
        "What a trace comes to under other quotas",
        records.QuotaReplay,
        _quota_replay,
        (*_WITH, QUOTAS, TRACE),
        is_long=True,
    ),
    Question("quota/audit", "Whether use and labels are as stated", records.OfCluster, _quota_audit),
    Question("disks/list", "What drives and volume groups have", records.DisksList, _disks_list),
    Question(
        "disks/fragmentation",
        "How much of the free disk space can be had",
        records.DisksFragmentation,
        _disks_fragmentation,
    ),
    Question("policy/show", "Which rules apply", records.PolicyShow, _policy_show),
    Question("policy/check", "Whether a policy can be used", records.OfCluster, _policy_check),
    Question("snapshot/show", "The cluster itself", records.OfCluster, _snapshot_show),
    Question("snapshot/diff", "How another cluster differs", records.Parameters, _snapshot_diff, (CLUSTER,)),
    Question("ledger/show", "What is promised", records.LedgerShow, of_ledger.ask_ledger_show, ()),
    Question(
        "ledger/history",
        "What has happened to promises",
        records.LedgerHistory,
        of_ledger.ask_ledger_history,
        (),
    ),
    Question("ledger/explain", "What one step was", records.LedgerExplain, of_ledger.ask_ledger_explain, ()),
    Question(
        "ledger/verify",
        "Whether the ledger can be believed",
        records.LedgerVerify,
        of_ledger.ask_ledger_verify,
        (POLICY,),
        is_long=True,
    ),
    Question(
        "usage/show", "Who uses what, against what was asked for", records.UsageShow, of_usage.ask_usage_show
    ),
    Question(
        "usage/report",
        "What tenants consumed, and what it costs",
        records.UsageReport,
        of_usage.ask_usage_report,
        (*_WITH, PRICES, COUNTERS),
    ),
    Question("schema", "The JSON Schema of our documents", records.Schema, _schema, ()),
)
QUESTIONS: Final[Mapping[str, Question]] = MappingProxyType({each.name: each for each in _ASKED})
"""Every question by its name."""
PLAN: Final = Question(
    "plan", "What fits, and the step that would hold it", records.Plan, _plan, (*_WITH, WORKLOADS)
)
"""What plans are made with: no question of the command line, which commits at once."""
