"""The native code and the targets, built by clang with both sanitizers and libFuzzer: `built`.

The result lies in the user's cache under a name that its sources give, so nothing is built twice. The modules
of the environment that runs this stay as they are.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Final

from tests.kit.commands import made_once

HERE: Final = Path(__file__).parent
ROOT: Final = HERE.parents[2]
HARNESS: Final = ("readers", "fast_path")
"""Modules of targets, each a .pyx file beside this one."""

MISSING: Final = "clang with libFuzzer is not installed (Debian: apt-get install clang-14 libclang-rt-14-dev)"

OPTIONS: Final = "-O1 -g -fno-omit-frame-pointer -fno-sanitize-recover=all -w"
IGNORED: Final = HERE / "ignored.txt"
SANITIZERS: Final = f"-fsanitize=address,undefined -fsanitize-ignorelist={IGNORED}"
"""All of them: the native code reads numbers byte by byte, so that not even alignment needs an exception."""
COVERAGE: Final = "-fsanitize=fuzzer-no-link -fsanitize-coverage=trace-pc"
"""trace-pc: every edge that is passed calls a function."""
COUNTED: Final = "-Wl,--wrap=__sanitizer_cov_trace_pc"
"""For each edge the driver's own function is called, which counts. That of libFuzzer only complains."""


@cache
def clang() -> str | None:
    """The newest clang that comes with libFuzzer; None if there is none."""
    for name in ("clang", *(f"clang-{version}" for version in range(22, 13, -1))):
        path = shutil.which(name)
        if path is not None:
            asked = [path, "-print-resource-dir"]
            folder = Path(subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip())
            if any(folder.glob("lib/*/libclang_rt.fuzzer*.a")):
                return path
    return None


def built() -> Path:
    """The folder with `driver` and the modules of targets; the product's own lie in `product` beneath it."""
    compiler = clang()
    if compiler is None:
        raise SystemExit(MISSING)
    product = made_once(
        f"fuzz/product-{_digest(compiler, ROOT.glob('tsproxy/**/*.p[xy]*'))}",
        lambda folder: _build_product(folder, compiler),
    )
    targets = _digest(compiler + product.name, [*HERE.glob("*.p*x*"), HERE / "driver.c"])
    return made_once(f"fuzz/targets-{targets}", lambda folder: _build_targets(folder, product, compiler))


def environment(folder: Path) -> dict[str, str]:
    """The environment of `driver`: Python allocates each object by itself, so that its end is seen."""
    return os.environ | {
        "TSPROXY_FUZZ_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join([str(folder), str(folder / "product"), str(ROOT)]),
        "PYTHONMALLOC": "malloc",
        "PYTHONDONTWRITEBYTECODE": "1",
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1:handle_abort=1",  # CPython keeps much
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "LD_LIBRARY_PATH": str(sysconfig.get_config_var("LIBDIR")),
    }


def _digest(seed: str, paths: Iterable[Path]) -> str:
    digest = hashlib.sha256(
        f"{seed} {sys.version} {OPTIONS} {COVERAGE} {COUNTED} {IGNORED.read_text()}".encode()
    )
    for path in sorted(path for path in paths if path.suffix in {".pyx", ".pxd", ".py", ".c"}):
        digest.update(str(path.relative_to(ROOT)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def _build_product(folder: Path, compiler: str) -> None:
    """All of tsproxy, as it would be installed."""
    flags = {
        "CC": compiler,
        "LDSHARED": f"{compiler} -shared {COUNTED}",
        "CFLAGS": f"{OPTIONS} {SANITIZERS} {COVERAGE}",
    }
    with tempfile.TemporaryDirectory() as base:
        command = ["setup.py", "-q", "build", "--build-base", base, "--build-lib", folder]
        subprocess.run([sys.executable, *command], cwd=ROOT, env=os.environ | flags, check=True)


def _build_targets(folder: Path, product: Path, compiler: str) -> None:
    (folder / "product").symlink_to(product)
    include = f"-I{sysconfig.get_paths()['include']}"
    for module in HARNESS:
        name, source = f"fuzz_{module}", folder / f"{module}.c"
        cython = [sys.executable, "-m", "cython", "-3", "--module-name", name, "-I", ROOT]
        subprocess.run([*cython, HERE / f"{module}.pyx", "-o", source], cwd=ROOT, check=True)
        options = f"{OPTIONS} {SANITIZERS} {COVERAGE} {COUNTED} -fPIC -shared {include}".split()
        subprocess.run([compiler, *options, source, "-o", folder / f"{name}.so"], check=True)
    # The driver is not instrumented. The sanitizers are in it, where the modules find them.
    library, version = (sysconfig.get_config_var(name) for name in ("LIBDIR", "LDVERSION"))
    subprocess.run(
        [compiler, "-O2", "-g", include, "-c", HERE / "driver.c", "-o", folder / "driver.o"], check=True
    )
    options = f"{SANITIZERS} -fsanitize=fuzzer -rdynamic".split()
    python = [f"-L{library}", f"-lpython{version}", "-lm"]
    command = [compiler, *options, folder / "driver.o", *python, "-o", folder / "driver"]
    subprocess.run(command, check=True)
