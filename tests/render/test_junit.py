"""JUnit XML: well formed whatever the names, one case for each check."""

from xml.etree import ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st

from ullage.render.junit import Case, Failure, Suite, render


def parsed(suite):
    return ET.fromstring(render(suite))  # noqa: S314 - we wrote it ourselves


def test_one_case_for_each_check_with_its_failures():
    suite = Suite(
        "checks",
        (
            Case("fine"),
            Case("noted", notes=("warning: a", "info: b")),
            Case(
                "bad",
                (Failure("kind", "it <is> \"bad\" & 'worse'", "mend it"), Failure("kind", "too")),
                ("seen",),
            ),
        ),
    )
    top = parsed(suite)
    (found,) = top
    assert (top.tag, found.tag, found.get("name")) == ("testsuites", "testsuite", "checks")
    assert (found.get("tests"), found.get("failures"), found.get("errors")) == ("3", "1", "0")
    fine, noted, bad = found
    assert list(fine) == []
    assert [each.tag for each in noted] == ["system-out"]
    assert noted[0].text == "warning: a\ninfo: b"
    assert [each.tag for each in bad] == ["failure", "failure", "system-out"]
    assert bad[0].get("message") == "it <is> \"bad\" & 'worse'"
    assert bad[0].text == "it <is> \"bad\" & 'worse'\nremedy: mend it"
    assert (bad[0].get("type"), bad[1].text) == ("kind", "too")
    assert {each.get("classname") for each in found} == {"checks"}


def test_no_checks_are_a_suite_too():
    assert parsed(Suite("none", ())).get("tests") == "0"


@given(text=st.text())
def test_any_text_is_well_formed(text):
    suite = Suite(text, (Case(text, (Failure(text, text, text),), (text,)),))
    (case,) = parsed(suite)[0]
    assert case.get("name") == Case(text).name.replace("\n", " ").replace("\t", " ").replace("\r", " ")
