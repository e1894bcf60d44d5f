"""`ullage htools` within the whole command line: every word after it belongs to the tool."""


def test_the_words_reach_the_tool_untouched(ask):
    result = ask("htools", "hbal", "--help")
    assert result.code == 0
    assert result.out.startswith("hbal (ullage) version ")
    assert "-t FILE" in result.out


def test_the_exit_code_is_that_of_the_tool(ask):
    assert ask("htools", "hbal", "--nothing").code == 2
    assert ask("htools", "hbal", "-Cfile", "-vv").err.startswith("Error: failed to load data")
    assert ask("htools").code == 1
