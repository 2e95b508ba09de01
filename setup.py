"""The native code, which an installation can do without: then everything takes the slow path.

All else stands in pyproject.toml, Cython among it. `optional` makes a missing compiler a warning.
The long description is README.md without the links and pictures that lead into the repository: a package
index has no repository beside it.
"""

import os
import re
from glob import glob
from pathlib import Path

from setuptools import Extension, setup

READERS = "tsproxy/wire/readers/_native"
FAST_PATH = "tsproxy/fastpath/_native"
PIPE = "tsproxy/proxy/pipe"

INTO_THE_REPOSITORY = r"(?!https?:|mailto:)[^)\s]*"


def long_description(readme: str) -> str:
    """The text of a page that stands alone: relative links become their texts, relative pictures go."""
    blocks = re.split(r"^(```.*?^```$)", readme, flags=re.MULTILINE | re.DOTALL)
    return "".join(block if block.startswith("```") else _alone(block) for block in blocks)


def _alone(prose: str) -> str:
    for pattern, kept in (
        (rf"!\[[^\]]*\]\({INTO_THE_REPOSITORY}\)\n*", ""),
        (rf"(?<!!)\[([^\]]*)\]\({INTO_THE_REPOSITORY}\)", r"\1"),
        (r"<picture>.*?</picture>\n*", ""),
        (r"<img\b[^>]*\bsrc=\"(?!https?:)[^>]*>\n*", ""),
        (r"<a\b[^>]*\bhref=\"(?!https?:)[^>]*>(.*?)</a>", r"\1"),
    ):
        prose = re.sub(pattern, kept, prose, flags=re.DOTALL)
    return prose


setup(
    options={"build_ext": {"parallel": os.cpu_count()}},
    long_description=long_description(Path("README.md").read_text(encoding="utf-8")),
    long_description_content_type="text/markdown",
    ext_modules=[
        Extension(
            source.removesuffix(".pyx").replace("/", "."),
            [source],
            depends=sorted(glob(f"{READERS}/*.pxd") + glob(f"{FAST_PATH}/*.pxd")),
            optional=True,
        )
        for source in sorted(glob(f"{READERS}/*.pyx") + glob(f"{FAST_PATH}/*.pyx") + glob(f"{PIPE}/*.pyx"))
    ],
)
