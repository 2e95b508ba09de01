"""Who uses versions that Kafka 4 does not take, in one interval of the decision log (KIP-896)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from tsproxy.decisions.events import Event, fit
from tsproxy.decisions.ledger import OTHER, KeyShares
from tsproxy.decisions.privacy import Privacy
from tsproxy.decisions.text import bounded_or_none
from tsproxy.model.addresses import counted_as
from tsproxy.model.bounded import A_PLACE, Bounded, Ceiling
from tsproxy.model.outcome import OldRequest

USES: Final = Ceiling(
    "the clients that use versions which Kafka 4 does not take, by client id, principal and API",
    most=1_000,
    most_bytes=4 << 20,
    when_full="the address with the most gives up one; it is counted as `other`",
    entry_bytes=A_PLACE + 1_600,
    containers=2,  # of an interval, and since the start
)

Client = tuple[str | None, str | None]
"""Its client id and its principal."""


class Use(NamedTuple):
    """Who uses an API in a version that Kafka 4 does not take."""

    client_id: str | None
    principal: str | None
    api: str


@dataclass(slots=True)
class Versions:
    """The versions that were used, and one client that used them."""

    lowest: int
    highest: int
    client_software: str | None
    client_address: str

    def add(self, other: "Versions") -> None:
        self.lowest = min(self.lowest, other.lowest)
        self.highest = max(self.highest, other.highest)
        self.client_software, self.client_address = other.client_software, other.client_address


class OldRequests:
    """The uses since the last `clear`."""

    def __init__(self) -> None:
        self._uses = Bounded[Use, Versions](USES)
        self._shares = KeyShares[Use]()
        self._others: dict[str, Versions] = {}
        """By API: there are few."""

    def note(self, request: OldRequest) -> None:
        peer, version = request.peer, request.version
        use = Use(bounded_or_none(peer.client_id), bounded_or_none(peer.principal), request.api)
        versions = Versions(version, version, bounded_or_none(peer.client_software), peer.client_address)
        if (known := self._uses.get(use)) is not None:
            known.add(versions)
        elif not self._keeps(use, versions):
            self._fold(request.api, versions)

    def _keeps(self, use: Use, versions: Versions) -> bool:
        address = counted_as(versions.client_address)
        if not self._uses.add(use, versions):
            given_up = self._shares.give_up_for(address)
            if given_up is None or (folded := self._uses.pop(given_up)) is None:
                return False
            self._fold(given_up.api, folded)
            if not self._uses.add(use, versions):
                return False
        self._shares.add(use, address)
        return True

    def _fold(self, api: str, versions: Versions) -> None:
        self._others.setdefault(api, versions).add(versions)

    def __iter__(self) -> Iterator[tuple[Use, Versions]]:
        yield from self._uses.items()
        yield from ((Use(OTHER, None, api), versions) for api, versions in self._others.items())

    @property
    def clients(self) -> list[Client]:
        """Each of them once; all others are one."""
        return list(dict.fromkeys(use[:2] for use, _ in self))

    def clear(self) -> None:
        self._uses.clear()
        self._shares, self._others = KeyShares(), {}


def client_facts(use: Use, versions: Versions, privacy: Privacy) -> Event:
    """The fields of a `client` event, without its interval."""
    is_other = use.client_id == OTHER and use.principal is None
    return fit(
        {
            "client_id": use.client_id,
            "principal": privacy.principal(use.principal),
            "client_address": None if is_other else privacy.address(versions.client_address),
            "client_software": None if is_other else versions.client_software,
            "api": use.api,
            "version_min": versions.lowest,
            "version_max": versions.highest,
        }
    )


def use_text(facts: Mapping[str, Any]) -> str:
    """A use in words, from its facts: `orders as User:orders, sarama/1.17.0: Fetch 0 to 3`."""
    lowest, highest = facts["version_min"], facts["version_max"]
    principal, software = facts.get("principal"), facts.get("client_software")
    who = f"{facts.get('client_id') or 'a client without an id'}{f' as {principal}' if principal else ''}"
    versions = f"{lowest}" if lowest == highest else f"{lowest} to {highest}"
    return f"{', '.join(filter(None, (who, software)))}: {facts['api']} {versions}"
