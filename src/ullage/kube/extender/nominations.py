"""Places of pods for which kube-scheduler has others go: what it was answered, and what it has written since.

An answer counts at once: whoever goes for one pod goes for no other, and the place is that pod's. From then
on the nomination counts that kube-scheduler writes on the pod, for every replica and after a restart too. The
hard thing is an answer from which nothing follows: where no nomination comes, or a victim does not leave, it
ends by its time, and with it what was taken for granted.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple

ANSWER_SECONDS_MAX: Final = 30.0
"""How long an answer counts of which nothing is seen; kube-scheduler may be slow to write."""


class _Answer(NamedTuple):
    """Who goes for a pod, on which node, and until when that has to be seen.

    `before` is the nomination that was seen when it was given: it may stand there for a while.
    """

    node: str
    before: str
    victims: tuple[str, ...]
    until: float
    is_written: bool = False


class Nominations:
    """The pods for which kube-scheduler has others go, or had."""

    def __init__(
        self, held: dict[str, str], is_leaving: Callable[[str], bool], stays: Callable[[str], None]
    ) -> None:
        """Keep places in `held`.

        `is_leaving` says who is only taken for one that goes; who does not go after all `stays`.
        """
        self._held = held
        self._is_leaving = is_leaving
        self._stays = stays
        self._answers: dict[str, _Answer] = {}
        self._followed: set[str] = set()
        self.answered = 0

    def answer(self, key: str, node: str, before: str, victims: Iterable[str], now: float) -> None:
        """Take note that kube-scheduler was told who goes for a pod."""
        self._answers[key] = _Answer(node, before, tuple(victims), now + ANSWER_SECONDS_MAX)
        self._held[key] = node
        self.answered += 1

    def unfinished(self, key: str) -> tuple[str, list[str]] | None:
        """Return what was answered of a pod: its node, and who has not been seen to leave it yet, if any."""
        answer = self._answers.get(key)
        victims = [each for each in answer.victims if self._is_leaving(each)] if answer is not None else []
        return (answer.node, victims) if answer is not None and victims else None

    def forget(self, key: str) -> None:
        """Take note that a pod is bound, gone, or has its place otherwise: who has not left stays."""
        self._followed.discard(key)
        answer = self._answers.pop(key, None)
        for each in answer.victims if answer is not None else ():
            if self._is_leaving(each):
                self._stays(each)

    def look(self, written: Mapping[str, str], now: float) -> None:
        """Compare with what kube-scheduler has written, on pods that wait: a node that is there for each."""
        for key, answer in list(self._answers.items()):
            self._compare(key, answer, written.get(key, ""), now)
        for key in self._followed - written.keys():
            self._end(key)
        for key in written.keys() - self._answers.keys():
            self._followed.add(key)
            self._held[key] = written[key]

    def _compare(self, key: str, answer: _Answer, node: str, now: float) -> None:
        if node == answer.node:
            answer = self._answers[key] = answer._replace(is_written=True)
        is_otherwise = node != answer.node and (answer.is_written or node not in {"", answer.before})
        is_done = answer.is_written and not any(map(self._is_leaving, answer.victims))
        if is_otherwise or is_done or now >= answer.until:
            self._end(key)

    def _end(self, key: str) -> None:
        self.forget(key)
        self._held.pop(key, None)
