import pytest

from ullage.model.errors import InputError


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (InputError("no such node"), "no such node"),
        (InputError("no such node", where="pods.json"), "pods.json: no such node"),
        (InputError("no such node", remedy="name one of n1, n2"), "no such node; name one of n1, n2"),
        (InputError("bad", where="a.yaml", remedy="use 1Gi"), "a.yaml: bad; use 1Gi"),
    ],
    ids=["what", "where-and-what", "what-and-remedy", "all-three"],
)
def test_an_error_is_one_line_of_place_fact_and_remedy(error, line):
    assert str(error) == line


def test_an_outer_place_comes_before_the_inner_one_and_fact_and_remedy_stay():
    inner = InputError("bad quantity", where="spec.cpu", remedy="use 500m")
    outer = inner.at("pods.json").at("folder")
    assert str(outer) == "folder: pods.json: spec.cpu: bad quantity; use 500m"
    assert str(inner) == "spec.cpu: bad quantity; use 500m"


def test_a_place_can_be_given_to_an_error_that_has_none():
    assert str(InputError("bad quantity").at("pods.json")) == "pods.json: bad quantity"


def test_an_input_error_is_a_value_error_and_shows_its_parts():
    error = InputError("bad", where="here", remedy="fix")
    assert isinstance(error, ValueError)
    assert error.args == ("bad", "here", "fix")
    assert (error.what, error.where, error.remedy) == ("bad", "here", "fix")


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("a\nb", r"a\nb"),
        ("\x1b[31m", r"\x1b[31m"),
        ("\udc80", r"\udc80"),
        ("\u2028", r"\u2028"),
        ("é…", "é…"),
    ],
)
def test_a_message_is_one_printable_line_whatever_it_quotes(given, shown):
    assert str(InputError(given)) == shown
    assert str(InputError("x", where=given)) == f"{shown}: x"
