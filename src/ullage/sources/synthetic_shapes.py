"""What a made-up cluster is made of: node classes, sizes of workloads, and how often each occurs.

The numbers are round figures of ordinary data centres. Weights are whole numbers and every draw is one
integer, so that a seed gives the same cluster on every machine and with every version of Python.
"""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from random import Random
from typing import Final, Generic, NamedTuple, TypeVar

from ullage.model.drives import DriveClass

GIB: Final = 1 << 30
TIB: Final = 1 << 40
Choice = TypeVar("Choice")


class NodeClass(NamedTuple):
    """A kind of machine; `share` is how many of a thousand nodes are of it."""

    name: str
    share: int
    cpu_milli: int
    memory_gib: int
    gpus: int = 0
    gpu_model: str = ""
    gpu_memory_gib: int = 0
    drives: tuple[tuple[DriveClass, int, int], ...] = ()
    """Class, number and size in GiB of the drives."""


class Size(NamedTuple):
    """What one replica asks for, and how often that size occurs."""

    weight: int
    cpu_milli: int
    memory_mib: int
    gpus: int = 0


NODE_CLASSES: Final = (
    NodeClass("general", 500, 32_000, 128, drives=(("SSD", 1, 960),)),
    NodeClass("compute", 180, 64_000, 128, drives=(("SSD", 1, 960),)),
    NodeClass("memory", 130, 32_000, 512, drives=(("NVME", 2, 1920),)),
    NodeClass("storage", 70, 32_000, 128, drives=(("HDD", 12, 7200), ("SSD", 2, 960))),
    NodeClass("inference", 70, 48_000, 192, 4, "L4", 24, drives=(("NVME", 1, 1920),)),
    NodeClass("training", 50, 96_000, 1024, 8, "A100-SXM4-80GB", 80, drives=(("NVME", 4, 3840),)),
)

# Many small ones, a few large ones: the median asks for a quarter of a core, the mean for about one.
PLAIN_SIZES: Final = (
    Size(140, 100, 128),
    Size(180, 250, 512),
    Size(180, 250, 1024),
    Size(150, 500, 1024),
    Size(100, 1000, 2048),
    Size(60, 1000, 4096),
    Size(45, 2000, 8192),
    Size(25, 4000, 8192),
    Size(10, 4000, 32_768),
    Size(4, 8000, 32_768),
    Size(1, 16_000, 65_536),
)
GPU_SIZES: Final = (
    Size(60, 4000, 16_384, 1),
    Size(20, 8000, 32_768, 2),
    Size(12, 16_000, 65_536, 4),
    Size(8, 48_000, 524_288, 8),
)
APPLICATIONS: Final = (
    "api", "web", "worker", "scheduler", "cache", "gateway", "search", "billing", "queue", "report", "auth",
    "ingest", "export", "mail", "notify", "session", "catalogue", "ledger", "pricing", "render",
)  # fmt: skip
MODELS: Final = ("ranker", "encoder", "speech", "vision", "embedding", "forecast", "summary", "detector")


class Weighted(Generic[Choice]):
    """Things drawn as often as their weights say."""

    def __init__(self, choices: Sequence[Choice], weights: Sequence[int]) -> None:
        self.choices = choices
        self.bounds = list(accumulate(weights))

    def draw(self, random: Random) -> Choice:
        """Return one of them."""
        return self.choices[bisect_right(self.bounds, below(random, self.bounds[-1]))]


def below(random: Random, bound: int) -> int:
    """Return a number from 0 up to but not including a bound of at most 32 bits."""
    return (random.getrandbits(32) * bound) >> 32


def heavy_tailed(random: Random, most: int) -> int:
    """Return a number from 1 to `most` that is half as likely to be above 2n as above n."""
    return min(most, (1 << 16) // (below(random, 1 << 16) + 1))
