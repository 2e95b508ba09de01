"""Numbers in sentences. `tests/test_numbers.py` finds a noun that is plural whatever its number is."""


def many(count: int, one: str, some: str | None = None) -> str:
    """`1 record`, `2,000 records`. `some` is the plural if it is not `one` with an s."""
    return f"{count:,} {noun(count, one, some)}"


def noun(count: int, one: str, some: str | None = None) -> str:
    """`record` for 1, else `records`: for `1 of 1 record`."""
    return one if count == 1 else some or f"{one}s"
