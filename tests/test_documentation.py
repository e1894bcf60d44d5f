"""What README and docs show is what the program prints."""

import re

import pytest

from documented import ROOT, examples, output, pages

EXAMPLES = [
    pytest.param(command, printed, id=f"{page.relative_to(ROOT)}: {command}")
    for page in pages()
    for block in examples(page)
    for command, printed in block
]


@pytest.mark.parametrize(("command", "printed"), EXAMPLES)
def test_an_example_prints_what_the_page_shows(command, printed):
    assert output(command) == printed


def test_the_readme_shows_examples():
    assert len(examples(ROOT / "README.md")) >= 5


def test_the_picture_of_the_readme_is_what_the_command_draws():
    drawn = output("ullage fit -c demo -f examples/finetune.yaml -o svg")
    assert (ROOT / "docs/images/refusal.svg").read_text(encoding="utf-8").rstrip("\n") == drawn


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_pages_lead_somewhere(page):
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
        assert (page.parent / target).exists(), target
