"""Sparklines, in the page's colours: they are CSS classes, so its light, dark and print palettes apply."""

from collections.abc import Sequence

from tsproxy.model.markup import Markup, element


def px(number: float) -> str:
    """The text of a coordinate, with at most one decimal."""
    return f"{number:.1f}".rstrip("0").rstrip(".")


def sparkline(values: Sequence[int], label: str, most: int = 0) -> Markup:
    """A small bar for each hour or day. `label` describes it in words. `most`: the value of a whole bar, if
    several sparklines have one scale."""
    most = most or max([1, *values])
    height, step = 26, 4
    rises = {n: px(max(1.5, height * value / most)) for n, value in enumerate(values) if value}
    bars = "".join(f"M{n * step} {height}v-{rise}h3v{rise}z" for n, rise in rises.items())
    width = step * len(values)
    return element(
        "svg",
        element("title", label),
        element("path", d=f"M0 {height + 0.5}h{width}", class_="base"),
        element("path", d=bars, class_="rejected") if bars else None,
        class_="spark",
        viewBox=f"0 0 {width} {height + 1}",
        width=min(width, 192),
        height=height + 1,
        preserveAspectRatio="none",
        role="img",
    )
