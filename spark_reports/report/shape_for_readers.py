"""The parts of report.json that are there for its readers alone: its history, the owners, the links.

Options of `daily` add them (`shape.Report`).
"""

from typing import TypedDict


class PastDay(TypedDict):
    """A day of History. Its counts are null if the rollup does not hold it."""

    day: str
    state: str
    """`complete`, `complete_in_part` or `incomplete` as in LogQuality; `not_over`; or `missing`: the rollup
    does not hold the day."""
    is_compared: bool
    """False if the day is missing, is not over, had no records, or if too much of its log is missing."""
    records: int | None
    rejected_records: int | None


class Usual(TypedDict):
    """The medians of the days before that can be compared; of an even number of days, the lower one of the
    two in the middle. `share_of` has the counts of the day with the median share."""

    days: int
    rejected_records: int
    share_of: PastDay


class History(TypedDict):
    """The last day of the period beside the seven days before it (`daily --rollup`)."""

    days: list[PastDay]
    """Eight days, the oldest first. The last one is the day itself."""
    direction: str
    """`better`, `worse` or `as_usual`, by the share of rejected records; `not_compared`."""
    usual: Usual | None
    """Null if nothing can be compared."""
    sentence: str


class Known(TypedDict):
    """An entry `[[known]]` of the owners' file: somebody works at the mistake."""

    until: str
    """The last day on which it is known."""
    ticket: str | None


class Team(TypedDict):
    """An owner, with the counts of its producers that were rejected; `team` is null for those that nobody
    owns."""

    team: str | None
    channel: str | None
    """A mail address, an address of a chat (`https://…`) or the name of a channel (`#…`)."""
    producers: int
    records: int
    rejected_records: int
    would_reject_producers: int
    would_reject_records: int
    """As in Totals."""
    far_behind_records: int
    repaired_producers: int
    repaired_records: int


class Owned(TypedDict):
    """The owners of the producers that were rejected (`daily --owners`)."""

    teams: list[Team]
    """All teams of the file, the one with most rejected records first, and the row without a team last."""
    producers_left_out: int
    """The number of producers beyond the 10,000 worst. Their owners are not looked up."""
    rejected_records_left_out: int
    help: str | None
    """The end of each text for a team, from the file of owners."""


class Links(TypedDict):
    """The targets of the page's links, relative to the page; null if there is none."""

    json: str | None
    csv: str | None
    index: str | None
    day_before: str | None
    day_after: str | None
    teams: str | None
    """The folder of the teams' folders (`report.teams`)."""
    address: str | None
    """`--address`: where readers find the folder above that of the teams."""
