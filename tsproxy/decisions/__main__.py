"""`python -m tsproxy.decisions json|spark` prints the schema in one of its forms."""

import json
import sys
from collections.abc import Callable, Mapping
from typing import Final

from tsproxy.decisions.schema import json_schema, spark_ddl

FORMS: Final[Mapping[str, Callable[[], str]]] = {
    "json": lambda: json.dumps(json_schema(), indent=2) + "\n",
    "spark": lambda: spark_ddl() + "\n",
}


def main(arguments: list[str]) -> int:
    """The exit code: 0, or 2 for an unknown form."""
    if len(arguments) != 1 or arguments[0] not in FORMS:
        sys.stderr.write(f"usage: python -m tsproxy.decisions {'|'.join(FORMS)}\n")
        return 2
    sys.stdout.write(FORMS[arguments[0]]())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
