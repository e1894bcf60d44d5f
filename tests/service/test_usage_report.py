"""Reports of consumption: from observations, counters and prices; what is missing is said."""

from fractions import Fraction
from pathlib import Path

import pytest

from ullage.engine.usage import metering_calendar
from ullage.model.errors import InputError
from ullage.service.asked import Asked
from ullage.service.usage_meters import usage_meter
from ullage.service.usage_report import usage_report
from ullage.service.usage_report_read import UsageReportQuestion

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
DEMO = Asked("demo")
USAGE, COUNTERS, PRICES = (str(EXAMPLES / each) for each in ("usage.csv", "counters.csv", "prices.yaml"))


@pytest.fixture(autouse=True)
def no_cluster_of_the_machine(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("KUBECONFIG", "/nowhere/config")
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)


def report(asked=DEMO, **question):
    return usage_report(asked, UsageReportQuestion(**question)).data()


def number(text):
    return Fraction(text)


def quantity(row, column):
    return number(row[column]["quantity"]) if column in row else Fraction(0)


def test_periods_are_worked_out_once_however_many_there_are(monkeypatch):
    """Rows are as many as periods, so that what is done for each row may not go through all of them."""
    from ullage.engine.usage import metering_report

    asked = []

    def borders_of(*period):
        asked.append(period)
        return metering_calendar.borders_of(*period)

    monkeypatch.setattr(metering_report, "borders_of", borders_of)
    often = []
    for end in ("2026-01-02", "2026-01-05"):
        report(period="hour", usage=USAGE, counters=COUNTERS, prices=PRICES, end=end)
        often.append(len(asked))
        asked.clear()
    assert often[0] == often[1]


@pytest.mark.parametrize("period", ["hour", "day", "week", "month"])
@pytest.mark.parametrize("by", ["namespace", "quota", "label:app"])
def test_totals_are_the_sums_of_their_rows_and_parts_add_up_to_the_capacity(period, by):
    found = report(period=period, by=by, usage=USAGE, counters=COUNTERS, prices=PRICES, end="2026-01-08")
    rows: dict[tuple[str, ...], dict[str, list[dict]]] = {}
    for row in found["rows"]:
        key = (row["period"], row["what"], row.get("model", ""))
        rows.setdefault(key, {}).setdefault(row["kind"], []).append(row)
    assert rows
    for kinds in rows.values():
        (total,) = kinds["total"]
        for column in ("promised", "used"):
            assert quantity(total, column) == sum(quantity(row, column) for row in kinds["tenant"])
        assert number(total.get("cost", "0")) == sum(number(row.get("cost", "0")) for row in kinds["tenant"])
        if "capacity" in kinds:
            (whole,), (idle,) = kinds["capacity"], kinds["idle"]
            for column in {"used", "promised"} & set(whole):
                rest = sum(quantity(row, column) for row in kinds.get("unattributed", []))
                beyond = sum(quantity(row, column) for row in kinds.get("beyond", []))
                parts = quantity(total, column) + rest + quantity(idle, column)
                assert parts - beyond == quantity(whole, column)
                assert quantity(idle, column) >= 0 <= beyond
    assert number(found["cost"]) == sum(number(each["cost"]) for each in found["costs"])


def test_longer_periods_have_what_shorter_ones_have():
    asked = {"usage": USAGE, "counters": COUNTERS, "with_billing": True}

    def sums(period):
        found: dict[tuple[str, ...], Fraction] = {}
        for row in report(period=period, **asked)["rows"]:
            for column in ("promised", "used"):
                key = (row["kind"], row.get("tenant", ""), row["what"], row.get("model", ""), column)
                found[key] = found.get(key, Fraction(0)) + quantity(row, column)
        return found

    months = sums("month")
    assert months == sums("week") == sums("day") == sums("hour")
    assert any(key[2] == "billing_cu" for key in months)


def test_counters_alone_need_no_cluster_and_no_observations():
    found = report(Asked(), counters=COUNTERS)
    assert {row["what"] for row in found["rows"]} == {"network"}
    assert found["cluster"] == ""
    assert [each["cost"] for each in found["costs"]] == []


def test_the_ledger_has_what_was_metered(tmp_path):
    ledger = str(tmp_path / "ledger.db")
    assert usage_meter(COUNTERS, ledger).data()["late"] == 0
    again = usage_meter(COUNTERS, ledger).data()
    assert again["countersKept"] == 4
    assert again["late"] > 0, "what was counted does not count again"
    wanted = report(Asked(), counters=COUNTERS)
    assert report(Asked(ledger=ledger))["rows"] == wanted["rows"]


def test_tenants_of_counters_are_those_of_quotas_where_they_are_asked_for():
    found = report(by="quota", counters=COUNTERS)
    tenants = {row["tenant"] for row in found["rows"] if row["kind"] == "tenant"}
    assert tenants
    assert tenants <= {quota.name for quota in _quotas()} | {"web", "batch", "platform"}


def _quotas():
    from ullage.service.asked import read_cluster

    return read_cluster(DEMO).quotas


def test_what_is_not_known_is_said():
    notes = " ".join(report(usage=USAGE, counters=COUNTERS, prices=PRICES)["notSimulated"])
    assert "the capacity is that of the cluster now" in notes
    assert "what workloads ask for now counts in their place" in notes
    assert "what passed unread before 1 restart of counters" in notes
    assert "of which nothing is known: ephemeral-storage" in notes


def test_what_was_recorded_as_promised_is_not_estimated(tmp_path):
    path = tmp_path / "usage.csv"
    lines = ["subject,resource,time,value,measure"]
    for hour in range(25):
        lines += [f"namespace/web,cpu,{hour * 3600},2,usage", f"namespace/web,cpu,{hour * 3600},3,committed"]
    path.write_text("\n".join(lines))
    found = report(Asked(), usage=str(path), end="1970-01-02")
    (row,) = [each for each in found["rows"] if each["kind"] == "tenant"]
    assert row["promised"] == {"quantity": "72", "estimated": "0"}
    assert row["used"] == {"quantity": "48", "estimated": "0"}
    assert "no cluster is named" in found["notSimulated"][0]


@pytest.mark.parametrize(
    ("question", "what"),
    [
        ({"by": "colour"}, "--by 'colour' is unknown"),
        ({"by": "label:"}, "--by 'label:' is unknown"),
        ({"begin": "2026-01-05", "end": "2026-01-05"}, "nothing lies between"),
        ({"begin": "yesterday"}, "--from: 'yesterday' is no usable time"),
        ({"end": "2026-02-30"}, "--to: 2026-02-30 is no day of the calendar"),
        ({"end": "2026-01-05T10:30:00Z"}, "--to: 2026-01-05T10:30:00Z is no full hour"),
        ({"period": "hour", "begin": "1980-01", "end": "2026-01"}, "more than 100000 hours"),
    ],
)
def test_what_cannot_be_reported_is_one_line(question, what):
    with pytest.raises(InputError) as error:
        report(usage=USAGE, **question)
    assert what in str(error.value)


def test_nothing_to_report_from_is_said_with_what_would_help():
    with pytest.raises(InputError, match="nothing was observed"):
        report()


def test_counters_that_were_forgotten_are_told(tmp_path):
    from ullage.engine.usage.metering_counters import Account
    from ullage.stores.usage_meters import change_meters

    ledger = tmp_path / "usage.db"
    usage_meter(COUNTERS, str(ledger))
    change_meters(ledger, lambda meters: meters.forgotten.update({Account("shop", "network"): 2}))
    notes = report(Asked(ledger=str(ledger)))["notSimulated"]
    assert any(each.startswith("2 counters of shop that went unread") for each in notes)


def test_counters_that_had_counted_before_they_were_first_read_are_told(tmp_path):
    table = tmp_path / "counters.csv"
    rows = ("a,network/x,0,5", "a,network/x,7200,9", "b,network/y,3600,7", "b,network/z,3600,0")
    table.write_text("tenant,counter,time,value\n" + "\n".join(rows) + "\n", encoding="utf-8")
    notes = report(counters=str(table))["notSimulated"]
    assert [each.partition(":")[0] for each in notes] == [
        "what 1 counter of b showed already at the first reading"
    ]
    assert not report(counters=str(table), end="1970-01-01T01:00:00Z")["notSimulated"]


def test_what_pods_used_at_most_of_hours_is_not_billed_as_if_it_had_lasted(tmp_path):
    from ullage.service.usage_observe import ObserveQuestion, usage_observe

    begin, table, ledger = 1_767_225_600, tmp_path / "bursts.csv", str(tmp_path / "usage.db")
    bursts = (f"pod/shop/p,cpu,{begin + at},{12 if at % 3600 == 0 else 0}\n" for at in range(0, 86_400, 300))
    table.write_text("subject,resource,time,value\n" + "".join(bursts), encoding="utf-8")
    usage_observe(Asked(ledger=ledger), ObserveQuestion(str(table)))
    for asked in (Asked(ledger=ledger), Asked("demo", ledger=ledger)):
        (row,) = (each for each in report(asked)["rows"] if each.get("tenant") == "shop" and "used" in each)
        assert row["used"] == {"quantity": "24", "estimated": "0"}


def test_periods_before_and_after_all_that_was_observed_say_that_nothing_is_known(tmp_path):
    """So days add up to their month, at both ends of what is asked about."""
    table, day = tmp_path / "usage.csv", 86_400
    rows = (f"pod/shop/p,cpu,{1_767_225_600 + 2 * day + at},1\n" for at in range(0, day, 300))
    table.write_text("subject,resource,time,value\n" + "".join(rows), encoding="utf-8")
    unknown = {}
    for period, count in (("day", 5), ("month", 1)):
        rows = report(Asked(), usage=str(table), period=period, begin="2026-01-01", end="2026-01-06")["rows"]
        own = [row["used"] for row in rows if row.get("tenant") == "shop"]
        unknown[period] = [each.get("unknownSeconds", 0) for each in own]
        assert len(own) == count
    assert unknown["day"] == [day, day, 0, day, day]
    assert unknown["month"] == [4 * day]


def test_before_the_first_reading_of_counters_and_after_the_last_nothing_is_known(tmp_path):
    table, day = tmp_path / "counters.csv", 86_400
    rows = (f"shop,network/web,{1_767_225_600 + day + at},{at}\n" for at in range(0, day + 1, 3600))
    table.write_text("tenant,counter,time,value\n" + "".join(rows), encoding="utf-8")
    rows = report(Asked(), counters=str(table), period="day", begin="2026-01-01", end="2026-01-05")["rows"]
    own = [row["used"] for row in rows if row.get("tenant") == "shop"]
    assert [each.get("unknownSeconds", 0) for each in own] == [day, 0, day - 3600, day], (
        "the hour of the last reading is known"
    )


def test_a_day_of_which_nothing_is_known_says_so_between_others(tmp_path):
    table = tmp_path / "gap.csv"
    begin, day = 1_767_225_600, 86_400
    moments = [at for at in range(0, 4 * day, 300) if not day // 2 <= at < 3 * day - day // 4]
    rows = (f"pod/shop/p,cpu,{begin + at},1\n" for at in moments)
    table.write_text("subject,resource,time,value\n" + "".join(rows), encoding="utf-8")
    unknown = {}
    for period in ("day", "month"):
        rows = report(Asked(), usage=str(table), period=period, begin="2026-01-01", end="2026-01-05")["rows"]
        own = [row for row in rows if row.get("tenant") == "shop" and "used" in row]
        unknown[period] = sum(row["used"].get("unknownSeconds", 0) for row in own)
        assert len(own) == (4 if period == "day" else 1)
    assert unknown["day"] == unknown["month"] > day


def test_what_is_estimated_of_promises_is_told_beside_what_is_of_use():
    page = usage_report(DEMO, UsageReportQuestion(usage=USAGE)).page()
    (table,) = page.blocks
    titles = [each.key or each.title for each in table.columns]
    of_use, of_promises, promised = (
        titles.index(each) for each in ("estimated", "promised_estimated", "promised")
    )
    both = [row for row in table.rows if row[of_use].value == "0" and row[promised].value]
    assert any(row[of_promises].value == row[promised].value != "0" for row in both)


def test_an_amount_of_which_nothing_is_known_is_not_shown_as_none():
    """Also that of all tenants, and what is left of a promise."""
    question = UsageReportQuestion(usage=USAGE, period="day", begin="2026-01-14", end="2026-01-17")
    page = usage_report(DEMO, question).page()
    (table,) = page.blocks
    names = [column.title for column in table.columns]
    shown = [dict(zip(names, (cell.text for cell in row), strict=True)) for row in table.rows]
    cpu = {(row["period"], row["tenant"]): row for row in shown if row["what"] == "cpu"}
    assert cpu["2026-01-16", "web"]["used"] == cpu["2026-01-16", "all tenants"]["used"] == "unknown"
    assert cpu["2026-01-16", "web"]["unused"] == "-"
    assert cpu["2026-01-14", "all tenants"]["used"] not in {"unknown", "0.00"}
    dark = UsageReportQuestion(usage=USAGE, begin="2026-02-01", end="2026-02-03")
    assert usage_report(DEMO, dark).page().verdict.text == "4 tenants, and no use of theirs is known"
