"""The colours of HTML and SVG, for light and for dark ground.

Text colours have a contrast of at least 4.5 to the ground and the surface they stand on, bars of at
least 3; a test computes it.
"""

LIGHT = {
    "ground": "#fcfcfa",
    "surface": "#f4f4f1",
    "rule": "#dedfdb",
    "text": "#22262b",
    "muted": "#5c636c",
    "ok": "#1b7048",
    "warn": "#8a5300",
    "bad": "#b3261e",
    "link": "#2d5a8e",
    "bar-plain": "#5b7fab",
    "bar-strong": "#3f618d",
    "bar-muted": "#8a9099",
    "bar-ok": "#4f9a73",
    "bar-warn": "#b98024",
    "bar-bad": "#c4453c",
}
DARK = {
    "ground": "#15181b",
    "surface": "#1d2125",
    "rule": "#31363c",
    "text": "#e3e5e8",
    "muted": "#9ea6af",
    "ok": "#74c79b",
    "warn": "#dda559",
    "bad": "#f28b82",
    "link": "#8bb4e3",
    "bar-plain": "#7094c2",
    "bar-strong": "#8fb0da",
    "bar-muted": "#757d87",
    "bar-ok": "#4f9f77",
    "bar-warn": "#c6933f",
    "bar-bad": "#e06b61",
}
