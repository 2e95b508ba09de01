"""The native kernel, which an install can do without: `tsproxy/wire/kernel` then runs its twin.

All else stands in pyproject.toml, Cython among it. `optional` makes a missing compiler a warning.
"""

from glob import glob
from pathlib import Path

from setuptools import Extension, setup

KERNEL = "tsproxy/wire/kernel/_native"

setup(
    ext_modules=[
        Extension(
            f"{KERNEL.replace('/', '.')}.{Path(source).stem}",
            [source],
            depends=sorted(glob(f"{KERNEL}/*.pxd")),
            optional=True,
        )
        for source in sorted(glob(f"{KERNEL}/*.pyx"))
    ]
)
