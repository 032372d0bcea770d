"""A headless Chromium, driven through chromedriver by WebDriver's own protocol: JSON over HTTP."""

import json
import re
import shutil
import subprocess
import time
import urllib.request
from pathlib import Path
from typing import Any

PATIENCE = 120.0  # seconds until a page must be as a test wants it; a busy machine is slow


class Browser:
    """One window. `close` ends it. Raises RuntimeError if Chromium does not start."""

    def __init__(self, profile: Path) -> None:
        driver = shutil.which("chromedriver") or "chromedriver"
        self.process = subprocess.Popen(
            [driver, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert self.process.stdout is not None
        port = next(
            (m[1] for line in self.process.stdout if (m := re.search(r"successfully on port (\d+)", line))), None
        )
        if port is None:
            raise RuntimeError("chromedriver does not start")
        self.address = f"http://127.0.0.1:{port}/session"
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]
        options = {"args": [*arguments, f"--user-data-dir={profile}", "--window-size=1400,1000"]}
        wanted = {
            "goog:chromeOptions": options,
            "goog:loggingPrefs": {"browser": "ALL"},
            "timeouts": {"script": 120000},
        }
        try:
            made = self._ask("POST", "", {"capabilities": {"alwaysMatch": wanted}})
        except Exception as error:
            self.process.kill()
            raise RuntimeError(f"Chromium does not start: {error}") from error
        self.address += f"/{made['sessionId']}"
        # A window that another one covers has no focus, and nothing in it is focus-visible.
        self._command("Emulation.setFocusEmulationEnabled", enabled=True)

    def close(self) -> None:
        try:
            self._ask("DELETE", "")
        finally:
            self.process.kill()
            self.process.wait()

    def _ask(self, method: str, path: str, data: Any = None) -> Any:
        body = json.dumps({} if data is None else data).encode() if method == "POST" else None
        request = urllib.request.Request(self.address + path, body, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=300) as reply:
                return json.load(reply)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(json.load(error)["value"]["message"]) from None

    def open(self, url: str) -> None:
        """Load a page anew, even if only what stands behind '#' differs."""
        self._ask("POST", "/url", {"url": "about:blank"})
        self._ask("POST", "/url", {"url": url})

    def js(self, script: str, *arguments: Any) -> Any:
        """What a script returns, `arguments[0]` and so on at hand."""
        return self._ask("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def until(self, script: str, *arguments: Any) -> Any:
        """The first true value of an expression."""
        end = time.monotonic() + PATIENCE
        while not (value := self.js(f"return {script}", *arguments)):
            assert time.monotonic() < end, f"never true: {script}"
            time.sleep(0.05)
        return value

    def width(self, pixels: int, phone: bool = False) -> None:
        metrics = {"width": pixels, "height": 844, "deviceScaleFactor": 1, "mobile": phone}
        self._command("Emulation.setDeviceMetricsOverride", **metrics)

    def _command(self, name: str, **parameters: Any) -> None:
        """One of Chromium's own."""
        self._ask("POST", "/goog/cdp/execute", {"cmd": name, "params": parameters})

    def complaints(self) -> list[str]:
        """Errors and warnings on the console since the last call."""
        lines = self._ask("POST", "/se/log", {"type": "browser"})
        return [line["message"] for line in lines if line["level"] in ("SEVERE", "WARNING")]
