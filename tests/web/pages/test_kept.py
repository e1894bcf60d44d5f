"""What pages need is counted once for each state of a cluster."""

from ullage.render.html import environment
from ullage.service.asked import Asked, read_to_hold
from ullage.service.held import holding
from ullage.web.pages.kept import kept_status, prepare


def test_a_cluster_that_is_the_same_is_counted_once_and_another_anew():
    one, other = read_to_hold("c", Asked("demo")), read_to_hold("c", Asked("demo"))
    with holding([one]):
        first = kept_status(Asked("c"))
        assert kept_status(Asked("c"))[1] is first[1]
    with holding([other]):
        second = kept_status(Asked("c"))
        assert second[1] is not first[1]
        assert second[1] == first[1]


def test_preparing_counts_and_loads_every_template():
    held = read_to_hold("c", Asked("demo"))
    with holding([held]):
        prepare(Asked("c"))
        before = len(environment().cache)
        kept_status(Asked("c"))
    assert before == len(environment().list_templates(extensions=("jinja",)))
