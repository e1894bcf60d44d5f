"""Input that cannot be used, and stores that cannot be reached, as problems."""

import pytest

from ullage.model.errors import InputError
from ullage.stores.protocol import StoreBusyError
from ullage.web.problems import busy, of_input


@pytest.mark.parametrize(
    ("error", "status", "members"),
    [
        (InputError("wrong"), 422, {"what": "wrong"}),
        (
            InputError("wrong", where="f:1", remedy="mend it"),
            422,
            {"what": "wrong", "where": "f:1", "remedy": "mend it"},
        ),
        (StoreBusyError("busy", where="ledger.db"), 503, {"what": "busy", "where": "ledger.db"}),
    ],
)
def test_a_problem_has_the_line_and_its_parts(error, status, members):
    problem = of_input(error)
    assert (problem.status, problem.title, problem.members) == (status, str(error), members)


@pytest.mark.parametrize(
    ("where", "told"),
    [
        ("/var/lib/a b/clusters/demo/ledger.db", "the ledger of demo"),
        ("data/clusters/demo/ledger.db-wal", "the ledger of demo"),
        ("/var/lib/server.db", "the server's state"),
    ],
)
def test_where_the_server_keeps_its_files_is_told_to_nobody(where, told):
    error = StoreBusyError("is damaged", where=where, remedy=f"upgrade '{where}'")
    problem = of_input(error)
    assert (problem.status, problem.title) == (503, f"{told}: is damaged; upgrade '{told}'")
    assert "/" not in str(problem.members)


def test_who_is_to_wait_is_told_how_long():
    assert busy("much to do", 7).members == {"retryAfterSeconds": 7}
