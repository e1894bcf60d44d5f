"""Every number leads to what stands behind it."""

import re

import pytest

from ullage.web.pages.shell import Shell

SHELL = Shell(cluster="cluster", clusters=("cluster",), origin="http://localhost:8480")


@pytest.mark.parametrize(
    ("subject", "title", "told"),
    [
        ("quota/ml", "Quota ml", "entitlement 90"),
        ("resource/memory", "Resource memory", "54% committed"),
        ("pod/ml/finetune-0", "Pod ml/finetune-0", "no"),
    ],
)
def test_a_subject_is_explained(draws, subject, title, told):
    page = draws("explain", shell=SHELL, subject=subject)
    assert title in page.words
    assert told in page.words
    assert f"ullage explain {subject} -c http://localhost:8480/v1/clusters/cluster" in page.words


def test_a_workload_over_its_quota_has_its_risk_told_and_one_that_waits_has_none(draws):
    assert "Its risk" in draws("explain", subject="pod/ml/notebook-4").words
    assert "Its risk" not in draws("explain", subject="quota/ml").words


def test_of_a_large_cluster_the_risk_is_not_counted_along(draws):
    source = "synthetic:nodes=600,seed=3"
    workload = re.search(r"/explain/pod/([^\"#]+)", draws("overview", source).html)[1]
    page = draws("explain", source, subject=f"pod/{workload}")
    assert "Its risk" not in page.words


@pytest.mark.parametrize("subject", ["", "planet/mars", "quota/nothing"])
def test_what_is_not_there_is_refused_in_one_line(draws, subject):
    assert "\n" not in draws("explain", subject=subject)["title"]
