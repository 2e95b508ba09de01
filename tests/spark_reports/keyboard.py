"""A real Chromium that is used by keyboard: keys go through its DevTools pipe, as from a person.

A page is opened as a file. `Browser.focused` says what has the focus and how it looks.
"""

import json
import os
import subprocess
from contextlib import contextmanager

from tests.spark_reports.browser import chromium

_KEYS = {"Tab": (9, None), "Enter": (13, "\r"), " ": (32, " ")}
_FOCUSED = """(() => {
  const it = document.activeElement, style = getComputedStyle(it), box = it.getBoundingClientRect();
  const details = it.parentElement && it.parentElement.tagName === 'DETAILS' ? it.parentElement : null;
  return {
    tag: it.tagName.toLowerCase(), text: it.textContent.trim(), link: it.getAttribute('href'),
    open: details && details.open,
    outline: style.outlineStyle === 'none' ? 0 : parseFloat(style.outlineWidth),
    top: box.top, bottom: box.bottom, height: innerHeight, scrolled: scrollY,
  };
})()"""

_PLACE = """(() => {
  const it = document.querySelector(':target'), box = it.getBoundingClientRect();
  return {
    open: it.closest('details').open, shown: it.checkVisibility({contentVisibilityAuto: true}),
    top: box.top, height: innerHeight,
  };
})()"""


@contextmanager
def opened(folder, pages, first, *options):
    """A Browser with the page `first` of `pages` (path to text), which lie in `folder` as files."""
    for name, text in pages.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    to_browser, from_us = os.pipe()
    from_browser, to_us = os.pipe()
    command = [
        *(chromium(), "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
        *("--disable-extensions", f"--user-data-dir={folder / 'profile'}", "--remote-debugging-pipe"),
        *options,
    ]
    # Chromium reads its commands from descriptor 3 and writes its answers to 4.
    script = f'exec "$@" 3<&{to_browser} 4>&{to_us}'
    process = subprocess.Popen(
        ["bash", "-c", script, "bash", *command], pass_fds=(to_browser, to_us), stderr=subprocess.DEVNULL
    )
    os.close(to_browser)
    os.close(to_us)
    try:
        with open(from_us, "wb", buffering=0) as write, open(from_browser, "rb") as read:
            browser = Browser(write, read)
            browser.go((folder / first).as_uri())
            yield browser
    finally:
        process.kill()
        process.wait()


class Browser:
    """One tab."""

    def __init__(self, write, read):
        self._write, self._read, self._number, self._seen = write, read, 0, []
        self._session = None
        [tab] = [each for each in self._ask("Target.getTargets")["targetInfos"] if each["type"] == "page"]
        attached = self._ask("Target.attachToTarget", targetId=tab["targetId"], flatten=True)
        self._session = attached["sessionId"]
        self._ask("Page.enable")

    def go(self, address):
        self._ask("Page.navigate", url=address)
        self._until("Page.loadEventFired")

    def press(self, key, *, shift=False):
        code, text = _KEYS[key]
        held = {"key": key, "code": "Space" if key == " " else key, "windowsVirtualKeyCode": code}
        held |= {"modifiers": 8 if shift else 0}
        self._ask("Input.dispatchKeyEvent", type="keyDown", **held, **({"text": text} if text else {}))
        self._ask("Input.dispatchKeyEvent", type="keyUp", **held)

    def follow(self):
        """Press Enter on a link to another page, and wait for that page."""
        self._seen.clear()
        self.press("Enter")
        self._until("Page.loadEventFired")

    def says(self, script):
        """The value of an expression in the page."""
        found = self._ask("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def focused(self):
        return self.says(_FOCUSED)

    def place(self):
        """The target of the address: its line, and where it stands."""
        return self.says(_PLACE)

    def tab_to(self, is_it, most=200):
        """Press Tab until the focused element is the one; it."""
        for _ in range(most):
            self.press("Tab")
            if is_it(found := self.focused()):
                return found
        raise AssertionError("Tab does not reach it")

    def _ask(self, method, **parameters):
        self._number += 1
        sent = {"id": self._number, "method": method, "params": parameters}
        sent |= {"sessionId": self._session} if self._session else {}
        self._write.write(json.dumps(sent).encode() + b"\0")
        while (answer := self._next()).get("id") != self._number:
            self._seen.append(answer.get("method"))
        assert "error" not in answer, answer
        return answer["result"]

    def _until(self, event):
        while event not in self._seen:
            self._seen.append(self._next().get("method"))
        self._seen.clear()

    def _next(self):
        text = bytearray()
        while (one := self._read.read(1)) != b"\0":
            assert one, "Chromium has ended"
            text += one
        return json.loads(text)
