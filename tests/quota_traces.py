"""Small traces for tests: quotas with hardly any room, and workloads that come, run and are withdrawn."""

from random import Random

from ullage.engine.quota.book import NO_QUOTA, Book, Member
from ullage.engine.quota.events import POOL, CapacityChange, Job, Setting
from ullage.model.cluster import Quota
from ullage.model.resources import Resources

RESOURCES = ("cpu", "gpu")


def job(
    setting: Setting,
    key: str,
    quota: str,
    at: int = 0,
    duration: int | None = None,
    *,
    priority: int = 0,
    leaves: int | None = None,
    runs: bool = False,
    **takes: int,
) -> Job:
    """Return a job of a quota, '' for none; its kind is made of what makes it differ."""
    book = setting.book
    place = book.index[quota] if quota else NO_QUOTA
    asked = Resources(takes)
    member = Member(key, place, book.amounts(asked), asked, POOL, priority, at)
    kind = 1 + abs(hash((place, tuple(sorted(takes.items())), priority)))
    takes_of_pool = tuple((name, amount) for name, amount in asked.items() if amount)
    return Job(member, kind, takes_of_pool, at, duration, leaves, runs)


def setting(mode: str = "fair", capacity: dict[str, int] | None = None, **mins: dict[str, int]) -> Setting:
    """Return flat quotas by their mins, in one mode, and the room of the cluster."""
    book = Book([Quota(name, namespaces=(name,), min=Resources(least)) for name, least in mins.items()], mode)
    return Setting(book, capacity or {})


def random_trace(seed: int) -> tuple[Setting, list[Job], list[CapacityChange], int]:
    """Return quotas (some of them in a tree), a few workloads, a change of capacity, and a least run time."""
    random = Random(seed)  # noqa: S311 - nothing secret
    names = RESOURCES[: random.randint(1, 2)]

    def amounts(least: int, most: int) -> dict[str, int]:
        return {name: random.randint(least, most) for name in names}

    mode = random.choice(("nos", "fair", "fair"))
    tree = mode == "fair" and random.random() < 0.5
    leaves = "ABC"[: random.randint(2, 3)]
    mins = {name: amounts(0, 5) for name in leaves}
    quotas = [
        Quota(
            name,
            min=Resources(mins[name]),
            max=Resources(amounts(5, 8)) if random.random() < 0.2 else Resources(),
            parent="P" if tree and name != "C" else "",
            borrowing_limit=Resources(amounts(0, 3)) if random.random() < 0.3 else None,
        )
        for name in leaves
    ]
    if tree:
        whole = {name: sum(mins[each][name] for each in "AB") + random.randint(0, 2) for name in names}
        limit = Resources(amounts(0, 2)) if random.random() < 0.5 else None
        quotas.append(Quota("P", min=Resources(whole), borrowing_limit=limit))
    capacity = amounts(4, 9)
    made = Setting(Book(quotas, mode), capacity)
    under = [*leaves, *leaves, *("P" if tree else ""), ""]
    jobs = []
    for number in range(random.randint(3, 9)):
        at = random.randint(0, 6)
        runs = at == 0 and random.random() < 0.2
        jobs.append(
            job(
                made,
                f"j{number}",
                random.choice(under),
                at,
                random.choice((None, 1, 2, 3, 5) if runs else (None, 0, 1, 2, 3, 5)),
                priority=random.choice((0, 0, 5)),
                leaves=random.choice((None, None, None, at + random.randint(1, 6))),
                runs=runs,
                **amounts(0, 4),
            )
        )
    changes = [CapacityChange(random.randint(1, 6), amounts(3, 10))] if random.random() < 0.3 else []
    return made, jobs, changes, random.choice((0, 0, 2))
