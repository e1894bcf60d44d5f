"""Static files come from this package alone, and are what their list says."""

import json
import re
from hashlib import sha256

import pytest

from ullage.render.html.assets import STATIC, STYLE, asset_address, assets, by_served_name

VENDORED = json.loads((STATIC / "vendored.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("entry", VENDORED, ids=lambda entry: entry["file"])
def test_a_file_of_others_is_exactly_the_version_that_is_named(entry):
    data = (STATIC / entry["file"]).read_bytes()
    assert sha256(data).hexdigest() == entry["sha256"]
    licences = (STATIC / "vendored_licenses.txt").read_text(encoding="utf-8")
    assert f"{entry['package']} {entry['version']}\n" in licences


def test_every_script_of_others_is_listed():
    ours = {"ullage.js", "history.js", "icon.svg", STYLE}
    assert set(assets()) - ours == {entry["file"] for entry in VENDORED}


def test_an_address_holds_a_digest_of_the_content():
    for name, asset in assets().items():
        stem, _, ending = name.rpartition(".")
        digest = sha256(asset.data).hexdigest()[:12]
        assert asset_address(name) == f"/static/{stem}.{digest}.{ending}"
        assert by_served_name()[asset.served_name] is asset


def test_the_style_holds_what_reports_have_and_both_themes():
    style = assets()[STYLE].data.decode()
    assert ".bar-row" in style
    assert all(f':root[data-theme="{theme}"]' in style for theme in ("light", "dark"))


def test_nothing_is_fetched_from_elsewhere():
    for asset in assets().values():
        if "css" in asset.content or asset.served_name.startswith(("ullage", "history")):
            assert not re.search(rb"url\(|@import|https?://", asset.data)


def test_scripts_of_ours_run_no_text():
    for name in ("ullage.js", "history.js"):
        assert not re.search(rb"\beval\b|new Function|innerHTML|document\.write", assets()[name].data)
