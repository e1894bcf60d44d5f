"""What if something were asked for."""

from pathlib import Path

import pytest

from ullage.service.fit import FitQuestion
from ullage.web.pages.shell import Shell
from ullage.web.pages.what_if import EXAMPLE, command_words, question_of

EXAMPLES = Path(__file__).parents[3] / "examples"


def test_a_manifest_that_fits_goes_to_nodes_and_may_be_kept_as_a_plan(draws):
    page = draws("what_if", body=EXAMPLE.encode(), namespace="web")
    assert "api fits: 3 replicas" in page.words
    assert "Keep it as a plan" in page.words
    assert any(link.startswith("/nodes/n") for link in page.links)
    assert EXAMPLE.strip() in page.html.replace("&#34;", '"')


def test_who_pays_is_named_and_its_numbers_lead_to_the_quota(draws):
    page = draws("what_if", body=EXAMPLE.encode(), namespace="web")
    assert "Who pays" in page.words
    assert "/explain/quota/web" in page.links
    assert "Nobody pays" not in page.words
    page = draws("what_if", body=EXAMPLE.encode(), namespace="elsewhere")
    assert "Nobody pays: no quota counts it" in page.words
    assert "Who pays" not in page.words


def test_who_may_not_plan_is_offered_no_plan(draws):
    reader = Shell(cluster="cluster", clusters=("cluster",), scope="read")
    assert "Keep it as a plan" not in draws("what_if", body=EXAMPLE.encode(), shell=reader).words


def test_a_manifest_that_does_not_fit_says_why_and_what_would_help(draws):
    page = draws("what_if", body=(EXAMPLES / "finetune.yaml").read_bytes())
    assert 'class="verdict bad"' in page.html
    assert "as a plan" not in page.words


def test_where_a_part_fits_that_part_may_be_kept_as_a_plan(draws):
    manifest = (EXAMPLES / "checkout.yaml").read_bytes()
    page = draws("what_if", body=manifest)
    assert "1 of 2 workloads do not fit: 6 of 7 placed" in page.words
    assert "Keep what fits as a plan" in page.words
    assert "as a plan" not in draws("what_if", body=manifest, atomic="1").words


@pytest.mark.parametrize("manifest", [b"kind: [", b"\xff\xfe", b"just text", b"a: &a [*a]"])
def test_what_cannot_be_read_is_told_in_one_line_and_stays_in_the_box(draws, manifest):
    page = draws("what_if", body=manifest)
    assert 'class="notice bad"' in page.html
    assert "Does it fit?" in page.words


def test_a_shape_can_be_asked_about_and_its_terminal_is_named(draws):
    assert "fit" in draws("what_if", shape="cpu=1,memory=1Gi", replicas="2").words
    assert "is no resource" in draws("what_if", shape="nonsense").words


def test_those_that_wait_can_be_asked_about(draws):
    assert "finetune-0" in draws("what_if", waiting="1").words


def test_the_form_alone_asks_nothing(draws):
    page = draws("what_if")
    assert "Answer" not in page.words
    assert "Why do 2 workloads wait?" in page.words


@pytest.mark.parametrize(
    ("parameters", "body", "question"),
    [
        ({}, b"", None),
        ({}, b" \n", None),
        ({"shape": "cpu=1"}, b"", FitQuestion(shape="cpu=1")),
        ({"shape": "cpu=1"}, b"kind: Pod", FitQuestion(("-",))),
        ({"replicas": "7", "atomic": "1"}, b"kind: Pod", FitQuestion(("-",), replicas=7, atomic=True)),
        ({"replicas": "many", "shape": "cpu=1"}, b"", FitQuestion(shape="cpu=1")),
        ({"waiting": "1"}, b"", FitQuestion()),
    ],
)
def test_a_form_is_a_question_and_the_manifest_counts_before_the_shape(parameters, body, question):
    assert question_of(parameters, body) == question


def test_a_form_that_asks_nothing_says_what_to_do(draws):
    page = draws("what_if", csrf="c", shape="", replicas="")
    assert 'role="alert"' in page.html.partition('id="answer"')[2]
    assert "paste a manifest" in page.words


@pytest.mark.parametrize(
    ("parameters", "body", "command"),
    [
        ({}, b"", "fit -f MANIFEST"),
        ({"namespace": "web", "atomic": "1"}, b"kind: Pod", "fit -f MANIFEST --atomic -n web"),
        ({"shape": "cpu=1", "replicas": "3"}, b"", "fit --shape cpu=1 --replicas 3"),
        ({"waiting": "1"}, b"", "fit"),
    ],
)
def test_the_terminal_is_told_the_same_question(parameters, body, command):
    assert command_words(question_of(parameters, body), parameters.get("namespace", "")) == command
