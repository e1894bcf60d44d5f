"""What the command line says, in the words of a page."""

import re

import pytest

from ullage.web.pages.plain_words import in_plain_words


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("standard input:2:1: malformed; mend it", "the manifest, line 2: malformed; mend it"),
        ("standard input:12: spec: a pod", "the manifest, line 12: spec: a pod"),
        ("standard input: empty", "the manifest: empty"),
        ("-f: there is no workload in it", "the manifest: there is no workload in it"),
        ("--shape: 'x' is no resource", "the shape: 'x' is no resource"),
        (
            "--commit: a shape cannot be held: nobody would own it; name workloads with -f",
            "a shape cannot be held: nobody would own it; paste a manifest that names workloads",
        ),
        ("--lose: no node 'a'", "no node 'a'"),
        ("the first 40 of 50, -o wide shows all", "the first 40 of 50, the command below tells all"),
        ("the lower the more even; --weight TERM=NUMBER weighs a term", "the lower the more even"),
        ("no node 'g9'; did you mean g3?", "no node 'g9'; did you mean g3?"),
        ("team-f/x -fast a--shape", "team-f/x -fast a--shape"),
        ("", ""),
    ],
)  # fmt: skip
def test_options_become_what_the_page_has_instead(said, shown):
    assert in_plain_words(said) == shown


MANIFESTS = (
    b"kind: [",
    b"a: 1\n  b: 2\n",
    b"just text",
    b"{}",
    b"kind: ConfigMap\napiVersion: v1\nmetadata: {name: a}",
    b"apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: 5",
)
OF_THE_COMMAND_LINE = re.compile(r"standard input|(?<![\w-])-f\b|(?<![\w-])--[a-z]")


@pytest.mark.parametrize("manifest", MANIFESTS)
def test_no_error_about_a_manifest_speaks_of_the_command_line(draws, manifest):
    words = draws("what_if", body=manifest).words
    error = words.partition("✗")[2]
    assert "the manifest" in error
    assert not OF_THE_COMMAND_LINE.search(error)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("what_if", {"shape": "nonsense"}),
        ("what_breaks", {"lose": "moon/earth"}),
        ("what_breaks", {"lose": "node/n1\ndrive/n3-nvme-0"}),
        ("balance", {"drain": "nothing"}),
    ],
)
def test_no_other_error_does(draws, name, parameters):
    [error] = re.findall(r'class="notice bad"[^>]*>(.*?)</p>', draws(name, **parameters).html, re.DOTALL)
    assert not OF_THE_COMMAND_LINE.search(error)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("balance", {}),
        ("quotas", {}),
        ("drives", {}),
        ("overview", {}),
        ("what_breaks", {"lose": "domain/rack-1"}),
    ],
)
def test_what_stands_below_tables_and_answers_speaks_of_the_page(draws, name, parameters):
    html = draws(name, **parameters).html
    captions = re.findall(r'<p class="caption">(.*?)</p>', html)
    captions += re.findall(r"Not simulated</span>(.*?)</p>", html)
    for caption in captions:
        assert not OF_THE_COMMAND_LINE.search(caption)
