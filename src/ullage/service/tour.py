"""The guided tour: a handful of questions about the demo cluster, each a command that anyone can run."""

from typing import Final, NamedTuple


class Stop(NamedTuple):
    """One stop of the tour: a question, what is worth seeing in the answer, and the command."""

    question: str
    look: str
    words: tuple[str, ...]

    @property
    def line(self) -> str:
        """The command as it is typed."""
        return " ".join(("ullage", *self.words))


WELCOME: Final = (
    "A small company runs twelve nodes in three racks: GPUs of two models, local drives, four teams with "
    "quotas. Nothing is installed anywhere and nothing is changed: ullage reads and answers."
)

STOPS: Final = (
    Stop(
        "How full are we really?",
        "Reserve, what is promised, the spare for a lost node, and what can still be promised.",
        ("status", "-c", "demo", "--by", "resource"),
    ),
    Stop(
        "What is wrong?",
        "Each finding has its number and a remedy.",
        ("status", "-c", "demo", "--by", "finding"),
    ),
    Stop(
        "Where does a node's number come from?",
        "Every term of the sum, and who set it.",
        ("explain", "node/s1", "-c", "demo", "--resource", "memory"),
    ),
    Stop(
        "Do six more web servers fit?",
        "Where they would go, and the arithmetic of the first choice.",
        ("fit", "-c", "demo", "--shape", "cpu=2,memory=8Gi", "--replicas", "6"),
    ),
    Stop(
        "Six GPUs are free. Does a job with four of them start?",
        "No: they lie on different nodes. The answer says which is nearest and what would help.",
        ("fit", "-c", "demo", "--shape", "cpu=8,memory=64Gi,nvidia.com/gpu=4"),
    ),
    Stop(
        "And under other rules?",
        "The same cluster as ZOS would count it: what is really in use is taken, promised or not.",
        ("status", "-c", "demo", "--policy", "zos", "--by", "resource"),
    ),
)

FAREWELL: Final = (
    ("your own cluster", "kubectl get nodes,pods -A -o json > dump.json && ullage status -c dump.json"),
    ("your own workloads", "ullage fit -c dump.json -f deployment.yaml"),
    ("this machine", "ullage inspect"),
    ("over-commit memory", "ullage policy set cluster memory-ratio=1.5 --policy ours.yaml"),
    ("a page to show", "ullage status -c demo -o html > status.html"),
)
