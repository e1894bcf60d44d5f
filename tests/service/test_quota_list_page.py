"""How `quota list` reads."""

from builders import cluster, node, pod, quota
from ullage.service.quota_list import quota_list_of


def test_who_borrows_and_who_is_above_the_min(small, asked, read):
    text = read(quota_list_of(small, asked))
    assert text.startswith(
        "2 quotas; ml borrows 1 cpu, 20Gi memory, 1 nvidia.com/gpu, web borrows 2 cpu, 10Gi memory; 2"
    )
    assert "ml             1  ml/train" in text
    assert "Not simulated: the price of tea" in text
    assert text.splitlines()[-1] == "Next: ullage quota risk -c small.json"


def test_children_stand_below_their_parents(asked, read):
    tree = cluster(
        node("n", cpu="10"),
        quota("top", {"cpu": "6"}, namespaces=()),
        quota("below", {"cpu": "2"}, parent="top"),
        quota("lowest", {"cpu": "1"}, parent="below"),
        quota("empty", namespaces=("x",)),
    )
    text = read(quota_list_of(tree, asked))
    assert text.startswith("4 quotas; nobody borrows\n")
    lines = [line for line in text.splitlines() if " fair " in line]
    assert [line.split(" fair")[0].rstrip() for line in lines] == ["empty", "top", "└ below", "  └ lowest"]
    assert "a parent stands for all below it" in " ".join(text.split())
    assert text.splitlines()[-1] == "Next: ullage explain quota/empty -c small.json"


def test_a_guarantee_above_the_capacity_is_marked(asked, read):
    text = read(quota_list_of(cluster(node("n", cpu="1"), quota("a", {"cpu": "2"})), asked))
    assert "2 ✗" in text


def test_what_is_wrong_with_quotas_is_said(asked, read):
    text = read(quota_list_of(cluster(node("n", cpu="9"), quota("a", {"cpu": "3"}, {"cpu": "2"})), asked))
    assert text.startswith("1 quota; nobody borrows; 1 error in quotas\n")
    assert "What is wrong with quotas" in text
    sound = read(quota_list_of(cluster(node("n", cpu="9"), quota("a", {"cpu": "3"})), asked))
    assert "wrong" not in sound


def test_many_quotas_are_shortened(asked):
    pods = [pod(f"t0/p{number:02}", cpu="1", created_seconds=number) for number in range(20)]
    many = cluster(
        node("n", cpu="99").holding(*pods), *(quota(f"t{number}", {"cpu": "1"}) for number in range(70))
    )
    found = quota_list_of(many, asked)
    assert (len(found.page().blocks[0].rows), len(found.shortened().blocks[0].rows)) == (70, 60)
    assert found.shortened().blocks[0].caption.endswith("the first 60 of 70 rows, -o wide shows all")
    assert found.shortened().blocks[1].rows[0][2].text.endswith("t0/p08 and 11 more")
    assert found.page().blocks[1].rows[0][2].text.endswith("t0/p18, t0/p19")


def test_what_can_be_claimed_although_nobody_is_over_quota_is_said(asked, read):
    quotas = (quota("a", {"cpu": "4"}), quota("b", {"cpu": "4"}))
    text = read(quota_list_of(cluster(node("n", cpu="4").holding(pod("a/x", cpu="4")), *quotas), asked))
    assert text.startswith(
        "2 quotas; nobody borrows; others could claim back 2 cpu of a, which is not over quota"
    )
    assert text.splitlines()[-1] == "Next: ullage quota risk -c small.json"


def test_a_quota_whose_min_names_nothing_shows_what_it_uses_and_borrows(asked, read):
    quotas = (quota("a"), quota("b", {"cpu": "4"}))
    text = read(quota_list_of(cluster(node("n", cpu="4").holding(pod("a/x", cpu="4")), *quotas), asked))
    assert text.startswith("2 quotas; a borrows 4 cpu; others could claim back 4 cpu of a")
