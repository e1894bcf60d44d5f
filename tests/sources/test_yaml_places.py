"""Lines and columns of paths in YAML, also of paths that lead where no text stands."""

import pytest

from ullage.sources.places import parse_path
from ullage.sources.yaml_places import Place, find_place

TEXT = b"""\
first: 1
---
spec:
  containers:
  - name: a
  - name: b
    ports: [80, {x: "y"}]
  on: &on {deep: 1}
  other: *on
  more:
    <<: *on
? [complex]
: ignored
last: 2
"""

PLACES = {
    (0, "first"): Place((1, 1), (1, 8)),
    (0, ""): Place(None, (1, 1)),
    (1, "spec"): Place((3, 1), (4, 3)),
    (1, "spec.containers[1].name"): Place((6, 5), (6, 11)),
    (1, "spec.containers[1].ports[1].x"): Place((7, 18), (7, 21)),
    (1, "spec.true.deep"): Place((8, 12), (8, 18)),
    (1, "last"): Place((14, 1), (14, 7)),
    # the deepest step that can be seen
    (1, "spec.other.deep"): Place((9, 3), (9, 10)),
    (1, "spec.more.deep"): Place((10, 3), (11, 5)),
    (1, "spec.containers[2].name"): Place((4, 3), (5, 3)),
    (1, "spec.containers[0][0]"): Place(None, (5, 5)),
    (1, "absent.x"): Place(None, (3, 1)),
    (2, "first"): Place(None, None),
}


@pytest.mark.parametrize(("path", "place"), PLACES.items(), ids=str)
def test_a_path_of_yaml_has_a_place(path, place):
    index, text = path
    assert find_place(TEXT, index, parse_path(text)) == place


def test_text_that_is_no_yaml_has_no_places():
    assert find_place(b"a: [", 0, ("a", 0)) == Place(None, None)
