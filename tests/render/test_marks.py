import pytest

from ullage.render.marks import (
    SEVERITY_TONES,
    VERDICT_TONES,
    mark,
    operator_sign,
    severity_mark,
    verdict_mark,
)


@pytest.mark.parametrize("unicode", [True, False])
def test_what_warns_is_told_apart_without_colour(unicode):
    marks = [mark(tone, unicode=unicode) for tone in ("plain", "warn", "bad")]
    verdicts = [verdict_mark(tone, unicode=unicode) for tone in VERDICT_TONES]
    severities = [severity_mark(severity, unicode=unicode) for severity in SEVERITY_TONES]
    for signs in (marks, verdicts, severities):
        assert len(set(signs)) == 3
        assert unicode or all(sign.isascii() for sign in signs)


def test_operators_are_set_as_in_print():
    assert [operator_sign(sign) for sign in ("-", "x", "/", "+", "max")] == [
        "\N{MINUS SIGN}",
        "\N{MULTIPLICATION SIGN}",
        "\N{DIVISION SIGN}",
        "+",
        "max",
    ]
    assert [operator_sign(sign, unicode=False) for sign in ("-", "x", "/")] == ["-", "x", "/"]
