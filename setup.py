"""The native code. All else stands in pyproject.toml, Cython among it.

The long description is README.md without the links and pictures that lead into the repository: a package
index has no repository beside it.
"""

import os
import re
import shlex
import subprocess
import sysconfig
from collections.abc import Sequence
from glob import glob
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.errors import CCompilerError, ExecError, PlatformError

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


ALIGNED_JUMPS = ("-Wa,-mbranches-within-32B-boundaries", "-mbranches-within-32B-boundaries")
"""The option of gcc and of clang. Intel's processors from Skylake to Cascade Lake do not keep decoded code in
which a jump crosses 32 bytes or ends with them. There the fast path for 100 KB takes 11.2 µs without it, and
8.2 µs with it. It makes the code a little larger, and costs other processors nothing that was measured."""


OPTIONS = ("-O3", "-fwrapv", "-fPIC", "-DNDEBUG", "-Wall")


class BuildNative(build_ext):
    """Compiles as many modules at once as there are cores. Says what to install if that cannot be done."""

    def finalize_options(self) -> None:
        super().finalize_options()
        self.parallel = self.parallel or os.cpu_count()  # an editable installation loses `options` of setup()

    def build_extensions(self) -> None:
        if compiler := shlex.split(os.environ.get("CC", "")):
            self.use(compiler)
        elif "CFLAGS" in os.environ:  # setuptools takes them in place of Python's own, which optimise
            at = len(shlex.split(sysconfig.get_config_var("CC")))
            self.compiler.compiler_so[at:at] = OPTIONS
        accepted = [option for option in ALIGNED_JUMPS if self.accepts(option)][:1]
        for extension in self.extensions:
            extension.extra_compile_args += accepted
        super().build_extensions()

    def use(self, compiler: Sequence[str]) -> None:
        """Compile and link by a compiler that CC names, with options of ours and of the environment.

        The options in Python's `sysconfig` are for the compiler that built Python. Distributions add some
        that others refuse: zig's linker ends at Debian's -Wl,-Bsymbolic-functions.
        """
        cppflags, cflags, ldflags = (
            shlex.split(os.environ.get(name, "")) for name in ("CPPFLAGS", "CFLAGS", "LDFLAGS")
        )
        linker = shlex.split(os.environ.get("LDSHARED", "")) or [*compiler, "-shared"]
        self.compiler.set_executables(
            compiler_so=[*compiler, *OPTIONS, *cppflags, *cflags],
            linker_so=[*linker, *cflags, *ldflags],
        )

    def accepts(self, option: str) -> bool:
        """True if the compiler and its assembler know the option."""
        command = [*self.compiler.compiler_so, option, "-x", "c", "-c", os.devnull, "-o", os.devnull]
        try:
            return subprocess.run(command, capture_output=True, check=False).returncode == 0
        except OSError:  # there is no compiler: the compilation says so
            return False

    def run(self) -> None:
        try:
            super().run()
        except (CCompilerError, ExecError, PlatformError) as error:
            raise SystemExit(
                f"{error}\nTo build tsproxy from source, install a C compiler and the header files of "
                "Python (Debian and Ubuntu: apt-get install gcc python3-dev; Fedora: dnf install gcc "
                "python3-devel). A wheel of tsproxy needs neither."
            ) from None


setup(
    cmdclass={"build_ext": BuildNative},
    long_description=long_description(Path("README.md").read_text(encoding="utf-8")),
    long_description_content_type="text/markdown",
    ext_modules=[
        Extension(
            source.removesuffix(".pyx").replace("/", "."),
            [source],
            extra_compile_args=["-g0"],  # line numbers of generated C are most of a module's size
            depends=sorted(glob(f"{READERS}/*.pxd") + glob(f"{FAST_PATH}/*.pxd")),
        )
        for source in sorted(glob(f"{READERS}/*.pyx") + glob(f"{FAST_PATH}/*.pyx") + glob(f"{PIPE}/*.pyx"))
    ],
)
