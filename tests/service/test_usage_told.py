"""What a server tells of one subject is what `usage show` tells of it, whoever recorded it and how."""

import pytest

from ullage.model.errors import InputError
from ullage.model.usage import KINDS
from ullage.service.asked import Asked, read_to_hold
from ullage.service.held import holding
from ullage.service.usage_observe import ObserveQuestion, usage_observe
from ullage.service.usage_recording import BODY, record_sent
from ullage.service.usage_show import ShowQuestion, usage_show
from ullage.service.usage_told import SeriesQuestion, subject_series, subject_status
from ullage.sources.given import giving
from ullage.stores.usage_parts import looking, recorded_streams
from usage_example import EXAMPLE

BEGIN = 1_767_225_600
TABLE = f"""subject,resource,time,value,measure
pod/web/api-0,example.com/widgets,{BEGIN},3,usage
pod/web/api-9,example.com/widgets,{BEGIN},4,usage
pod/web/gone-5c6d7f8b9-x7k2p,example.com/widgets,{BEGIN},5,usage
node/n1,example.com/threads,{BEGIN},7,usage
namespace/batch,memory,{BEGIN},1Gi,maxusage
namespace/lonely,memory,{BEGIN},1Gi,maxusage
"""


def sent(path, table):
    with giving({BODY: table}):
        record_sent(Asked("cluster", observed=str(path)))


@pytest.fixture(scope="module", autouse=True)
def held():
    with holding([read_to_hold("cluster", Asked("demo"))]):
        yield


def observed(path):
    usage_observe(Asked("cluster", ledger=str(path)), ObserveQuestion(str(EXAMPLE)))


@pytest.fixture(scope="module", params=["observed", "observed and sent", "sent"])
def recorded(request, tmp_path_factory):
    """A file in which crowds are recorded with their pods; or not, since more was sent, or all of it."""
    path = tmp_path_factory.mktemp("ledger") / "ledger.db"
    if request.param.startswith("observed"):
        observed(path)
        with looking(path) as connection:
            assert recorded_streams(connection, ["cluster"])
    else:
        sent(path, EXAMPLE.read_bytes())
    if request.param.endswith("sent"):
        sent(path, TABLE.encode())
    return path


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in {"container", "drives"}])
def test_a_status_is_the_same_as_in_usage_show(recorded, kind):
    shown = usage_show(Asked("cluster", ledger=str(recorded)), ShowQuestion(by=kind)).data()["items"]
    assert shown
    for each in shown:
        assert subject_status(Asked("cluster", observed=str(recorded)), each["subject"]) == each


def test_what_use_to_expect_is_part_of_it(recorded):
    told = subject_status(Asked("cluster", observed=str(recorded)), "workload/web/ReplicaSet/api")
    parts = {name for each in told["resourceStatus"] for name in each}
    assert {"usage", "predicted"} <= parts


def test_what_was_sent_of_pods_counts_in_crowds_that_were_recorded_without_it(tmp_path):
    path = tmp_path / "ledger.db"
    observed(path)
    sent(path, TABLE.encode())
    question = SeriesQuestion("namespace/web", "example.com/widgets", "", BEGIN, BEGIN + 3600)
    (series,) = subject_series(Asked("cluster", observed=str(path)), question).series
    assert series.values == [12]


def test_whom_nobody_observed_is_refused_with_who_was(recorded, tmp_path):
    with pytest.raises(InputError, match=r"no observed subject 'node/n9'.*did you mean node/n"):
        subject_status(Asked("cluster", observed=str(recorded)), "node/n9")
    with pytest.raises(InputError, match="nothing was observed"):
        subject_status(Asked("cluster", observed=str(tmp_path / "none.db")), "node/n9")


@pytest.mark.parametrize("subject", ["", "namespace", "planet/mars", "node/", "workload//", "pod/web"])
def test_what_is_no_subject_is_refused_in_one_line(recorded, subject):
    with pytest.raises(InputError, match="no observed subject"):
        subject_status(Asked("cluster", observed=str(recorded)), subject)
