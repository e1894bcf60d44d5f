import subprocess
import sys

import pytest

from ullage.model.errors import InputError
from ullage.render import FORMATS, render

BEGINNINGS = {
    "table": "✓ 9 of 12 nodes",
    "wide": "✓ 9 of 12 nodes",
    "json": '{\n  "kind": "Status"\n}\n',
    "yaml": "kind: Status\n",
    "csv": "node,state,",
    "md": "# Status of demo\n",
    "html": "<!doctype html>\n",
    "svg": "<svg ",
}


@pytest.mark.parametrize("output", FORMATS)
def test_every_format_draws_the_answer(sample, output):
    text = render(sample, {"kind": "Status"}, output)
    assert text.startswith(BEGINNINGS[output])
    assert text.endswith("\n")


def test_width_colour_and_characters_reach_the_text(sample):
    assert render(sample, None, width=60) != render(sample, None, width=80)
    assert "\x1b[" in render(sample, None, color=True)
    assert render(sample, None, unicode=False).isascii()
    assert "rack    policy" in render(sample, None, "wide", width=200)
    assert "rack    policy" not in render(sample, None, "table", width=200)


def test_an_unknown_format_is_an_error_with_its_remedy(sample):
    with pytest.raises(InputError, match="-o: no output format 'xml'; use one of table, wide, json"):
        render(sample, None, "xml")


def test_a_table_loads_neither_templates_nor_yaml_nor_numpy():
    code = (
        "import sys, ullage.render as r, ullage.render.view as v\n"
        "r.render(v.Page('t', v.Verdict('fits')), None)\n"
        "print(sorted({'jinja2', 'yaml', 'numpy', 'rich'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
