"""One target under atheris, in a process of its own: `python -m rigs.fuzz.atheris_run TARGET CORPUS ...`.

The product's modules are instrumented when they are imported, so the target comes after them. To
minimise, libFuzzer starts itself again: by the command in TSPROXY_FUZZ_AGAIN.
"""

import os
import sys

import atheris


def main() -> None:
    name = sys.argv.pop(1)
    sys.argv[0] = os.environ.get("TSPROXY_FUZZ_AGAIN", sys.argv[0])
    with atheris.instrument_imports(include=["tsproxy"]):
        from rigs.fuzz.targets import TARGETS
    atheris.Setup(sys.argv, TARGETS[name].check)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
