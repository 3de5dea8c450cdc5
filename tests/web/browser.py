# SPDX-License-Identifier: Apache-2.0
"""Runs a real Chromium with the DevTools protocol over a pipe, without a library and without a port.

It collects all complaints of the browser: console messages, exceptions, violations of the content security policy, and
requests to other hosts.
"""
import base64
import json
import os
import re
import select
import shutil
import signal
import subprocess
import tempfile
import time

import world as w

PROGRAM = shutil.which("chromium") or shutil.which("google-chrome")
FLAGS = ["--headless=new", "--remote-debugging-pipe", "--no-first-run", "--disable-gpu", "--disable-extensions",
         "--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--no-default-browser-check",
         "--disable-dev-shm-usage", "--hide-scrollbars", "--force-device-scale-factor=1", "--mute-audio",
         "--no-sandbox"]  # the sandbox needs user namespaces, which a container may not have
GRAPHICS = ["--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist"]
PHONE, WIDE = (390, 844), (1360, 850)


class Browser:
    def __init__(self, graphics=False):
        """graphics: pages may draw with WebGL, which the CPU renders."""
        flags = [*(each for each in FLAGS if each != "--disable-gpu"), *GRAPHICS] if graphics else FLAGS
        self.home = tempfile.mkdtemp(prefix="rip-browser-")
        ours_in, theirs_out = os.pipe()
        theirs_in, ours_out = os.pipe()
        # the browser reads from descriptor 3 and writes to descriptor 4
        script = f"exec 3<&{theirs_in} 4>&{theirs_out}; exec \"$@\""
        self.process = subprocess.Popen(
            ["bash", "-c", script, "bash", PROGRAM, *flags, f"--user-data-dir={self.home}", "about:blank"],
            pass_fds=(theirs_in, theirs_out), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True, env={**os.environ, "HOME": self.home})
        os.close(theirs_in)
        os.close(theirs_out)
        self.reads, self.writes = ours_in, ours_out
        self.input = b""
        self.number = 0
        self.answers = {}
        self.complaints = []
        self.requests = []
        # the console reports network errors, for example if ripd does not run or answers 404
        self.allow_refused = False
        self.session = None
        self.open_tab()

    def open_tab(self):
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network", "Audits"):
            self.call(f"{domain}.enable")

    def call(self, method, **params):
        self.number += 1
        number = self.number
        message = {"id": number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.writes, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + w.PATIENCE_S
        while number not in self.answers:
            self.read(end)
        answer = self.answers.pop(number)
        assert "error" not in answer, (method, answer)
        return answer["result"]

    def read(self, end):
        left = end - time.monotonic()
        assert left > 0 and select.select([self.reads], [], [], left)[0], "the browser does not answer"
        data = os.read(self.reads, 1 << 20)
        assert data, "the browser has ended"
        self.input += data
        *messages, self.input = self.input.split(b"\0")
        for message in messages:
            self.hear(json.loads(message))

    def hear(self, message):
        if "id" in message:
            self.answers[message["id"]] = message
            return
        method, params = message["method"], message.get("params", {})
        if method == "Log.entryAdded" and params["entry"]["level"] in ("warning", "error"):
            entry = params["entry"]
            if not (self.allow_refused and entry["source"] == "network"):
                self.complaints.append(f"{entry['source']}: {entry['text']} {entry.get('url', '')}")
        elif method == "Runtime.consoleAPICalled":
            self.complaints.append(f"console: {json.dumps(params['args'])[:500]}")
        elif method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.complaints.append(f"exception: {details['text']} {details.get('exception', {}).get('description')}")
        elif method == "Audits.issueAdded" and params["issue"]["code"] == "ContentSecurityPolicyIssue":
            self.complaints.append(f"policy: {json.dumps(params['issue'])[:500]}")
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])

    def go(self, url):
        self.call("Page.navigate", url=url)

    def run(self, code):
        """Returns the value of an expression. Waits for a promise."""
        answer = self.call("Runtime.evaluate", expression=code, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, json.dumps(answer["exceptionDetails"])[:2000]
        return answer["result"].get("value")

    def text(self, selector="body"):
        """Returns the visible text of the element, or None."""
        return self.run(f"document.querySelector({json.dumps(selector)})?.innerText ?? null")

    def wait_text(self, pattern, selector="body", seconds=w.PATIENCE_S):
        def found():
            text = self.text(selector)
            return text is not None and re.search(pattern, text)
        try:
            return w.wait_for(found, seconds)
        except AssertionError:
            raise AssertionError(f"{pattern!r} is not in {selector}:\n{self.text()}\n{self.complaints}") from None

    def click(self, selector):
        found = self.run(f"(e => e ? (e.click(), true) : false)(document.querySelector({json.dumps(selector)}))")
        assert found, selector

    def key(self, key, code=None):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=code or key,
                      windowsVirtualKeyCode={"Tab": 9, "Enter": 13, "ArrowRight": 39, "ArrowDown": 40, "End": 35,
                                             "n": 78}[key],
                      **({"text": {"Enter": "\r"}.get(key, key)} if key in ("Enter", "n") else {}))

    def look(self, size=WIDE, dark=False):
        """Sets the size of the window and the preferred colours."""
        self.call("Emulation.setDeviceMetricsOverride", width=size[0], height=size[1], deviceScaleFactor=1,
                  mobile=size == PHONE)
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def picture(self):
        """Returns a PNG of the window."""
        return base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])

    def close(self):
        try:
            # kills the session of the browser: the browser and its children
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        os.close(self.reads)
        os.close(self.writes)
        shutil.rmtree(self.home, ignore_errors=True)
