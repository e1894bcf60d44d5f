from sources.kubernetes.kube import dumped, node, thing


def test_a_type_object_counts_wherever_it_stands_in_its_dump():
    one = thing("ullage.dev/v1", "ResourceType", spec={"name": "example.com/x", "internalScaleExponent": 3})
    holder = node("n1", {"cpu": "1", "example.com/x": "2"})
    for items in ((one, holder), (holder, one)):
        assert dumped(*items).nodes["n1"].capacity["example.com/x"] == 2000
