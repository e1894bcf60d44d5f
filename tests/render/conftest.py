"""What every renderer's test may use: the sample page and the golden files."""

import os
from pathlib import Path

import pytest

from render.pages import sample_page
from ullage.render.view import Page

GOLDEN = Path(__file__).parent.parent / "golden" / "render"


@pytest.fixture(scope="session")
def sample() -> Page:
    return sample_page()


@pytest.fixture(scope="session")
def matches_golden():
    """Compare with a golden file; ULLAGE_UPDATE_GOLDEN=1 writes it instead."""

    def compare(name: str, text: str) -> None:
        path = GOLDEN / name
        if os.environ.get("ULLAGE_UPDATE_GOLDEN") == "1":
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
        assert path.exists(), f"{path.name} is missing; ULLAGE_UPDATE_GOLDEN=1 writes it"
        assert text == path.read_text(encoding="utf-8"), (
            "ULLAGE_UPDATE_GOLDEN=1 rewrites the file if this is right"
        )

    return compare
