"""The native kernel and pipe, which an install can do without: their twins in Python do the same.

All else stands in pyproject.toml, Cython among it. `optional` makes a missing compiler a warning.
"""

from glob import glob

from setuptools import Extension, setup

KERNEL = "tsproxy/wire/kernel/_native"
PIPE = "tsproxy/proxy/pipe"

setup(
    ext_modules=[
        Extension(
            source.removesuffix(".pyx").replace("/", "."),
            [source],
            depends=sorted(glob(f"{KERNEL}/*.pxd")),
            optional=True,
        )
        for source in sorted(glob(f"{KERNEL}/*.pyx") + glob(f"{PIPE}/*.pyx"))
    ]
)
