"""The tables: columns that a user chooses, names without their common domain, the rule of a memory ratio."""

from fractions import Fraction

import pytest

from ullage.engine.balance.fleet import Fleet
from ullage.service.htools.loading import load
from ullage.service.htools.options import Options
from ullage.service.htools.tables import COLUMNS, UNKNOWN, common_suffix, instance_table, node_table
from ullage.sources.ganeti.text import read_text


def fleet_of(path: str, **changes: object) -> Fleet:
    loaded = load(Options("hbal", data_file=path)._replace(**changes))
    return Fleet(loaded.cluster, loaded.view)


def test_the_usual_columns_are_those_of_ganeti(data) -> None:
    heading, line, *_ = node_table(fleet_of(data()))
    assert heading == (
        " F Name  t_mem n_mem i_mem x_mem f_mem u_mem r_mem t_dsk f_dsk pcpu vcpu pcnt scnt p_fmem p_fdsk "
        "r_cpu  lCpu  lMem  lDsk  lNet"
    )
    assert line == (
        "   node1  4096   256  1792     0  2048  2048     0   100    60    8    4    2    0 0.5000 0.6000 "
        " 0.50 2.000 2.000 2.000 2.000"
    )


def test_with_a_memory_ratio_free_memory_has_one_column(data) -> None:
    heading = node_table(fleet_of(data(), memory_ratio=Fraction(2)))[0].split()
    assert "u_mem" not in heading
    assert "f_mem" in heading


@pytest.mark.parametrize(
    ("fields", "heading"),
    [
        (("name", "amem"), ["Name", "a_mem"]),
        (("nothing",), UNKNOWN.split()),
        (("+", "idx"), [*(COLUMNS["nload"].heading,), "Index"]),
    ],
)
def test_a_user_chooses_columns_or_adds_them(data, fields: tuple[str, ...], heading: list[str]) -> None:
    assert node_table(fleet_of(data()), fields)[0].split()[-len(heading) :] == heading


def test_every_column_shows_something_of_every_node(data) -> None:
    lines = node_table(fleet_of(data(tags=("htools:iextags:svc",))), tuple(COLUMNS))
    assert len(lines) == 4
    assert "svc:web=1" in lines[1]
    assert "[(0,1024)]" in lines[2]


def test_a_node_of_unknown_size_is_offline_and_shows_no_numbers(data) -> None:
    lines = node_table(fleet_of(data(nodes=("a|?|?|?|?|?|?|N|uuid-1|1",), instances=())))
    assert lines[1].split()[:2] == ["-", "a"]
    assert "NaN" in lines[1]


def test_instances_are_listed_with_their_whole_names(data) -> None:
    shown = [line.split() for line in instance_table(fleet_of(data()))]
    loads = ["1.000"] * 4
    assert shown[1:] == [
        ["R", "web.example.com", "node1.example.com", "node2.example.com", "Y", "1", "1024", "20", *loads],
        ["R", "data.example.com", "node1.example.com", "Y", "2", "768", "20", *loads],
        ["mail.example.com", "node2.example.com", "Y", "1", "512", "0", *loads],
    ]


@pytest.mark.parametrize(
    ("names", "suffix"),
    [
        (("a.x.y", "b.x.y"), ".x.y"),
        (("a.x.y", "b.z.y"), ".y"),
        (("a", "b.y"), ""),
        (("a.y",), ".y"),
        ((), ""),
    ],
)
def test_the_domain_that_all_names_share_is_left_out(names: tuple[str, ...], suffix: str) -> None:
    nodes = "".join(f"{name}|1|0|1|1|1|1|N|u|1\n" for name in names)
    assert common_suffix(read_text(f"g|u|preferred||\n\n{nodes}\n\n\n")) == suffix
