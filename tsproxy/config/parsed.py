"""A section of the document once every value in it has been read."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Parsed:
    """Values by key: what the key's parser gave, None where there is none, `Parsed` for a section.

    `is_sound` is False where the section or anything below it had a problem: then it is not built. Two
    are equal that say the same, wherever in a file. The values are `Any` because the table of keys, not
    the type checker, says what each is.
    """

    values: Mapping[str, Any]
    place: str = field(compare=False)
    path: str = field(compare=False)
    is_sound: bool = field(compare=False)

    def __getitem__(self, key: str) -> Any:
        return self.values[key]
