import pytest

from ullage.render.palette import DARK, LIGHT


def luminance(color):
    channels = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("behind", ["ground", "surface"])
def test_text_can_be_read_and_bars_can_be_seen(palette, behind):
    for name in ("text", "muted", "ok", "warn", "bad", "link"):
        assert contrast(palette[name], palette[behind]) >= 4.5, name
    for name in (name for name in palette if name.startswith("bar-")):
        assert contrast(palette[name], palette["ground"]) >= 3, name


def test_light_and_dark_name_the_same_colours():
    assert list(LIGHT) == list(DARK)
