"""Candidates by kind: judged by a plain list that is sorted anew each time."""

from hypothesis import given
from hypothesis import strategies as st

from ullage.engine.quota.book import Member
from ullage.engine.quota.candidate_line import CandidateLine
from ullage.model.resources import NOTHING

MEMBERS = [Member(f"p{number}", number % 3, (1,), NOTHING) for number in range(9)]
PLACES = {member.key: place for place, member in enumerate(MEMBERS)}


@given(st.lists(st.integers(0, 8), max_size=30))
def test_kinds_stand_by_the_first_who_is_left_of_them(changes):
    line = CandidateLine({kind: MEMBERS[kind::3] for kind in range(3)}, PLACES)
    left = set(range(9))
    for place in changes:
        member, kind = MEMBERS[place], place % 3
        assert line.has(kind, member) == (place in left)
        if place in left:
            line.remove(kind, member)
        else:
            line.add(kind, member)
        left ^= {place}
        firsts = {
            kind: min(each for each in left if each % 3 == kind) for kind in {each % 3 for each in left}
        }
        assert line.kinds() == sorted((first, kind) for kind, first in firsts.items())
        assert {kind for kind in range(3) if kind in line} == firsts.keys()
        assert all(line.first(kind) is MEMBERS[first] for kind, first in firsts.items())
