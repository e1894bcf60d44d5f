"""What was used of late is the same by a ledger as by a book of all that it has recorded."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ullage.engine.usage.book import Book
from ullage.engine.usage.hollow import MEASURED, Recent
from ullage.stores.usage import Batch, Marks, append, read_book
from ullage.stores.usage_parts import looking
from ullage.stores.usage_recent import StoredRecent
from usage_builders import DAY, book, every

SUBJECTS = ("node/n1", "pod/shop/web-0", "container/shop/web-0/main")
streams = st.dictionaries(
    st.tuples(st.sampled_from(SUBJECTS), st.sampled_from(["cpu", "memory"]), st.sampled_from(MEASURED)),
    st.builds(
        every,
        st.sampled_from([60, DAY // 4, DAY]),
        st.lists(st.integers(0, 5000) | st.none(), min_size=1, max_size=60),
        st.integers(0, 20).map(lambda day: day * DAY),
    ),
    max_size=4,
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(streams, streams)
def test_a_ledger_tells_what_a_book_of_it_tells(tmp_path_factory, observed, added):
    path = tmp_path_factory.mktemp("ledger") / "ledger.db"
    append(path, Batch("test", book(observed), Marks(0, {}), 60 * DAY))
    more = book(
        {key: points for key, points in added.items() if key not in observed and points[-1][0] < 9 * DAY}
    )
    whole = read_book(path)
    span = whole.span()
    whole.merge(more)
    by_book = Recent(whole, None if span is None else span[1])
    with looking(path) as connection:
        by_ledger = StoredRecent(connection, more)
        for subject in SUBJECTS:
            assert by_ledger.resources(subject) == by_book.resources(subject)
            for resource in by_book.resources(subject):
                most = by_book.most(subject, resource)
                assert by_ledger.most(subject, resource) == most
                if most is not None:
                    assert by_ledger.lasting(subject, resource) == by_book.lasting(subject, resource)


def test_of_nobody_nothing_is_known(tmp_path):
    path = tmp_path / "ledger.db"
    append(path, Batch("test", Book(), Marks(0, {}), 0))
    with looking(path) as connection:
        recent = StoredRecent(connection, Book())
        assert (recent.resources("node/n1"), recent.most("node/n1", "cpu")) == ([], None)


def test_what_lasts_is_never_more_than_the_most_nor_less_than_the_least(tmp_path):
    path = tmp_path / "ledger.db"
    observed = {(f"node/{amount}", "cpu"): every(60, [amount] * 40) for amount in (4993, 5055)}
    append(path, Batch("test", book(observed), Marks(0, {}), DAY))
    with looking(path) as connection:
        recent = StoredRecent(connection, Book())
        assert [recent.lasting(f"node/{each}", "cpu") for each in (4993, 5055)] == [4993, 5055]
