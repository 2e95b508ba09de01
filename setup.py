"""The native kernel, which an install can do without: `tsproxy/wire/kernel` then runs its twin.

All else stands in pyproject.toml. `optional` makes a missing compiler a warning; a missing Cython
cannot happen in a build that pyproject.toml sets up.
"""

from setuptools import Extension, setup

setup(
    ext_modules=[
        Extension(
            "tsproxy.wire.kernel._kernel",
            ["tsproxy/wire/kernel/_kernel.pyx"],
            depends=["tsproxy/wire/kernel/_stream.pxd", "tsproxy/wire/kernel/_walk.pxd"],
            optional=True,
        )
    ]
)
