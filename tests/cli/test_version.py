"""`ullage version`."""

import platform

from ullage import __version__


def test_it_names_the_version_and_the_python_it_runs_on(ask):
    assert ask("version") == (0, f"ullage {__version__} (Python {platform.python_version()})\n", "")
