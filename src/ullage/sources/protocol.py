"""What a source is: something outside that can be read into a snapshot.

A source names the profile that fits its kind of cluster; reading it yields facts only, never decisions.
"""

from typing import Protocol

from ullage.model.cluster import Snapshot


class Source(Protocol):
    """A cluster outside: a dump, a folder, a host, a generator."""

    @property
    def name(self) -> str:
        """What to call the cluster in answers: a file name, `demo`, a host."""

    @property
    def profile(self) -> str:
        """The built-in policy that applies unless the user names another."""

    def read(self) -> Snapshot:
        """Return the cluster as it is now; its policy is filled in by the caller."""
