"""The questions about use: who answers them, from what was sent. They read what the ledger has recorded."""

from typing import TYPE_CHECKING

import msgspec

from ullage.service import question_records as records
from ullage.service.question_parts import COUNTERS, PRICES

if TYPE_CHECKING:
    from ullage.service.answer import Answer
    from ullage.service.questions import Sent


def ask_usage_show(sent: "Sent") -> "Answer":
    """Who uses what."""
    from ullage.service.usage_show import ShowQuestion, usage_show

    return usage_show(sent.asked, ShowQuestion("", sent.told.subject, sent.told.by or ""))


def ask_forecast(sent: "Sent") -> "Answer":
    """When room runs out."""
    from ullage.service.forecast import ForecastQuestion, forecast

    told = sent.told
    question = ForecastQuestion(
        "", told.horizon_days, told.level, told.growth, told.by or "", within_days=told.within_days
    )
    return forecast(sent.asked, question)


def ask_advise_ratio(sent: "Sent") -> "Answer":
    """How far memory can be over-committed."""
    from ullage.service.advise_ratio import RatioQuestion, advise_ratio

    told = sent.told
    question = RatioQuestion(risk=told.risk, with_swap=told.with_swap, groups=told.groups, seed=told.seed)
    return advise_ratio(sent.asked, question)


def ask_advise_requests(sent: "Sent") -> "Answer":
    """What workloads should ask for."""
    from ullage.service.advise_requests import advise_requests, question_of

    names = (each.name for each in msgspec.structs.fields(records.AdviseRequests))
    of_cluster = {each.name for each in msgspec.structs.fields(records.OfCluster)}
    wanted = {name: getattr(sent.told, name) for name in names if name not in of_cluster}
    return advise_requests(sent.asked, question_of(wanted))


def ask_usage_report(sent: "Sent") -> "Answer":
    """What tenants consumed, and what it costs."""
    from ullage.service.usage_report import usage_report
    from ullage.service.usage_report_read import UsageReportQuestion

    told = sent.told
    question = UsageReportQuestion(
        told.period,
        told.by,
        "",
        COUNTERS if COUNTERS in sent.parts else "",
        PRICES if PRICES in sent.parts else "",
        told.begin,
        told.end,
        told.gap_seconds,
        told.with_billing,
    )
    return usage_report(sent.asked, question)
