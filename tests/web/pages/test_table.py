"""Every page that has an address has a function."""

from ullage.web.api.table import MODULES
from ullage.web.pages import PAGES
from ullage.web.pages.table import NAMES


def test_each_name_is_a_page_that_can_be_drawn(draws):
    wanted = {"node": {"node": "n1"}, "explain": {"subject": "quota/ml"}}
    assert set(NAMES) == set(PAGES)
    for name in set(NAMES) - {"step"}:  # it needs a ledger, see test_step.py
        assert draws(name, **wanted.get(name, {})).words


def test_a_page_of_another_name_is_not_there(draws):
    assert draws("nothing")["status"] == 404


def test_every_link_of_every_page_has_a_route(draws):
    paths = {route.path for module in MODULES for route in module.ROUTES}
    first = {path.split("/")[1] for path in paths}
    seen, waiting = set(), [("overview", {}), ("nodes", {}), ("node", {"node": "s1"}), ("quotas", {})]
    for name, parameters in waiting:
        seen |= {link.partition("?")[0].partition("#")[0] for link in draws(name, **parameters).links}
    assert {link.split("/")[1] for link in seen if link.startswith("/")} - first == set()
