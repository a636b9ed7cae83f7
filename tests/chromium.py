"""Headless Chromium over its DevTools pipe: just enough to open, look, click and print a page."""

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import time

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)


def find():
    """The path of a Chromium, or None."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Page:
    """One page in a Chromium of its own; `requests` and `complaints` fill while it is open."""

    def __init__(self, program, profile, width=1000, height=1200):
        self.requests, self.complaints, self._last = [], [], 0
        from_us, self._write = os.pipe()
        self._read, to_us = os.pipe()
        high = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10) for fd in (from_us, to_us)]

        def connect():
            """Chromium reads from 3 and writes to 4."""
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        with open(os.path.join(profile, "chromium.log"), "wb") as log:
            self._process = subprocess.Popen(
                [
                    program, *FLAGS, f"--user-data-dir={profile}",
                    f"--window-size={width},{height}", "about:blank",
                ],
                preexec_fn=connect, close_fds=False, stdout=log, stderr=log,
            )  # fmt: skip
        for fd in (from_us, to_us, *high):
            os.close(fd)
        self._buffer, self._session = b"", None
        targets = self._call("Target.getTargets")["targetInfos"]
        target = next(t["targetId"] for t in targets if t["type"] == "page")
        attached = self._call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Network", "Runtime", "Log", "Page"):
            self._call(f"{domain}.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._read)
        os.close(self._write)

    def open(self, url):
        """Go there and wait until it is loaded."""
        self._loaded = False
        self._call("Page.navigate", url=url)
        while not self._loaded:
            self._note(self._receive())

    def emulate(self, width, scheme):
        """Show pages in a window of this width to somebody who likes them "light" or "dark"."""
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        self._call("Emulation.setDeviceMetricsOverride", **size)
        likes = [{"name": "prefers-color-scheme", "value": scheme}]
        self._call("Emulation.setEmulatedMedia", features=likes)

    def run(self, script):
        """The value of a JavaScript expression."""
        answer = self._call("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def press(self, key, times=1):
        """Press a key, such as "ArrowRight", on what has the focus."""
        codes = {"ArrowLeft": 37, "ArrowRight": 39, "PageUp": 33, "PageDown": 34, "Enter": 13}
        codes |= {"End": 35, "Home": 36, "Tab": 9}
        for _ in range(times):
            for kind in ("rawKeyDown", "keyUp"):
                code = codes[key]
                self._call("Input.dispatchKeyEvent", type=kind, key=key, code=key,
                           windowsVirtualKeyCode=code, nativeVirtualKeyCode=code)  # fmt: skip

    def mouse(self, *kinds, x, y):
        """Send "mousePressed", "mouseMoved" or "mouseReleased" at a place of the window."""
        for kind in kinds:
            down = {"button": "left", "buttons": 1, "clickCount": 1}
            down = {} if kind == "mouseMoved" else down
            self._call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **down)

    def click(self, selector, across=0.5, down=0.5):
        """Press and release the mouse at a share of the width and height of an element."""
        self.run(f"document.querySelector({selector!r}).scrollIntoView({{block: 'center'}})")
        box = self.run(f"document.querySelector({selector!r}).getBoundingClientRect().toJSON()")
        x, y = box["x"] + across * box["width"], box["y"] + down * box["height"]
        self.mouse("mouseMoved", "mousePressed", "mouseReleased", x=x, y=y)

    def saving(self, folder):
        """Let downloads go to a folder."""
        self._call("Page.setDownloadBehavior", behavior="allow", downloadPath=str(folder))

    def downloaded(self, path, patience=20.0):
        """The text of a download, once it is there."""
        deadline = time.monotonic() + patience
        while not path.exists():
            assert time.monotonic() < deadline, f"{path} has not been downloaded."
            self.run("0")
            time.sleep(0.05)
        return path.read_bytes().decode()

    def screenshot(self, path):
        """The whole page as PNG."""
        answer = self._call("Page.captureScreenshot", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(answer["data"]))

    def pdf(self, path):
        """The page as it would be printed."""
        path.write_bytes(base64.b64decode(self._call("Page.printToPDF")["data"]))

    def _call(self, method, **params):
        self._last += 1
        message = {"id": self._last, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while (answer := self._receive()).get("id") != self._last:
            self._note(answer)
        assert "error" not in answer, answer
        return answer["result"]

    def _receive(self, patience=60.0):
        deadline = time.monotonic() + patience
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._read], [], [], max(deadline - time.monotonic(), 0))
            data = os.read(self._read, 1 << 20) if ready else b""
            if not data:
                raise RuntimeError("Chromium does not answer.")
            self._buffer += data
        message, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(message)

    def _note(self, event):
        method, params = event.get("method"), event.get("params", {})
        if method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(params["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning"):
            self.complaints.append(json.dumps(params["args"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.complaints.append(params["entry"]["text"])
        elif method == "Page.loadEventFired":
            self._loaded = True
