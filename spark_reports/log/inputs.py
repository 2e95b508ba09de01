"""The places of a log: paths, in which `{date}` stands for a day.

A fleet puts the files of each day into a folder of their own. The day of a folder is the day on which its
files were opened, which is part of their names:

    s3a://lake/{date}/…                 s3a://lake/2026-11-20/px-1/decisions-20261120T….jsonl.gz
    s3a://lake/{date:%Y/%m/%d}/…        s3a://lake/2026/11/20/…

Without `{date}` all files of an input are listed, whatever their day: a year of 1,000 proxies is 35 million.
With `{date}`, only the folders of the wanted days are listed. A day without a folder has no files.
"""

import re
from collections.abc import Iterable
from datetime import date
from typing import TYPE_CHECKING, Final

from spark_reports.log import folders

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PLACEHOLDER: Final = re.compile(r"\{date(?::([^{}]*))?\}")
_ANY_BRACES: Final = re.compile(r"\{[^{},]*\}")
"""Braces without a comma. Braces with a comma are alternatives of a glob."""
_DIRECTIVES: Final = re.compile(r"%(.?)")
_WHOLE_DAY: Final = {"Y", "m", "d"}
_GLOB: Final = re.compile(r"[*?\[{]")
_FILE_NAMES: Final = (".jsonl", ".json", ".gz", ".zst", ".open")
_SPECIAL: Final = re.compile(r"[*?\[\]{}\\]")
"""The characters of a name that a glob does not take as they are."""


def has_date(path: str) -> bool:
    return _PLACEHOLDER.search(path) is not None


def checked(path: str) -> str:
    """The path as it is. Raises ValueError, with a sentence, if it has braces that are no valid
    placeholder."""
    for braces in _ANY_BRACES.finditer(path):
        text = braces[0]
        placeholder = _PLACEHOLDER.fullmatch(text)
        if placeholder is None:
            raise ValueError(f"{text} in {path!r} stands for nothing: {_ALLOWED}")
        if placeholder[1] is not None and set(_DIRECTIVES.findall(placeholder[1])) != _WHOLE_DAY:
            raise ValueError(f"{text} in {path!r} does not name a day: {_ALLOWED}")
    return path


_ALLOWED: Final = "{date} stands for a day such as 2026-11-20, and {date:%Y/%m/%d} for 2026/11/20"


def of_day(path: str, day: date) -> str:
    """The path for one day."""
    return _PLACEHOLDER.sub(lambda placeholder: day.strftime(placeholder[1] or "%Y-%m-%d"), path)


def of_days(spark: "SparkSession", path: str, days: Iterable[date]) -> list[str]:
    """The paths of these days that exist; the path itself if it has no placeholder. Raises Java's errors.

    Checking each path costs less than listing the folders of all days.
    """
    if not has_date(path):
        return [path]
    places = dict.fromkeys(of_day(path, day) for day in days)
    return [place for place in places if folders.matches(spark, place)]


def nothing_of(period: str, paths: Iterable[str]) -> str:
    """The error text for inputs that hold no line of the days in `period`."""
    return (
        f"no decision log lines of {period} under {' '.join(paths)}: days are UTC, and of a directory the "
        "files decisions-<day>… of the days asked for, the one before and the one after are read"
    )


def split(spark: "SparkSession", places: Iterable[str]) -> tuple[list[str], list[str]]:
    """The places of files, and those of folders. Raises Java's errors.

    Each match of a glob of both is a place. A glob that ends as the proxy's files do is one of files, and is
    not listed twice.
    """
    both: tuple[list[str], list[str]] = [], []
    for place in places:
        is_named_as_files = place.endswith(_FILE_NAMES)
        found = () if _GLOB.search(place) and is_named_as_files else folders.matches(spark, place)
        kinds = {each.isDirectory() for each in found} or {not is_named_as_files}
        if len(kinds) == 1:
            both[kinds.pop()].append(place)
        else:
            for each in found:
                both[each.isDirectory()].append(_SPECIAL.sub(r"\\\g<0>", each.getPath().toString()))
    return both
