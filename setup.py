"""The native code, which an installation can do without: then everything takes the slow path.

All else stands in pyproject.toml, Cython among it. `optional` makes a missing compiler a warning.
"""

from glob import glob

from setuptools import Extension, setup

READERS = "tsproxy/wire/readers/_native"
FAST_PATH = "tsproxy/fastpath/_native"
PIPE = "tsproxy/proxy/pipe"

setup(
    ext_modules=[
        Extension(
            source.removesuffix(".pyx").replace("/", "."),
            [source],
            depends=sorted(glob(f"{READERS}/*.pxd") + glob(f"{FAST_PATH}/*.pxd")),
            optional=True,
        )
        for source in sorted(glob(f"{READERS}/*.pyx") + glob(f"{FAST_PATH}/*.pyx") + glob(f"{PIPE}/*.pyx"))
    ]
)
