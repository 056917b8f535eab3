"""The documentation site in Chromium: pages are drawn at two widths, light and dark, without errors.

`make test-docs` runs this on the site in the folder `INFLIGHT_SITE`. Screenshots go to the folder `INFLIGHT_SITE_SHOTS`,
if it is set.
"""

import functools
import http.server
import os
import pathlib
import re
import sys
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "Report"))
from chromium import Chromium, Page  # noqa: E402

SITE = os.environ.get("INFLIGHT_SITE", ".build/docs")
SHOTS = os.environ.get("INFLIGHT_SITE_SHOTS")
# Each page with its heading and a text that it must contain.
PAGES = {
    "inflight": ("Inflight", "Loading images"),
    "inflight/gettingstarted": ("Getting started", "A custom transport"),
    "inflight/images": ("Images", "Linear light"),
    "inflightcore/imagepipeline": ("ImagePipeline", "Topics"),
    "inflightpatterns/gate": ("Gate", "Instance Methods"),
}
WIDTHS = {"narrow": 390, "wide": 1280}
# DocC draws a page after fetching its data.
DRAWN = """new Promise((done) => {
    const look = () => document.querySelector("main h1") ? done(true) : requestAnimationFrame(look);
    look();
})"""
# On wide pages, the sidebar lists the module's declarations.
LISTED = """new Promise((done) => {
    const look = () => document.querySelector(".navigator a.leaf-link") ? done(true) : requestAnimationFrame(look);
    look();
})"""
# The brightness of the page's background, 0 … 1.
BRIGHTNESS = """(() => {
    const [red, green, blue] = getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number);
    return (red + green + blue) / 765;
})()"""


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


class Site(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.browser = cls.enterClassContext(Chromium())
        handler = functools.partial(QuietHandler, directory=SITE)
        cls.server = cls.enterClassContext(http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler))
        threading.Thread(target=cls.server.serve_forever, daemon=True).start()
        cls.addClassCleanup(cls.server.shutdown)

    def opened(self, path, width, scheme):
        page = Page(self.browser, width, 900)
        self.addCleanup(page.close)
        page.media(prefers_color_scheme=scheme)
        page.open(f"http://127.0.0.1:{self.server.server_port}/documentation/{path}/")
        page.value(DRAWN)
        page.frames()
        return page

    def failures(self):
        """The responses with errors, and the requests without a response."""
        for event in self.browser.events:
            if event["method"] == "Network.responseReceived" and event["params"]["response"]["status"] >= 400:
                yield event["params"]["response"]["url"]
            elif event["method"] == "Network.loadingFailed" and not event["params"].get("canceled"):
                yield event["params"]["errorText"]

    def test_pages_draw_themselves_without_errors(self):
        for path, (heading, shown) in PAGES.items():
            for size, width in WIDTHS.items():
                for scheme in ("light", "dark"):
                    with self.subTest(path=path, size=size, scheme=scheme):
                        page = self.opened(path, width, scheme)
                        self.assertEqual(page.value("document.querySelector('main h1').innerText"), heading)
                        self.assertTrue(page.value("document.querySelector('main').innerText.includes(%r)" % shown))
                        self.assertLessEqual(page.value("document.documentElement.scrollWidth"), width)
                        brightness = page.value(BRIGHTNESS)
                        self.assertEqual(brightness > 0.5, scheme == "light", brightness)
                        if size == "wide":
                            page.value(LISTED)
                        if SHOTS:
                            name = f"{path.replace('/', '-')}-{size}-{scheme}.png"
                            page.picture(pathlib.Path(SHOTS) / name, whole=False)
                        self.assertEqual(page.complaints(), [])
                        self.assertEqual(list(self.failures()), [])

    def test_a_link_of_the_landing_page_leads_to_another_module(self):
        page = self.opened("inflight", WIDTHS["wide"], "light")
        page.click('main a[href$="/documentation/inflightcore/imagerequest"]')
        page.value("""new Promise((done) => {
            const look = () => document.querySelector("main h1")?.innerText == "ImageRequest"
                ? done(true) : requestAnimationFrame(look);
            look();
        })""")
        self.assertEqual(page.complaints(), [])

    def test_the_front_page_leads_to_the_landing_page(self):
        front = (pathlib.Path(SITE) / "index.html").read_text(encoding="utf-8")
        target = re.search(r"url=([^\"]+)", front)[1]
        self.assertTrue((pathlib.Path(SITE) / target / "index.html").is_file(), target)

    def test_a_page_that_does_not_exist_fails(self):
        page = Page(self.browser)
        self.addCleanup(page.close)
        page.open(f"http://127.0.0.1:{self.server.server_port}/documentation/nothing/")
        self.assertTrue(list(self.failures()))
        self.browser.events.clear()


if __name__ == "__main__":
    unittest.main()
