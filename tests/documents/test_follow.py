"""A page is followed as a reader would follow it, and everything that is not as it says is an error."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.documents.follow import StepError, follow
from tests.documents.page import PageError, steps

PAGE = """\
Text, and `$ echo no`.

```
$ echo not run
```

```yaml
# settings/a.yaml
a: 1
```

```sh
cd settings
export WORD=found
```

```console
$ cat a.yaml; \\
    echo $WORD
# settings/a.yaml
a: 1
found
server$ trap 'echo bye; exit 0' INT; echo up; while true; do sleep 0.05; done
up
server$ ^C
bye
```

* in a list:

  ```console
  $ echo a
  a
  ```
"""


def follows(text: str, folder: Path, patience_s: float = 20) -> int:
    return follow(steps(text), folder, patience_s)


def console(text: str) -> str:
    return f"```console\n{text}\n```\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "page").mkdir()
    return tmp_path / "page"


def test_a_page_is_followed_from_top_to_bottom(folder):
    assert follows(PAGE, folder) == 6
    assert (folder / "settings" / "a.yaml").read_text() == "# settings/a.yaml\na: 1\n"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (console("$ echo a\nb"), "line 2: echo a\nprinted something else:\n.*\n-b\n\\+a"),
        (console("$ echo a"), "printed something else"),
        (console("$ echo a; false\na"), "ended with status 1:"),
        (console("$ exit 7"), "ended with status 7"),
        (console("$ if"), "ended with status"),
        ("```sh\nfalse\ntrue\n```\n", "ended with status 1"),
        (console("server$ echo a; exit 3\nb"), "ended with status 3"),
        (console("server$ sleep 30\nserver$ sleep 30"), "line 3: the terminal server is busy"),
        (console("server$ ^C"), "nothing runs in the terminal server"),
        (
            console("server$ trap 'exit 4' INT; echo a; while true; do sleep 0.05; done\na\nserver$ ^C"),
            "status 4",
        ),
    ],
)
def test_a_step_that_does_not_do_what_the_page_says_is_an_error(folder, text, says):
    with pytest.raises(StepError, match=f"(?s){says}"):
        follows(text, folder)


@pytest.mark.parametrize("text", [console("$ sleep 30"), console("server$ echo a; sleep 30\nb")])
def test_a_step_is_not_waited_for_without_end(folder, text):
    with pytest.raises(StepError, match="did not"):
        follows(text, folder, patience_s=0.5)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("```yaml\na: 1\n```\n", "line 2: a file begins with a comment"),
        ("```yaml\n# /etc/a.yaml\n```\n", "outside"),
        ("```yaml\n# ../a.yaml\n```\n", "outside"),
        (console("echo a"), "line 2: no prompt"),
    ],
)
def test_a_block_that_is_no_step_is_an_error(text, says):
    with pytest.raises(PageError, match=says):
        list(steps(text))


def test_a_command_has_no_input_of_the_page(folder):
    assert follows(console("$ cat\n$ echo a\na"), folder) == 2


def test_terminals_are_closed_at_the_end(folder):
    page = console("server$ trap 'touch ended; exit 0' INT; echo a; while true; do sleep 0.05; done\na")
    assert follows(page, folder) == 1
    assert (folder / "ended").exists()


@pytest.mark.slow
@pytest.mark.full_only("a process of its own; terminals are closed in this one above")
def test_a_runner_that_is_ended_closes_its_terminals(tmp_path):
    """Otherwise a broker would go on for ever."""
    ended, began = tmp_path / "ended", tmp_path / "began"
    page = tmp_path / "page.md"
    server = f"trap 'touch {ended}; exit 0' INT; echo a; while true; do sleep 0.05; done"
    page.write_text(console(f"server$ {server}\na\n$ mkfifo {began}; echo > {began}; sleep 60"))
    with subprocess.Popen([sys.executable, "-m", "tests.documents", page]) as runner:
        while not began.is_fifo():
            assert runner.poll() is None
        began.read_text()
        runner.terminate()
    assert runner.returncode == 1
    assert ended.exists()


@pytest.mark.slow
@pytest.mark.full_only("a process of its own; a page is followed in this one above")
def test_a_page_is_followed_in_the_background_of_a_shell_too(tmp_path):
    """A shell lets its background jobs ignore SIGINT. A page that ends a command by ^C waited for ever."""
    page = tmp_path / "page.md"
    server = "trap 'echo bye; exit 0' INT; echo up; while true; do sleep 0.05; done"
    page.write_text(console(f"server$ {server}\nup\nserver$ ^C\nbye"))
    command = 'trap "" INT; exec "$0" -m tests.documents "$1"'
    subprocess.run(["sh", "-c", command, sys.executable, page], check=True, timeout=60)
