"""A real Prometheus (Debian's package) scrapes a real server: its answers are ours, and every rule works."""

import contextlib
import json
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
RULES = ROOT / "deploy/prometheus/alerts.yml"
SETTINGS = ROOT / "deploy/prometheus/prometheus.yml"
DASHBOARD = json.loads((ROOT / "deploy/grafana/ullage.json").read_text(encoding="utf-8"))
SECONDS_MAX = 60.0
ADDRESS = re.compile(r"http://127\.0\.0\.1:(\d+)/")
NEEDS_TIME = re.compile(r"rate\(|predict_linear\(")
"""What has an answer only after more than one scrape, or when something moves."""

pytestmark = pytest.mark.slow


def program(name):
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed (Debian: apt-get install prometheus)")
    return found


def until(look):
    """Return what a look finds as soon as it finds anything."""
    ends = time.monotonic() + SECONDS_MAX
    while time.monotonic() < ends:
        with contextlib.suppress(urllib.error.URLError, ConnectionError, TimeoutError):
            found = look()
            if found:
                return found
        time.sleep(0.2)
    raise AssertionError("this never came to be")


@contextlib.contextmanager
def running(*command, **options):
    with subprocess.Popen(command, text=True, **options) as process:
        try:
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                process.kill()


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """The port of a server of the demo, whose figures were counted."""
    folder = tmp_path_factory.mktemp("server")
    usage = ("--usage", str(ROOT / "examples" / "usage.csv"))
    words = ("serve", "-c", "demo", "--listen", "0", "--data", str(folder), *usage)
    with running(sys.executable, "-m", "ullage", *words, stdout=subprocess.PIPE) as process:
        port = int(ADDRESS.search(process.stdout.readline())[1])

        def counted():
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
                told = answer.read()
            return b"ullage_cluster_ullage{" in told and b"ullage_usage_used{" in told

        until(counted)
        yield port


@pytest.fixture(scope="module")
def prometheus(served, tmp_path_factory):
    """What asks a Prometheus that scrapes it every second, with our settings and rules."""
    folder = tmp_path_factory.mktemp("prometheus")
    settings = yaml.safe_load(SETTINGS.read_text(encoding="utf-8"))
    settings["global"] = {"scrape_interval": "1s", "evaluation_interval": "1s"}
    settings["scrape_configs"][0]["static_configs"][0]["targets"] = [f"127.0.0.1:{served}"]
    (folder / "prometheus.yml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    shutil.copy(RULES, folder / "alerts.yml")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = (
        program("prometheus"),
        f"--config.file={folder}/prometheus.yml",
        f"--storage.tsdb.path={folder}/data",
        f"--web.listen-address=127.0.0.1:{port}",
        "--log.level=error",
    )

    def ask(path, **query):
        url = f"http://127.0.0.1:{port}/api/v1/{path}?{urllib.parse.urlencode(query)}"
        with urllib.request.urlopen(url, timeout=10) as answer:
            told = json.loads(answer.read())
        assert told["status"] == "success"
        return told["data"]

    with running(*command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL):
        until(lambda: ask("query", query='up{job="ullage"} == 1')["result"])
        until(lambda: len(ask("query", query="ullage_cluster_revision[1m]")["result"][0]["values"]) > 2)
        yield ask


def test_the_target_is_scraped_without_complaint(prometheus):
    (target,) = prometheus("targets")["activeTargets"]
    assert (target["health"], target["lastError"]) == ("up", "")


def test_prometheus_knows_the_numbers_that_the_command_line_tells(prometheus):
    command = [sys.executable, "-m", "ullage", "status", "-c", "demo", "-o", "json"]
    total = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["total"]
    for term in ("capacity", "free", "ullage"):
        found = prometheus(
            "query", query=f'ullage_cluster_{term}{{cluster="demo",resource="nvidia.com/gpu"}}'
        )
        (row,) = found["result"]
        assert float(row["value"][1]) == float(total[term]["nvidia.com/gpu"])


def expressions():
    for panel in DASHBOARD["panels"]:
        for target in panel.get("targets", ()):
            yield pytest.param(target["expr"], id=panel["title"])


@pytest.mark.parametrize("expression", list(expressions()))
def test_every_panel_of_the_dashboard_has_something_to_draw(prometheus, expression):
    asked = expression.replace("$cluster", "demo").replace("$resource", "cpu")
    found = prometheus("query", query=asked)["result"]
    assert found or NEEDS_TIME.search(asked)


def test_the_variables_of_the_dashboard_have_values(prometheus):
    assert prometheus("label/cluster/values") == ["demo"]
    assert {"cpu", "memory"} <= set(prometheus("label/resource/values"))


def test_every_rule_is_loaded_and_evaluated_and_what_is_wrong_with_the_demo_is_pending(prometheus):
    def rules():
        found = [rule for group in prometheus("rules")["groups"] for rule in group["rules"]]
        return found if all(rule["health"] == "ok" for rule in found) else []

    by_name = {rule["name"]: rule for rule in until(rules)}
    written = yaml.safe_load(RULES.read_text(encoding="utf-8"))
    assert set(by_name) == {rule["alert"] for group in written["groups"] for rule in group["rules"]}
    until(lambda: {rule["name"] for rule in rules() if rule["state"] == "pending"} >= {
        "UllageFindings", "UllageWorkloadsWait", "UllageDrivesFail",
    })  # fmt: skip
    assert by_name["UllageDown"]["state"] == "inactive"


def test_the_settings_and_rules_are_found_sound():
    checked = subprocess.run(
        [program("promtool"), "check", "config", "--lint=all", "--lint-fatal", str(SETTINGS)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr


CASES = {
    "UllageRoomLow": {
        'ullage_cluster_ullage{cluster="c",resource="cpu"}': "4x60",
        'ullage_cluster_limit{cluster="c",resource="cpu"}': "100x60",
        'ullage_cluster_ullage{cluster="d",resource="cpu"}': "6x60",
        'ullage_cluster_limit{cluster="d",resource="cpu"}': "100x60",
    },
    "UllageSpareMissing": {
        'ullage_cluster_free{cluster="c",resource="cpu"}': "104x60",
        'ullage_cluster_spare{cluster="c",resource="cpu"}': "10x60",
        'ullage_group_free{cluster="c",group="short",resource="cpu"}': "4x60",
        'ullage_group_spare{cluster="c",group="short",resource="cpu"}': "5x60",
        'ullage_group_free{cluster="c",group="wide",resource="cpu"}': "100x60",
        'ullage_group_spare{cluster="c",group="wide",resource="cpu"}': "5x60",
    },
    "UllageQuotaFull": {
        'ullage_quota_used{cluster="c",quota="q",resource="cpu"}': "96x60",
        'ullage_quota_max{cluster="c",quota="q",resource="cpu"}': "100x60",
        'ullage_quota_used{cluster="c",quota="empty",resource="cpu"}': "0x60",
        'ullage_quota_max{cluster="c",quota="empty",resource="cpu"}': "0x60",
    },
    "UllageWorkloadsWait": {'ullage_cluster_workloads{cluster="c",state="init"}': "1x60"},
    "UllageFindings": {'ullage_cluster_findings{cluster="c",severity="error"}': "1x60"},
    "UllageDrivesFail": {'ullage_drives_failing{cluster="c",class="HDD"}': "1x60"},
    "UllageDown": {'up{job="ullage",instance="i"}': "0x60"},
    "UllageSourceFails": {'ullage_cluster_source_failing{cluster="c"}': "1x60"},
    "UllageClusterSilent": {'ullage_cluster_figures_timestamp_seconds{cluster="c"}': "0x60"},
    "UllageObserverFails": {'ullage_usage_observer_failing{cluster="c"}': "1x60"},
    "UllageObserverSilent": {
        'ullage_usage_observation_timestamp_seconds{cluster="c",instance="i"}': "0x60",
        'ullage_usage_observer_failing{cluster="c",instance="i"}': "0x60",
        'ullage_usage_observation_timestamp_seconds{cluster="sent",instance="i"}': "0x60",
    },
    "UllageLedgerEnds": {
        'ullage_ledger_opened_again_total{cluster="c"}': "0x20 3x40",
        'ullage_ledger_opened_again_total{cluster="steady"}': "5x60",
    },
    "UllageQuestionsWait": {'ullage_cluster_questions_waiting{cluster="c"}': "17x60"},
    "UllageAnswersFail": {
        'ullage_http_answers_total{instance="i",path="/a",status="200"}': "0+90x60",
        'ullage_http_answers_total{instance="i",path="/b",status="500"}': "0+10x60",
    },
    "UllageRoomRunsOut": {'ullage_cluster_ullage{cluster="c",resource="cpu"}': "5000-10x420"},
}


@pytest.mark.parametrize("alert", CASES)
def test_an_alert_fires_for_what_it_is_about_once(tmp_path, alert):
    written = yaml.safe_load(RULES.read_text(encoding="utf-8"))
    names = [rule["alert"] for group in written["groups"] for rule in group["rules"]]
    assert set(CASES) == set(names)
    series = [{"series": name, "values": values} for name, values in CASES[alert].items()]
    at = "7h" if alert == "UllageRoomRunsOut" else "50m"
    query = {"expr": f'count(ALERTS{{alertname="{alert}",alertstate="firing"}})', "eval_time": at}
    case = {"interval": "1m", "input_series": series, "promql_expr_test": [query | FIRES_ONCE]}
    told = {"rule_files": [str(RULES)], "evaluation_interval": "1m", "tests": [case]}
    path = tmp_path / "case.yml"
    path.write_text(yaml.safe_dump(told), encoding="utf-8")
    done = subprocess.run(
        [program("promtool"), "test", "rules", str(path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


FIRES_ONCE = {"exp_samples": [{"labels": "{}", "value": 1}]}
