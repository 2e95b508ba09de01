"""Elements of HTML and SVG in which text is always escaped.

`Markup` is text that is safe as it is; only `element`, `raw` and `join` make it. Whatever else is put into an
element, a client's id for example, is text and comes out as text.
"""

from html import escape
from typing import Final

_VOID: Final = frozenset({"meta", "br", "rect", "line", "path", "circle"})
"""Elements that we only use without content."""


class Markup(str):
    """Text that is valid markup already."""

    __slots__ = ()


Content = str | int | None


def raw(text: str) -> Markup:
    """Our own markup or style sheet, as it is. Never for anything that was read from a log."""
    return Markup(text)


def join(*parts: Content) -> Markup:
    """Parts one after the other, all that is not Markup escaped, None left out."""
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
