"""Exact looks at losses within the time that is given: so long for each, and five times that for all of them.

The time is counted here, because the engine knows none.
"""

from collections.abc import Callable
from math import ceil
from time import monotonic
from typing import Final

from ullage.engine.balance.host_losses import HostLosses
from ullage.engine.redundancy.loss_proofs import look_exactly
from ullage.engine.redundancy.losses import Losses, LossReport, Survey
from ullage.engine.steps import counted
from ullage.service.progress import listener

TIMES_MAX: Final = 5
"""How many times the seconds of one look all looks of a check may take."""


class ExactLooks:
    """The looks of one check; no seconds, no looks."""

    def __init__(self, seconds_max: int, clock: Callable[[], float] = monotonic) -> None:
        self._seconds_max = seconds_max
        self._clock = clock
        self._spent_seconds = 0.0
        self._looked = 0
        self.undecided = seconds_max == 0
        """Whether some loss was left without an exact answer."""

    def at_loss(self, losses: Losses | HostLosses, report: LossReport) -> LossReport:
        """Return a loss as it is after an exact look, where it needs one and there is time for it.

        Of virtual machines there is none: most have one place only, and what that proves is known already.
        """
        if isinstance(losses, HostLosses):
            self.undecided |= report.certificate == "unknown"
            return report
        if not self._seconds_max or not report.losers:
            return report
        total_seconds = TIMES_MAX * self._seconds_max
        left_seconds = ceil(total_seconds - self._spent_seconds)
        if left_seconds <= 0:
            self.undecided = True
            note = f"not looked at exactly, because {total_seconds} s for all exact searches were over"
            return report._replace(certificate_note=note)
        start = self._clock()
        looked = look_exactly(losses, report, min(self._seconds_max, left_seconds))
        self._spent_seconds += self._clock() - start
        self._looked += 1
        self.undecided |= looked.certificate == "unknown"
        return looked

    def at_survey(self, losses: Losses | HostLosses, survey: Survey) -> Survey:
        """Return a survey with exact looks at the losses it tells; those with a way out no longer fail."""
        before = self._looked
        looks = self._seconds_max > 0 and not isinstance(losses, HostLosses)
        told = listener() if looks else None
        worst = counted(survey.worst, len(survey.worst), "losses looked at exactly", told)
        reports = [self.at_loss(losses, each) for each in worst]
        saved = tuple(each for each in reports if not each.losers)
        self.undecided |= survey.failing > len(survey.worst)
        return survey._replace(
            failing=survey.failing - len(saved),
            failing_losses=survey.failing_losses - sum(each.alike for each in saved),
            worst=tuple(each for each in reports if each.losers),
            looked=self._looked - before,
            saved=saved,
        )
