"""HTML and SVG elements for the admin page and the reports. Their text is always escaped.

`Markup` is safe text. Only `element`, `raw` and `join` make it. Any other text in an element is escaped, for
example a client id.
"""

from html import escape
from typing import Final

_VOID: Final = frozenset({"meta", "br", "rect", "line", "path", "circle"})
"""Elements that are closed in the same tag if they have no content."""


class Markup(str):
    """Text that is valid markup."""

    __slots__ = ()


Content = str | int | float | None


def raw(text: str) -> Markup:
    """Our own markup, style or script, unchanged. Never use it for text that a client or a broker chose."""
    return Markup(text)


def join(*parts: Content) -> Markup:
    """The parts in order. A part that is no Markup is escaped, and None is left out."""
    return Markup("".join(_safe(part) for part in parts if part is not None))


def element(name: str, /, *parts: Content, **attributes: str | int | float | None) -> Markup:
    """`<name attribute="…">parts</name>`. An attribute that is None is left out.

    An underscore at the end of an attribute's name is dropped (`class_`), and one inside becomes a hyphen
    (`aria_label`).
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _VOID and not parts:
        return Markup(f"<{name}{written}/>")
    return Markup(f"<{name}{written}>{join(*parts)}</{name}>")


def _safe(part: Content) -> str:
    return part if isinstance(part, Markup) else escape(str(part))
