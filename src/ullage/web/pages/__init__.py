"""The page: one module per view, each of which makes HTML of the answers to questions."""

from ullage.web.pages.table import PAGES

__all__ = ["PAGES"]
