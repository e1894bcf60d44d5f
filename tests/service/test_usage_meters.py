"""Recording readings of counters: from a table and from a real Prometheus, each byte once."""

import time
from fractions import Fraction

import pytest

from ullage.model.errors import InputError
from ullage.service.asked import Asked
from ullage.service.usage_meters import metered, recorded, usage_meter
from ullage.service.usage_report import usage_report
from ullage.service.usage_report_read import UsageReportQuestion
from usage_exporter import Metric, history
from usage_prometheus import prometheus

HEAD = "tenant,counter,time,value\n"


@pytest.fixture(autouse=True)
def no_cluster_of_the_machine(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("KUBECONFIG", "/nowhere/config")
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)


def test_what_is_recorded_in_pieces_is_what_is_metered_at_once(tmp_path):
    rows = [f"a,network/x,{1000 * step},{step * step}\n" for step in range(40)]
    whole = tmp_path / "whole.csv"
    whole.write_text(HEAD + "".join(rows))
    ledger = tmp_path / "ledger.db"
    for begin in range(0, 40, 7):
        part = tmp_path / "part.csv"
        part.write_text(HEAD + "".join(rows[max(0, begin - 3) : begin + 7]))
        usage_meter(str(part), str(ledger))
    kept, direct = recorded(Asked(ledger=str(ledger))), metered(str(whole), 3600)
    kept.settle()
    direct.settle()
    assert (kept.counters, kept.hours, kept.spans) == (direct.counters, direct.hours, direct.spans)


def test_what_was_recorded_is_told(tmp_path):
    path = tmp_path / "counters.csv"
    path.write_text(HEAD + "a,network/x,0,0\na,network/x,5000,9\nb,requests,60,1\n")
    found = usage_meter(str(path), str(tmp_path / "ledger.db")).data()
    assert {key: found[key] for key in ("counters", "readings", "late", "lastSeconds")} == {
        "counters": 2,
        "readings": 3,
        "late": 0,
        "lastSeconds": 5000,
    }


@pytest.mark.parametrize("ledger", ["", "nowhere.db", "kube"])
def test_a_ledger_that_is_no_file_or_not_there_has_no_meters(ledger):
    assert recorded(Asked(ledger=ledger)) is None


def test_metering_is_of_files(tmp_path):
    path = tmp_path / "counters.csv"
    path.write_text(HEAD + "a,network/x,0,0\n")
    with pytest.raises(InputError, match="metering is of files"):
        usage_meter(str(path), "kube")


@pytest.mark.parametrize("source", ["prometheus", "prometheus:", "prometheus:?window=1h"])
def test_a_prometheus_without_an_address_is_that_of_the_live_cluster(source, tmp_path):
    ledger = tmp_path / "ledger.db"
    with pytest.raises(InputError, match="/nowhere/other"):
        usage_meter(source, str(ledger), Asked(kubeconfig="/nowhere/other"))
    with pytest.raises(InputError, match="/nowhere/other"):
        usage_report(Asked(kubeconfig="/nowhere/other"), UsageReportQuestion(counters=source))
    assert not ledger.exists()


@pytest.mark.slow
def test_counters_of_a_real_prometheus_are_reported_and_recorded_to_the_last_byte(tmp_path):
    begin = int(time.time()) // 3600 * 3600 - 3 * 3600
    known = {"namespace": "shop", "pod": "web-1", "interface": "eth0", "id": "/web-1", "job": "kubelet"}
    sent = Metric("container_network_transmit_bytes_total", known, lambda minute: 1001 * minute)
    with prometheus(tmp_path, history([sent], begin, 61)) as url:
        source = f"prometheus:{url}?window=1d"
        report = usage_report(Asked(), UsageReportQuestion(counters=source)).data()
        ledger = str(tmp_path / "ledger.db")
        for _ in range(2):
            usage_meter(source, ledger)
    again = usage_report(Asked(ledger=ledger), UsageReportQuestion()).data()
    for each in (report, again):
        rows = [row for row in each["rows"] if row["kind"] == "tenant"]
        assert {(row["tenant"], row["what"]) for row in rows} == {("shop", "network-sent")}
        passed = sum(Fraction(row["used"]["quantity"]) for row in rows) * 2**30
        assert passed == 1001 * 60
