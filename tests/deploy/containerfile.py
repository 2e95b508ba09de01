"""Reads a Containerfile into instructions, as far as ours go: no heredocs, no escape directive."""

import json
import re
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Instruction:
    name: str
    rest: str

    @property
    def flags(self) -> list[str]:
        return [word for word in self.rest.split() if word.startswith("--")]

    @property
    def words(self) -> list[str]:
        """The arguments after the flags: of the exec form where it is one, else split at blanks."""
        text = re.sub(r"^(--\S+\s+)*", "", self.rest)
        if text.startswith("["):
            words = json.loads(text)
            assert all(isinstance(word, str) for word in words)
            return words
        return text.split()

    @property
    def is_exec_form(self) -> bool:
        """A JSON array: no shell stands between the signals and the program."""
        return re.sub(r"^(--\S+\s+|CMD\s+)*", "", self.rest).startswith("[")


def read_containerfile(path: Path) -> list[Instruction]:
    """All instructions, comments left out and continued lines joined."""
    text = re.sub(r"\\\n", " ", path.read_text())
    lines = [line.strip() for line in text.splitlines()]
    return [
        Instruction(name.upper(), rest.strip())
        for name, _, rest in (line.partition(" ") for line in lines if line and not line.startswith("#"))
    ]


def stages(instructions: list[Instruction]) -> list[list[Instruction]]:
    """The instructions of each stage, FROM first."""
    found: list[list[Instruction]] = []
    for instruction in instructions:
        if instruction.name == "FROM":
            found.append([])
        found[-1].append(instruction)
    return found
