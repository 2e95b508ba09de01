"""Whether the native code is as new as its sources. Old code fails in many places that name no cause."""

from collections.abc import Iterator
from pathlib import Path


def stale(root: Path) -> Iterator[Path]:
    """The sources below `root` of which there is no compiled code that is as new as they are."""
    for source in root.rglob("*.pyx"):
        parts = [source, *source.parent.glob("*.pxd")]
        newest_s = max(part.stat().st_mtime for part in parts)
        built = source.parent.glob(f"{source.stem}.*.so")
        if not any(each.stat().st_mtime >= newest_s for each in built):
            yield source
