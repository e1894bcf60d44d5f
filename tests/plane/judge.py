"""The real kube-scheduler's opinion of a cluster: its own plugins in one process, asked over JSON lines.

Objects and pods are Kubernetes objects as dictionaries. The hard thing is that a process can die or hang
while it is being asked; then the question fails with what the process said, and no more can be asked.
"""

import contextlib
import subprocess
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec

ANSWER_SECONDS_MAX = 60.0
LAST_WORDS_BYTES = 2000

Object = Mapping[str, Any]


class JudgeError(Exception):
    """The case could not be judged: it is malformed, or the process failed."""


class Judge:
    """One process that judges case after case; each case is independent of the ones before."""

    def __init__(self, program: Path, seconds_max: float = ANSWER_SECONDS_MAX) -> None:
        self._seconds_max = seconds_max
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process, closed with it
        self._process = subprocess.Popen(
            [program, "judge"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._said
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the process, whatever it is doing."""
        self._process.kill()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):  # a question that was never read
                    stream.close()
        self._process.wait()
        self._said.close()

    def judge(
        self, objects: Sequence[Object], steps: Sequence[Object], scores: bool = False
    ) -> list[dict[str, Any]]:
        """Judge pods in order on a cluster.

        A step is `{"pod": pod, "bind": node}`: the pod is judged on every node, then runs on the node named
        by `bind`, if any. The verdict on a step has `feasible` (names, sorted), `reasons` and `plugin` (by
        refused node), with scores also `scores` (weighted sum by feasible node) and `byPlugin`; and `error`
        when a plugin failed, which makes the pod unschedulable.
        """
        case = msgspec.json.encode({"objects": objects, "steps": steps, "scores": scores})
        answer = msgspec.json.decode(self._ask(case))
        if "error" in answer:
            raise JudgeError(answer["error"])
        return answer.get("steps", [])

    def feasible(self, objects: Sequence[Object], pod: Object) -> list[str]:
        """Name the nodes that would take the pod."""
        return self.judge(objects, [{"pod": pod}])[0]["feasible"]

    def _ask(self, line: bytes) -> bytes:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        limit = threading.Timer(self._seconds_max, self._process.kill)
        limit.start()
        answer = b""
        try:
            self._process.stdin.write(line + b"\n")
            self._process.stdin.flush()
            answer = self._process.stdout.readline()
        except BrokenPipeError:  # it ended before it had read the question
            pass
        finally:
            limit.cancel()
        if not answer.endswith(b"\n"):
            raise JudgeError(f"no answer within {self._seconds_max:g} s, or it died{self._last_words()}")
        return answer

    def _last_words(self) -> str:
        self._said.seek(0)
        words = self._said.read().decode(errors="replace")[-LAST_WORDS_BYTES:].strip()
        return f": {words}" if words else ""
