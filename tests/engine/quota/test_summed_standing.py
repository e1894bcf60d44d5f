"""The same answers as a standing, whatever comes and goes."""

from hypothesis import given, settings
from hypothesis import strategies as st

from builders import quota
from ullage.engine.quota.book import NO_QUOTA, Book, Member
from ullage.engine.quota.standing import Standing
from ullage.engine.quota.summed_standing import SummedStanding
from ullage.model.resources import NOTHING, Resources

BOOK = Book([quota("a", min=Resources({"cpu": 5})), quota("b", min=Resources({"cpu": 3, "memory": 4}))])

members = st.builds(
    lambda place, cpu, memory, created, priority: Member(
        "", place, (cpu, memory), NOTHING, "", priority, created
    ),
    st.sampled_from((0, 1, 1, NO_QUOTA)),
    st.integers(0, 4),
    st.integers(0, 4),
    st.integers(0, 3),
    st.integers(0, 2),
)
orders = st.sampled_from((("created", "requests", "name"), ("-created", "name"), ("-priority", "name")))


@settings(max_examples=150, deadline=None)
@given(st.lists(members, min_size=1, max_size=9), st.integers(0, 9), orders, st.data())
def test_who_is_over_quota_is_the_same_after_any_changes(found, first, order, data):
    everyone = [each._replace(key=str(number)) for number, each in enumerate(found)]
    running, others = everyone[:first], everyone[first:]
    plain = Standing(BOOK, running, order)
    summed = SummedStanding(plain)
    for _ in range(6):
        for each in running:
            if each.quota != NO_QUOTA:
                assert summed.is_over_quota(each) == plain.is_over_quota(each)
                assert summed.is_over_quota(each, each) == plain.is_over_quota(each, each)
        assert summed.used == plain.used
        moved = data.draw(st.sampled_from(everyone))
        into, out_of = (others, running) if moved in running else (running, others)
        out_of.remove(moved)
        into.append(moved)
        for standing in (plain, summed):
            (standing.add if moved in running else standing.remove)(moved)
