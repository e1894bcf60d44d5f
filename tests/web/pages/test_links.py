"""Names lead to their explanations, where there are any."""

import pytest

from ullage.render.view import Cell, Column, Table
from ullage.service.asked import Asked, read_cluster
from ullage.web.pages.links import Links
from ullage.web.pages.shell import Shell


@pytest.fixture(scope="module")
def links():
    return Links(Shell(cluster="demo", clusters=("demo",)), read_cluster(Asked("demo")))


@pytest.mark.parametrize(
    ("kind", "name", "address"),
    [
        ("node", "n1", "/nodes/n1"),
        ("quota", "ml", "/explain/quota/ml"),
        ("pod", "ml/train-0", "/explain/pod/ml/train-0"),
        ("resource", "nvidia.com/gpu", "/explain/resource/nvidia.com/gpu"),
        ("domain", "rack-1", "/nodes?domain=rack-1"),
        ("group", "gpu", "/nodes?group=gpu"),
    ],
)
def test_what_the_cluster_has_has_an_address_and_what_it_has_not_has_none(links, kind, name, address):
    assert links.named(kind, name) == address
    assert links.named(kind, "nothing/there") == ""


def test_a_name_with_a_slash_is_one_part_of_an_address(tmp_path):
    path = tmp_path / "c.yaml"
    path.write_text("apiVersion: ullage.dev/v1\nkind: Snapshot\nnodes: [{name: a/b c}]\n", encoding="utf-8")
    assert Links(Shell(cluster="c"), read_cluster(Asked(str(path)))).node("a/b c") == "/nodes/a%2Fb%20c"


def test_amounts_that_are_written_as_a_list_lead_to_what_their_row_is_about(links):
    columns = (Column("evicted"), Column("node"), Column("frees"), Column("label"))
    row = (Cell("ml/notebook-4"), Cell("g2"), Cell("4 cpu, 48Gi memory"), Cell("over-quota"))
    table = Table("Evicted", columns, (row,))
    assert links.cell(table, row, 2) == "/explain/pod/ml/notebook-4"
    assert links.cell(table, row, 3) == ""


def test_a_column_or_a_fact_of_a_page_is_explained_where_the_page_says():
    links = Links(
        Shell(cluster="demo", clusters=("demo",)), read_cluster(Asked("demo")), {"drives": "#disks"}
    )
    table = Table(
        "Node", (Column("what"), Column("is")), ((Cell("drives"), Cell("2")), (Cell("swap"), Cell("0")))
    )
    assert [links.cell(table, row, 1) for row in table.rows] == ["#disks", ""]


def test_an_unknown_kind_has_no_address(links):
    assert links.named("planet", "n1") == ""


def test_the_subject_of_a_finding_leads_to_it(links):
    assert links.subject("node/s1") == "/nodes/s1"
    assert links.subject("ml/train-0") == "/explain/pod/ml/train-0"
    assert links.subject("cluster") == ""


TABLE = Table(
    "t",
    (Column("node"), Column("state"), Column("memory", "right"), Column("to")),
    ((Cell("n1"), Cell("ready"), Cell("4Gi"), Cell("n2")), (Cell("total"), Cell(""), Cell("-"), Cell("?"))),
)


def test_a_number_leads_to_what_its_row_is_about_at_its_resource(links):
    assert [links.cell(TABLE, TABLE.rows[0], at) for at in range(4)] == [
        "/nodes/n1",
        "",
        "/nodes/n1#memory",
        "/nodes/n2",
    ]
    assert [links.cell(TABLE, TABLE.rows[1], at) for at in range(4)] == [""] * 4


def test_a_row_about_a_resource_of_something_leads_to_that(links):
    table = Table(
        "t",
        (Column("node"), Column("resource"), Column("used", "right")),
        ((Cell("n1"), Cell("cpu"), Cell("4")),),
    )
    assert links.cell(table, table.rows[0], 2) == "/nodes/n1#cpu"


def test_names_in_a_sentence_are_links_and_everything_else_is_escaped(links):
    told = links.prose("node s1: <b> of quota nothing, ml/train-0 and x/y")
    assert told == (
        'node <a href="/nodes/s1">s1</a>: &lt;b&gt; of quota nothing, '
        '<a href="/explain/pod/ml/train-0">ml/train-0</a> and x/y'
    )


@pytest.mark.parametrize(
    ("name", "parameters", "link"),
    [
        ("overview", {}, "#findings"),
        ("quotas", {"risk": "1"}, "#found"),
        ("quotas", {"risk": "1"}, "#order"),
        ("node", {"node": "n3"}, "#disks"),
        ("what_if", {"waiting": "1"}, "#sums"),
    ],
)
def test_numbers_of_a_page_lead_to_a_place_that_is_on_it(draws, name, parameters, link):
    page = draws(name, **parameters)
    assert link in page.links
    assert f'id="{link[1:]}"' in page.html
