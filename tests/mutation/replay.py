"""`python -m tests.mutation.replay FOLDER`: 1 at the first recorded answer that the core contradicts."""

import pickle
import sys
from pathlib import Path

from tests.differential.replay import contradictions


def main(folder: Path) -> int:
    for file in sorted(folder.iterdir()):
        for recorded in pickle.loads(file.read_bytes()):
            for contradiction in contradictions(recorded, file.name):
                print(file.name, contradiction)
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
