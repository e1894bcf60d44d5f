import pytest

from ullage.engine.balance.facts import Load
from ullage.model.errors import InputError
from ullage.sources.ganeti import utilisation
from ullage.sources.ganeti.utilisation import read_utilisation


def test_a_line_names_an_instance_and_four_loads_and_the_last_one_holds():
    loads = read_utilisation("a 1 2 3 4\n\nb 0.5 0 1e-3 0.25\na 9 9 9 9\n", "f.util")
    assert loads == {"a": Load(9, 9, 9, 9), "b": Load(0.5, 0, 0.001, 0.25)}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("a 1 2 3", "f.util line 2: there are 3 numbers after the name; write instance cpu memory disk net"),
        ("a 1 2 3 4 5", "f.util line 2: there are 5 numbers after the name"),
        ("a x 2 3 4", "f.util line 2, field cpu: 'x' is no load"),
        ("a 1 -2 3 4", "f.util line 2, field memory: '-2' is no load"),
        ("a 1 2 nan 4", "f.util line 2, field disk: 'nan' is no load"),
        ("a 1 2 3 1e99", "f.util line 2, field net: '1e99' is no load"),
        ("a 1 2 3 1_0", "f.util line 2, field net: '1_0' is no load"),
    ],
)
def test_a_bad_line_is_refused_with_its_number_and_field(line, said):
    with pytest.raises(InputError) as raised:
        read_utilisation(f"b 1 1 1 1\n{line}\n", "f.util")
    assert str(raised.value).startswith(said)


def test_the_number_of_lines_is_bounded(monkeypatch):
    monkeypatch.setattr(utilisation, "LINES_MAX", 1)
    with pytest.raises(InputError, match="there are 2 lines; the most is 1"):
        read_utilisation("a 1 1 1 1\nb 1 1 1 1\n")
