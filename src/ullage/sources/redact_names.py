"""Pseudonyms: the same name always gives the same one under a seed, and none can be turned back without it.

The hard part is collisions. A pseudonym is a short keyed hash, so two of a hundred thousand names may share
one; that would merge two nodes into one, so the second gets more digits.
"""

import hashlib
from typing import Final

KEPT_VALUE_KEYS: Final = frozenset(
    {
        "kubernetes.io/arch",
        "kubernetes.io/os",
        "beta.kubernetes.io/arch",
        "beta.kubernetes.io/os",
        "beta.kubernetes.io/instance-type",
        "node.kubernetes.io/instance-type",
    }
)
"""Labels whose values say what a machine is, not whose."""
KEPT_VALUE_DOMAINS: Final = ("topology.kubernetes.io", "failure-domain.beta.kubernetes.io", "nvidia.com")
WELL_KNOWN_DOMAINS: Final = (
    "kubernetes.io", "k8s.io", "x-k8s.io", "nvidia.com", "amd.com", "intel.com", "ullage.dev",
)  # fmt: skip
_DIGITS: Final = 10
_SEED_BYTES_MAX: Final = 64


class Pseudonyms:
    """The pseudonyms of one redaction, by kind of name."""

    def __init__(self, seed: str) -> None:
        secret = seed.encode()
        self._secret = secret if len(secret) <= _SEED_BYTES_MAX else hashlib.sha256(secret).digest()
        self._given: dict[tuple[str, str], str] = {}
        self._taken: set[str] = set()

    def of(self, kind: str, name: str) -> str:
        """Return the pseudonym of a name, such as node-3f2a91c0d4; an empty name stays empty."""
        if not name:
            return ""
        found = self._given.get((kind, name))
        if found is not None:
            return found
        text = f"{kind}\0{name}".encode(errors="surrogatepass")
        digits = hashlib.blake2b(text, key=self._secret, digest_size=32).hexdigest()
        length = _DIGITS
        while f"{kind}-{digits[:length]}" in self._taken:
            length += 2
        pseudonym = f"{kind}-{digits[:length]}"
        self._taken.add(pseudonym)
        self._given[kind, name] = pseudonym
        return pseudonym

    def label_key(self, key: str) -> str:
        """Return the key of a label or taint; keys of well-known domains say nothing of their owner."""
        return key if _is_in(key, WELL_KNOWN_DOMAINS) else self.of("key", key)

    def label_value(self, key: str, value: str) -> str:
        """Return the value of a label; a value that is the name of something becomes that thing's name."""
        if key == "kubernetes.io/hostname":
            return self.of("node", value)
        if key == "kubernetes.io/metadata.name":
            return self.of("namespace", value)
        if key == "statefulset.kubernetes.io/pod-name":
            return self.of("workload", value)
        if keeps_values(key):
            return value
        return self.of("value", value)


def keeps_values(key: str) -> bool:
    """Whether the values of a label are hardware or topology, which answers need and nobody owns."""
    return key in KEPT_VALUE_KEYS or key.partition("/")[0] in KEPT_VALUE_DOMAINS


def _is_in(key: str, domains: tuple[str, ...]) -> bool:
    domain, slash, _ = key.partition("/")
    return bool(slash) and any(domain == each or domain.endswith(f".{each}") for each in domains)
