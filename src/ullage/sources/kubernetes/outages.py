"""That containers of a pod had to be started again, and whether they had run out of memory.

A container that ran out of memory is killed by the kernel with signal 9; where its runtime does not say why,
exit code 137 is all there is to see. Most containers never end: their states stay the texts they are.
"""

from typing import Final

import msgspec

from ullage.model.cluster import Outage
from ullage.sources.kubernetes.faults import Fault
from ullage.sources.kubernetes.interned import reader
from ullage.sources.kubernetes.wire import ContainerStatus, PodStatus, Time, Wire

OUT_OF_MEMORY: Final = "OOMKilled"
KILLED_CODE: Final = 137
UNTOLD: Final = frozenset((None, "", "Error", "ContainerStatusUnknown"))
"""Reasons that tell nothing."""


class _Terminated(Wire):
    reason: str | None = None
    exit_code: int | None = None
    finished_at: Time | None = None

    @property
    def killed(self) -> bool:
        """Whether it ran out of memory, as far as anybody can tell."""
        return self.reason == OUT_OF_MEMORY or (self.exit_code == KILLED_CODE and self.reason in UNTOLD)


class _State(Wire):
    terminated: _Terminated | None = None


_STATE: Final = reader(msgspec.json.Decoder(_State | None))
_ENDED: Final = b"terminated"
_NAME: Final = reader(msgspec.json.Decoder(str))


def outages_of(status: PodStatus | None) -> tuple[Outage, ...]:
    """Return what ended in a pod, container by container; raises a Fault."""
    if status is None:
        return ()
    found = []
    listed = (
        ("initContainerStatuses", status.init_container_statuses),
        ("containerStatuses", status.container_statuses),
    )
    for field, statuses in listed:
        for index, each in enumerate(statuses or ()):
            if each.restart_count or _ENDED in bytes(each.state) or _ENDED in bytes(each.last_state):
                try:
                    outage = _outage(each)
                except Fault as fault:
                    raise fault.under("status", field, index) from None
                if outage is not None:
                    found.append(outage)
    return tuple(found)


def _outage(status: ContainerStatus) -> Outage | None:
    states = (_STATE(bytes(text)) for text in (status.state, status.last_state))
    ends = [each.terminated for each in states if each is not None and each.terminated is not None]
    killed = any(each.killed for each in ends)
    restarts = max(0, status.restart_count or 0)
    if not restarts and not killed:
        return None
    times = (each.finished_at for each in ends)
    at_seconds = max((int(each.timestamp()) for each in times if each is not None), default=None)
    return Outage(_NAME(bytes(status.name)), restarts, killed, at_seconds)
