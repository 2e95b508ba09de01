"""HTML and SVG elements whose text is always escaped; the admin page and the reports are made of them.

`Markup` is text that is safe already: only `element`, `raw` and `join` make it. Any other text in an element
is escaped, for example a client id.
"""

from html import escape
from typing import Final

_VOID: Final = frozenset({"meta", "br", "rect", "line", "path", "circle"})
"""Elements that are closed in the same tag if they have no content."""


class Markup(str):
    """Text that is valid markup already."""

    __slots__ = ()


Content = str | int | float | None


def raw(text: str) -> Markup:
    """Our own markup, style or script, unchanged. Never for text that a client or a broker chose."""
    return Markup(text)


def join(*parts: Content) -> Markup:
    """The parts in order. All that is not Markup is escaped, None is left out."""
    return Markup("".join(_safe(part) for part in parts if part is not None))


def element(name: str, /, *parts: Content, **attributes: str | int | float | None) -> Markup:
    """`<name attribute="…">parts</name>`; None leaves an attribute out, a trailing `_` is dropped.

    `class_`, `for_`, and `aria_label` for `aria-label`: an underscore inside a name becomes a hyphen.
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
