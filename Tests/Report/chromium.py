"""Headless Chromium, driven over the DevTools protocol on two pipes with NUL-terminated JSON messages."""

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

# A timeout in seconds for a hung browser, generous for a slow one.
PATIENCE = 60


class ProtocolError(Exception):
    pass


class Chromium:
    """A browser process that ends with its `with` statement."""

    def __init__(self):
        program = shutil.which("chromium") or shutil.which("chromium-browser")
        if program is None:
            raise FileNotFoundError("Chromium is not installed; run Scripts/deps.sh report")
        self.folder = tempfile.mkdtemp(prefix="inflight-report-")
        to_read, self.to = os.pipe()
        self.come, to_write = os.pipe()
        # Keeps descriptors 3 and 4 free, which the browser uses.
        to_read, to_write = (fcntl.fcntl(end, fcntl.F_DUPFD, 20) for end in (to_read, to_write))

        def as_the_browser_wants_them():
            os.dup2(to_read, 3)
            os.dup2(to_write, 4)

        options = [
            "--headless=new", "--remote-debugging-pipe", f"--user-data-dir={self.folder}", "--no-first-run",
            "--disable-gpu", "--disable-extensions", "--disable-background-networking", "--disable-component-update",
            "--disable-default-apps", "--disable-sync", "--mute-audio", "--disable-frame-rate-limit",
            "--disable-gpu-vsync", "--disable-dev-shm-usage",
        ]
        # Chromium's sandbox does not work as root, the usual user in containers.
        if os.geteuid() == 0:
            options.append("--no-sandbox")
        self.process = subprocess.Popen(
            [program, *options, "about:blank"], pass_fds=(3, 4), preexec_fn=as_the_browser_wants_them,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(to_write)
        self.rest = b""
        self.number = 0
        self.events = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.call("Browser.close")
        except (ProtocolError, OSError):
            pass
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.to)
        os.close(self.come)
        shutil.rmtree(self.folder, ignore_errors=True)

    def call(self, method, session=None, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.to, data):]
        number = self.number
        while True:
            answer = self.message()
            if answer.get("id") == number:
                if "error" in answer:
                    raise ProtocolError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            if "method" in answer:
                self.events.append(answer)

    def message(self):
        while b"\0" not in self.rest:
            ready, _, _ = select.select([self.come], [], [], PATIENCE)
            if not ready:
                raise ProtocolError(f"the browser sent nothing for {PATIENCE} s")
            chunk = os.read(self.come, 1 << 20)
            if not chunk:
                raise ProtocolError("the browser has ended")
            self.rest += chunk
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)


class Page:
    """A page in a browser, with its messages and requests."""

    def __init__(self, browser, width=1440, height=900):
        self.browser = browser
        target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.target = target
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.size(width, height)

    def call(self, method, **parameters):
        return self.browser.call(method, self.session, **parameters)

    def close(self):
        self.browser.call("Target.closeTarget", targetId=self.target)

    def size(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def media(self, media="", **features):
        self.call(
            "Emulation.setEmulatedMedia", media=media,
            features=[{"name": name.replace("_", "-"), "value": value} for name, value in features.items()])

    def open(self, path):
        """Opens a file or a URL, and waits until it is drawn. Returns the seconds until its load event."""
        self.browser.events = [event for event in self.browser.events if event.get("sessionId") != self.session]
        started = time.monotonic()
        url = str(path) if "://" in str(path) else "file://" + os.path.abspath(path)
        self.call("Page.navigate", url=url)
        # The page's inline script has run by then.
        self.wait("Page.loadEventFired")
        took = time.monotonic() - started
        self.frames()
        return took

    def wait(self, method):
        """Waits for an event, which may have arrived already."""
        while not any(
            event["method"] == method and event.get("sessionId") == self.session for event in self.browser.events
        ):
            answer = self.browser.message()
            if "method" in answer:
                self.browser.events.append(answer)

    def value(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            details = result["exceptionDetails"]
            raise ProtocolError(details.get("exception", {}).get("description") or details["text"])
        return result["result"].get("value")

    def frames(self):
        """Waits until pending changes are drawn."""
        self.value("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())))")

    def complaints(self):
        """The page's exceptions, console and log messages, dialogs and web sockets."""
        self.value("0")
        found = []
        for event in self.browser.events:
            if event.get("sessionId") != self.session:
                continue
            parameters = event["params"]
            if event["method"] == "Runtime.exceptionThrown":
                details = parameters["exceptionDetails"]
                found.append(details.get("exception", {}).get("description") or details["text"])
            elif event["method"] == "Runtime.consoleAPICalled":
                found.append("console: " + " ".join(str(each.get("value")) for each in parameters["args"]))
            elif event["method"] == "Log.entryAdded":
                found.append("log: " + parameters["entry"]["text"])
            elif event["method"] in ("Page.javascriptDialogOpening", "Network.webSocketCreated"):
                found.append(event["method"])
        return found

    def requests(self):
        """The URLs of all requests, without `data:` URLs."""
        self.value("0")
        urls = [
            event["params"]["request"]["url"] for event in self.browser.events
            if event.get("sessionId") == self.session and event["method"] == "Network.requestWillBeSent"
        ]
        return [url for url in urls if not url.startswith("data:")]

    def key(self, key, code=None, modifiers=0):
        text = key if len(key) == 1 else {"Enter": "\r"}.get(key)
        number = {
            "Enter": 13, "Escape": 27, "PageUp": 33, "PageDown": 34, "End": 35, "Home": 36, "ArrowLeft": 37,
            "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Tab": 9,
        }.get(key, ord(key[0].upper()))
        common = {"key": key, "code": code or key, "windowsVirtualKeyCode": number, "modifiers": modifiers}
        self.call("Input.dispatchKeyEvent", type="keyDown", **common, **({"text": text} if text else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", **common)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, selector):
        box = self.box(selector)
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        self.mouse("mouseMoved", x, y)
        self.mouse("mousePressed", x, y, button="left", clickCount=1)
        self.mouse("mouseReleased", x, y, button="left", clickCount=1)
        self.frames()

    def box(self, selector):
        return self.value(f"""(() => {{
            const element = document.querySelector({json.dumps(selector)});
            element.scrollIntoView({{ block: "nearest" }});
            const {{ x, y, width, height }} = element.getBoundingClientRect();
            return {{ x, y, width, height }};
        }})()""")

    def picture(self, path, whole=True):
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def pdf(self):
        return base64.b64decode(self.call("Page.printToPDF", printBackground=False, preferCSSPageSize=True)["data"])
