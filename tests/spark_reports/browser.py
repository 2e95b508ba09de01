"""A real Chromium without a window, through its DevTools pipe: it shows pages, and is used by keyboard.

axe-core judges the pages.

Tests find Chromium and npm (which fetches axe-core once, into the user's cache) on PATH. A test that needs a
missing one says so.
"""

import json
import os
import shutil
import subprocess
from base64 import b64decode
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.kit.commands import CACHE

AXE_VERSION = "4.14.1"
WIDE, NARROW = (1280, 1000), (400, 900)
"""The sizes of the pages shown: a screen, and a phone."""
_TIMEOUT_S = 1_200
_KEYS = {"Tab": (9, None), "Enter": (13, "\r"), " ": (32, " ")}

_WATCH = """<script>
for (const name of ['alert', 'confirm', 'prompt', 'open'])
  window[name] = () => document.documentElement.setAttribute('data-obeyed', name);
</script>"""
_COMPLAINTS = """
axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice']}).then(result =>
  result.violations.map(rule => [rule.id, rule.nodes.map(node => node.html.slice(0, 200))]))"""
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


@cache
def chromium():
    """The program, or None."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@cache
def axe():
    """axe-core's source, or None if npm cannot fetch it.

    Several processes of one run may fetch it at once: it comes into the cache whole, or not at all.
    """
    source = CACHE / f"axe-core-{AXE_VERSION}.min.js"
    if not source.exists() and shutil.which("npm"):
        CACHE.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=CACHE) as folder:
            command = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", folder]
            subprocess.run([*command, f"axe-core@{AXE_VERSION}"], check=False, timeout=_TIMEOUT_S)
            fetched = Path(folder) / "node_modules" / "axe-core" / "axe.min.js"
            if fetched.exists():
                fetched.replace(source)
    return source.read_text(encoding="utf-8") if source.exists() else None


@contextmanager
def started(folder):
    """A Browser; what Chromium keeps, and the pages that are shown, lie in `folder`."""
    to_browser, from_us = os.pipe()
    from_browser, to_us = os.pipe()
    command = [
        *(chromium(), "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
        *("--hide-scrollbars", "--disable-extensions", f"--user-data-dir={folder / 'profile'}"),
        "--remote-debugging-pipe",
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
            yield Browser(folder, write, read)
    finally:
        process.kill()
        process.wait()


class Browser:
    """One tab."""

    def __init__(self, folder, write, read):
        self._folder, self._write, self._read, self._number, self._seen = folder, write, read, 0, []
        self._session = None
        targets = self._ask("Target.getTargets")["targetInfos"]
        [tab] = [target for target in targets if target["type"] == "page"]
        attached = self._ask("Target.attachToTarget", targetId=tab["targetId"], flatten=True)
        self._session = attached["sessionId"]
        self._ask("Page.enable")

    def show(self, page, size=WIDE, *, scheme="light", media="screen", others=None):
        """Show a page, which is text. `others` has the texts of files beside it, by their paths."""
        for name, text in {**(others or {}), "page.html": page}.items():
            (self._folder / name).parent.mkdir(parents=True, exist_ok=True)
            (self._folder / name).write_text(text, encoding="utf-8")
        width, height = size
        scale = {"deviceScaleFactor": 1, "mobile": False}
        self._ask("Emulation.setDeviceMetricsOverride", width=width, height=height, **scale)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self._ask("Emulation.setEmulatedMedia", media=media, features=features)
        self.go((self._folder / "page.html").as_uri())

    def go(self, address):
        self._ask("Page.navigate", url=address)
        self._until("Page.loadEventFired")

    def obeyed(self, page):
        """The function that a page's text called as a script, or None."""
        watched = page.replace("<head>", f"<head>{_WATCH}", 1)
        assert watched != page
        self.show(watched)
        return self.says("document.documentElement.getAttribute('data-obeyed')")

    def complaints(self):
        """The faults that axe-core finds in the page, as [rule, [elements]]."""
        self.says(f"{axe()}; null")
        return self.says(_COMPLAINTS)

    def widths(self):
        """The width of the page that a reader would scroll, and that of the window."""
        return self.says("[document.documentElement.scrollWidth, innerWidth]")

    def bottoms(self, selectors):
        """The lower ends of the first elements that these CSS selectors find, in pixels from the top."""
        box = "Math.round(document.querySelector(selector).getBoundingClientRect().bottom)"
        return self.says(f"{json.dumps(selectors)}.map(selector => {box})")

    def picture(self):
        """The window as a PNG."""
        return b64decode(self._ask("Page.captureScreenshot")["data"])

    def printed(self):
        """The page as a PDF."""
        return b64decode(self._ask("Page.printToPDF", printBackground=True)["data"])

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
        answer = self._ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def focused(self):
        """The element that has the focus, and how it looks."""
        return self.says(_FOCUSED)

    def place(self):
        """The target of the address: its line, and where it stands."""
        return self.says(_PLACE)

    def tab_to(self, is_it, most=200):
        """Press Tab until the focused element is the one; it."""
        for _ in range(most):
            self.press("Tab")
            if is_it(element := self.focused()):
                return element
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
