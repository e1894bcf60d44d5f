"""Whoever waits for a claim hears of each change, and can tell what came after its own."""

import pytest

from sources.kubernetes.api.object_pool import stored
from ullage.sources.kubernetes.api.mirror import Mirror
from ullage.sources.kubernetes.api.mirrored_claims import ClaimFacts, revision_number


def claim(revision: str = "7", **annotations: str):
    metadata = {"uid": "u", "resourceVersion": revision, "annotations": annotations}
    metadata["labels"] = {"drive.csi-baremetal.dell.com/storage-group": "red"}
    return stored("v1", "PersistentVolumeClaim", "a", namespace="web", metadata=metadata, spec={})


def test_facts_are_there_at_once_and_each_change_is_heard():
    mirror = Mirror()
    heard: list[str] = []
    mirror.hear_claims(heard.append)
    first, second = claim(), claim("8", **{"volume.kubernetes.io/selected-node": "n1"})
    mirror.put(first.kind, first.text)
    assert mirror.claim("web/a") == ClaimFacts("u", 7, storage_group="red")
    mirror.put(second.kind, second.text)
    assert mirror.claim("web/a") == ClaimFacts("u", 8, "n1", storage_group="red")
    mirror.drop(second.kind, second.text)
    assert mirror.claim("web/a") is None
    assert heard == ["web/a"] * 3


def test_a_claim_that_a_list_does_not_have_is_gone():
    mirror = Mirror()
    each = claim()
    mirror.put(each.kind, each.text)
    heard: list[str] = []
    mirror.hear_claims(heard.append)
    mirror.begin(each.kind)
    mirror.end(each.kind)
    assert (mirror.claim("web/a"), heard) == (None, ["web/a"])


@pytest.mark.parametrize(("text", "number"), [("12", 12), ("", 0), ("later", 0), ("²", 0), ("-1", 0)])
def test_a_revision_is_a_number(text, number):
    assert revision_number(text) == number
