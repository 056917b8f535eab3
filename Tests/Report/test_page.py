"""The page of `inflight get --report` in Chromium: correct content, and usable controls.

`make test-report` runs these tests on pages that a Swift test has written into the folder `INFLIGHT_REPORT_PAGES`.
"""

import json
import os
import pathlib
import time
import unittest

from chromium import Chromium, Page
from reading import (
    DETAILS, FIGURES, OWN_PICTURE, PICTURES, POLICY, ROWS, counted, lines, reasons, wrongly_shown,
)

# The sort button in a column header.
HEAD = '[role=columnheader][data-sort="{}"] button'
PAGES = pathlib.Path(os.environ.get("INFLIGHT_REPORT_PAGES", "."))


class PageCase(unittest.TestCase):
    """A page in a browser. The tests of a class share the browser; each test opens the page again."""

    name = "ordinary"

    @classmethod
    def setUpClass(cls):
        cls.browser = cls.enterClassContext(Chromium())
        cls.known = lines(PAGES / f"{cls.name}.jsonl")
        cls.run_facts, cls.loads = cls.known[0], cls.known[1:]

    def setUp(self):
        self.page = Page(self.browser)
        self.took = self.page.open(PAGES / f"{self.name}.html")
        self.addCleanup(self.page.close)
        self.addCleanup(self.expect_silence)

    def expect_silence(self):
        self.assertEqual(self.page.complaints(), [])
        self.assertEqual(len(self.page.requests()), 1, self.page.requests())

    def figures(self, name=None):
        found = self.page.value(FIGURES)
        return [each for each in found if name is None or each["name"] == name]

    def figure(self, name):
        values = {each["value"] for each in self.figures(name)}
        self.assertEqual(len(values), 1, f"{name}: {values}")
        return values.pop()

    def ids(self):
        return [row["id"] for row in self.page.value(ROWS)]

    def search(self, text):
        self.page.value(f"""(() => {{
            const field = document.getElementById("search");
            field.value = "";
            field.focus();
        }})()""")
        if text:
            self.page.type(text)
        else:
            self.page.value('document.getElementById("search").dispatchEvent(new Event("input"))')
        self.page.frames()

    def window(self):
        grid = self.page.value('({ ...document.getElementById("grid").dataset })')
        return int(grid["from"]), int(grid["to"])


class Numbers(PageCase):
    def test_totals_are_those_of_the_run(self):
        outcomes = counted(load["outcome"] for load in self.loads)
        self.assertEqual(self.figure("total.loads"), len(self.loads))
        for outcome in ("ok", "failed", "cancelled"):
            self.assertEqual(self.figure(f"total.{outcome}"), outcomes[outcome])
            self.assertEqual(self.figure(f"listed.{outcome}"), outcomes[outcome])
        for source, count in counted(load.get("from") for load in self.loads).items():
            self.assertEqual(self.figure(f"listed.from.{source}"), count)
        self.assertEqual(self.figure("total.duration"), self.run_facts["duration"])
        self.assertEqual(self.figure("total.bytes"), sum(load.get("bytes", 0) for load in self.loads))
        self.assertEqual(self.figure("total.received"), self.run_facts["received"])
        self.assertEqual(self.figure("received"), self.run_facts["received"])
        for kind in ("fetch", "decode", "process", "store"):
            self.assertEqual(self.figure(f"total.jobs.{kind}"), self.run_facts[f"jobs.{kind}"])
        marks = counted(mark["kind"] for load in self.loads for mark in load["marks"])
        for kind in ("joined", "redirected", "retried"):
            self.assertEqual(self.figure(f"total.marks.{kind}"), marks[kind])
        for number, lane in enumerate(self.run_facts["lanes"]):
            self.assertEqual(self.figure(f"lane.{number}.limit"), lane["limit"])

    def test_every_row_is_that_of_its_load(self):
        rows = self.page.value(ROWS)
        self.assertEqual(len(rows), len(self.loads))
        for row, load in zip(rows, self.loads):
            self.assertEqual(row["id"], load["id"])
            self.assertEqual("https://" + row["url"], load["url"])
            self.assertEqual(row["outcome"], load["error"]["code"] if "error" in load else load["outcome"])
            self.assertEqual(row["others"], max([span["others"] for span in load["spans"]], default=0))
            self.assertEqual(row["from"], load.get("from", ""))
            for name in ("status", "bytes", "start", "time"):
                self.assertEqual(row[name], load.get(name, ""), f"{name} of {load['id']}")

    def test_details_are_those_of_each_load(self):
        self.page.value('document.querySelector(".rows .row").focus()')
        self.page.key("Enter")
        for load in self.loads:
            told = self.page.value(DETAILS)
            self.assertEqual(told["id"], load["id"])
            self.assertEqual(told["url"], load["url"])
            self.assertEqual(told["spans"], load["spans"])
            self.assertEqual(
                [(mark["kind"], mark["at"]) for mark in told["marks"]],
                [(mark["kind"], mark["at"]) for mark in load["marks"]])
            for mark, known in zip(told["marks"], load["marks"]):
                self.assertIn(known["why"], mark["text"])
            facts = told["facts"]
            self.assertEqual(facts["Began"] + facts["Took"], [load["start"], load["time"]])
            self.assertEqual(facts["Ended"], [load["start"] + load["time"]])
            self.assertEqual(facts.get("Bytes"), [load["bytes"]] if "bytes" in load else None)
            self.assertEqual(facts.get("Picture"), [load["width"], load["height"]] if "width" in load else None)
            self.assertEqual(facts.get("File"), load.get("file"))
            self.assertEqual(facts.get("Why"), load["error"]["message"] if "error" in load else None)
            if load["id"] % 25 == 0:
                self.assertEqual(wrongly_shown(self.figures()), [])
            self.page.key("ArrowDown")

    def test_failures_are_grouped_by_reason(self):
        told = self.page.value("""[...document.querySelectorAll("#failures li[data-code]")].map((group) => [
            group.dataset.code, group.dataset.status, Number(group.querySelector("data").value)])""")
        self.assertEqual(
            {(code, int(status) if status else None): count for code, status, count in told}, reasons(self.loads))

    def test_the_slowest_come_first(self):
        times = sorted((load["time"] for load in self.loads), reverse=True)
        told = [each["value"] for each in self.figures("slow.time")]
        self.assertEqual(told, times[:len(told)])
        self.assertEqual(len(told), 12)

    def test_histograms_are_those_of_the_run(self):
        for number, histogram in enumerate(self.run_facts["histograms"]):
            for name in ("count", "p50", "p90", "p95", "p99"):
                self.assertEqual(self.figure(f"histogram.{number}.{name}"), histogram[name])
        told = self.page.value("""[...document.querySelectorAll(".histogram")].map((figure) =>
            [...figure.querySelectorAll(".bucket")].map((bar) =>
                ({ upper: Number(bar.dataset.upper), count: Number(bar.dataset.count) })))""")
        self.assertEqual(told, [histogram["buckets"] for histogram in self.run_facts["histograms"]])

    def test_what_is_shown_is_what_the_exact_value_comes_to(self):
        figures = self.figures()
        self.assertGreater(len(figures), 150)
        self.assertEqual(wrongly_shown(figures), [])

    def test_pictures_are_those_of_the_loads(self):
        told = self.page.value('[...document.querySelectorAll("#pictures button[data-load]")].map((e) => e.dataset.load)')
        have = [str(load["id"]) for load in self.loads if "thumbnail" in load]
        self.assertEqual(told, have[:240])
        self.assertEqual(self.figure("thumbnails.kept"), len(have))
        self.assertEqual(self.figure("thumbnails.of"), self.run_facts["pictures"])
        self.page.value("""Promise.all([...document.querySelectorAll("#pictures img")].slice(0, 8)
            .map((each) => each.decode()))""")

    def test_rows_and_details_show_the_small_picture_of_their_load(self):
        self.page.value('document.querySelector(".rows .row").focus()')
        self.page.key("Enter")
        sources = {}
        for load in self.loads[:12]:
            here = ["#details img", f'.rows .row[data-place="{load["id"] - 1}"] img']
            found = [self.page.value(
                f"""[...document.querySelectorAll({json.dumps(each)})].map((image) => [image.src, image.alt])""")
                for each in here]
            if "thumbnail" in load:
                (source, text), = found[0]
                self.assertEqual(found[1], found[0])
                self.assertEqual(text, "Small picture of " + load["url"].rsplit("/", 1)[1])
                sources[load["id"]] = source
            else:
                self.assertEqual(found, [[], []])
            self.page.key("ArrowDown")
        self.assertGreater(len(set(sources.values())), 5)

    def test_small_pictures_are_our_own_lazy_and_in_boxes_of_one_size(self):
        pictures = self.page.value(PICTURES)
        self.assertGreater(len(pictures), 60)
        for picture in pictures:
            self.assertRegex(picture["src"], OWN_PICTURE)
            self.assertEqual((picture["loading"], picture["decoding"]), ("lazy", "async"))
            self.assertEqual(picture["box"], "thumbnail")
            self.assertIn((picture["width"], picture["height"]), [(26, 22), (50, 50)])
        # Placeholders have the same size, so the texts beside them are aligned.
        left = self.page.value("""[...document.querySelectorAll(".rows .cell.url .host")]
            .map((element) => Math.round(element.getBoundingClientRect().left))""")
        self.assertEqual(len(set(left)), 1)

    def test_only_pictures_that_are_written_out_may_be_loaded(self):
        rules = dict(rule.split(" ", 1) for rule in self.page.value(POLICY).split("; "))
        self.assertEqual(rules["img-src"], "data:")
        self.assertEqual(rules["default-src"], "'none'")
        self.assertEqual(
            sorted(rules), ["base-uri", "default-src", "form-action", "img-src", "script-src", "style-src"])


class Lists(PageCase):
    @staticmethod
    def sorted_ids(loads, key, descending):
        """Loads without a value come last. Equal loads stay in request order."""
        have = [load for load in loads if key(load) not in (None, "")]
        without = [load for load in loads if key(load) in (None, "")]
        # Python's sort is stable in both directions, as is the page's.
        have.sort(key=key, reverse=descending)
        return [load["id"] for load in have + without]

    def test_every_column_sorts_both_ways(self):
        order = ["ok", "failed", "skipped", "cancelled"]
        keys = {
            "url": lambda load: load["url"], "outcome": lambda load: order.index(load["outcome"]),
            "status": lambda load: load.get("status"), "from": lambda load: load.get("from"),
            "bytes": lambda load: load.get("bytes"), "start": lambda load: load["start"],
            "time": lambda load: load["time"], "id": lambda load: load["id"],
        }
        # Few enough rows to read quickly.
        self.search("IMG_100")
        some = [load for load in self.loads if "IMG_100" in load["url"]]
        for name, key in keys.items():
            for _ in range(2):
                self.page.click(HEAD.format(name))
                direction = self.page.value(
                    f"""document.querySelector('[role=columnheader][data-sort="{name}"]').getAttribute("aria-sort")""")
                self.assertIn(direction, ("ascending", "descending"))
                self.assertEqual(self.ids(), self.sorted_ids(some, key, direction == "descending"), f"{name}, {direction}")
            self.assertEqual(self.page.value('document.querySelectorAll("[aria-sort]").length'), 1)

    def test_search_finds_by_words(self):
        def expect(text, wanted):
            self.search(text)
            ids = [load["id"] for load in self.loads if wanted(load)]
            self.assertEqual(self.ids(), ids, text)
            self.assertEqual(self.figure("shown"), len(ids))

        expect("cdn.example.net", lambda load: "cdn.example.net" in load["url"] or any(
            "cdn.example.net" in mark["why"] for mark in load["marks"]))
        expect("IMG_1000 photos", lambda load: "IMG_1000" in load["url"] and "photos" in load["url"])
        expect("status:404", lambda load: load.get("status") == 404)
        expect("code:badStatus", lambda load: load.get("error", {}).get("code") == "badStatus")
        expect("code:badstatus -404", lambda load: load.get("status") == 503 and "error" in load)
        expect("outcome:failed -code:timedOut", lambda load: load["outcome"] == "failed"
               and load["error"]["code"] != "timedOut")
        expect("from:shared", lambda load: load.get("from") == "shared")
        expect("nothing is like this", lambda load: False)
        self.assertFalse(self.page.value('document.getElementById("none").hidden'))
        self.page.click("#reset")
        self.assertEqual(self.figure("shown"), len(self.loads))

    def test_filters_by_outcome_and_source(self):
        self.page.click('#outcomes [data-value="failed"]')
        self.assertEqual(self.ids(), [load["id"] for load in self.loads if load["outcome"] == "failed"])
        self.page.click('#outcomes [data-value="cancelled"]')
        self.assertEqual(self.ids(), [load["id"] for load in self.loads if load["outcome"] in ("failed", "cancelled")])
        self.page.click('#outcomes [data-value="failed"]')
        self.page.click('#outcomes [data-value="cancelled"]')
        self.page.click('#sources [data-value="disk"]')
        self.assertEqual(self.ids(), [load["id"] for load in self.loads if load.get("from") == "disk"])
        self.search("IMG_100")
        self.assertEqual(
            self.ids(), [load["id"] for load in self.loads if load.get("from") == "disk" and "IMG_100" in load["url"]])

    def test_a_reason_shows_its_loads(self):
        self.page.click("#failures li[data-code=badStatus][data-status='404'] button.small")
        self.assertEqual(self.ids(), [load["id"] for load in self.loads if load.get("status") == 404])

    def test_a_slow_load_is_shown_where_it_stands_in_the_list(self):
        self.page.click('#outcomes [data-value="cancelled"]')
        self.page.click("#slowest button.link")
        slowest = max(self.loads, key=lambda load: load["time"])
        self.assertEqual(self.page.value(DETAILS)["id"], slowest["id"])
        self.assertEqual(self.page.value('Number(document.activeElement.querySelector("data").value)'), slowest["id"])

    def test_counts_are_said_aloud(self):
        self.search("status:404")
        count = len([load for load in self.loads if load.get("status") == 404])
        said = self.page.value("""new Promise((resolve) => {
            const live = document.getElementById("live");
            const look = () => /^\\d/.test(live.textContent) && !live.textContent.startsWith("300 of")
                ? resolve(live.textContent) : setTimeout(look, 10);
            look();
        })""")
        self.assertEqual(said, f"{count} of 300 loads, by number")


class Zooming(PageCase):
    def test_buttons_and_keys_zoom_and_move(self):
        whole = self.run_facts["duration"]
        self.assertEqual(self.window(), (0, whole))
        self.page.click("#zoom-in")
        start, end = self.window()
        self.assertAlmostEqual(end - start, whole / 2, delta=2)
        self.page.value('document.querySelector(".rows .row").focus()')
        self.page.key("+")
        self.page.frames()
        start, end = self.window()
        self.assertAlmostEqual(end - start, whole / 4, delta=2)
        self.page.key("ArrowRight")
        self.page.frames()
        self.assertGreater(self.window()[0], start)
        self.page.key("-")
        self.page.frames()
        self.assertAlmostEqual(self.window()[1] - self.window()[0], whole / 2, delta=2)
        self.page.key("0")
        self.page.frames()
        self.assertEqual(self.window(), (0, whole))

    def test_the_wheel_zooms_where_the_pointer_is(self):
        box = self.page.box(".rows .row .time-area")
        self.page.mouse("mouseWheel", box["x"] + box["width"] / 4, box["y"] + 5, deltaX=0, deltaY=-200, modifiers=2)
        self.page.frames()
        start, end = self.window()
        whole = self.run_facts["duration"]
        self.assertLess(end - start, whole / 2)
        # The time under the pointer stays there.
        self.assertAlmostEqual(start + (end - start) / 4, whole / 4, delta=whole / 100)

    def drag(self, box, start, end):
        y = box["y"] + box["height"] / 2
        self.page.mouse("mousePressed", box["x"] + box["width"] * start, y, button="left", buttons=1, clickCount=1)
        for part in (0.3, 0.7, 1):
            x = box["x"] + box["width"] * (start + (end - start) * part)
            self.page.mouse("mouseMoved", x, y, button="left", buttons=1)
        self.page.mouse("mouseReleased", box["x"] + box["width"] * end, y, button="left", clickCount=1)
        self.page.frames()

    def test_a_drag_over_bars_shows_that_time(self):
        whole = self.run_facts["duration"]
        self.drag(self.page.box(".rows .row .time-area"), 0.25, 0.5)
        start, end = self.window()
        self.assertAlmostEqual(start, whole * 0.25, delta=whole / 100)
        self.assertAlmostEqual(end, whole * 0.5, delta=whole / 100)
        self.assertTrue(self.page.value(DETAILS)["hidden"], "a drag is no choice of a row")

    def test_the_window_of_the_whole_run_is_drawn_and_moved(self):
        whole = self.run_facts["duration"]
        self.drag(self.page.box("#overview"), 0.5, 0.75)
        start, end = self.window()
        self.assertAlmostEqual(start, whole * 0.5, delta=whole / 100)
        self.assertAlmostEqual(end, whole * 0.75, delta=whole / 100)
        self.drag(self.page.box("#overview"), 0.6, 0.3)
        self.assertAlmostEqual(self.window()[0], whole * 0.2, delta=whole / 100)
        self.assertAlmostEqual(self.window()[1] - self.window()[0], end - start, delta=2)
        self.page.value('document.getElementById("overview").focus()')
        self.page.key("Home")
        self.page.frames()
        self.assertEqual(self.window()[0], 0)

    def test_the_time_of_what_is_listed_is_shown(self):
        self.search("id:100")
        self.page.click("#zoom-rows")
        load = self.loads[99]
        start, end = self.window()
        self.assertAlmostEqual(start, load["start"], delta=load["time"] / 20)
        self.assertAlmostEqual(end, load["start"] + load["time"], delta=load["time"] / 20)

    def test_bars_change_with_the_zoom(self):
        look = 'document.querySelector(".rows .row canvas").toDataURL()'
        before = self.page.value(look)
        self.page.click("#zoom-in")
        self.assertNotEqual(self.page.value(look), before)
        self.page.click("#zoom-all")
        self.assertEqual(self.page.value(look), before)


class Keyboard(PageCase):
    def focus(self):
        return self.page.value("""(() => {
            const element = document.activeElement;
            return element.id || element.dataset.place || element.className || element.tagName;
        })()""")

    def test_rows_take_the_focus_one_after_the_other(self):
        self.page.value('document.querySelector(".rows .row").focus()')
        for key, place in [("ArrowDown", 1), ("j", 2), ("k", 1), ("End", 299), ("ArrowDown", 299), ("Home", 0)]:
            self.page.key(key)
            self.assertEqual(self.focus(), str(place), key)
            self.assertEqual(self.page.value("""document.querySelectorAll('.rows [tabindex="0"]').length"""), 1)
        self.page.key("PageDown")
        self.assertGreater(int(self.focus()), 5)

    def test_all_of_it_works_by_keys_alone(self):
        self.page.key("/")
        self.assertEqual(self.focus(), "search")
        self.page.type("status:503")
        self.page.frames()
        self.page.key("ArrowDown")
        self.assertEqual(self.focus(), "0")
        self.page.key("Enter")
        self.assertFalse(self.page.value(DETAILS)["hidden"])
        self.page.key("z")
        self.page.frames()
        self.assertLess(self.window()[1] - self.window()[0], self.run_facts["duration"])
        self.page.key("Escape")
        self.assertTrue(self.page.value(DETAILS)["hidden"])
        self.page.key("?")
        self.assertTrue(self.page.value('document.getElementById("keys").open'))
        self.page.key("Escape")
        self.assertFalse(self.page.value('document.getElementById("keys").open'))
        self.page.key("/")
        self.page.key("Escape")
        self.assertEqual(self.figure("shown"), 300)

    def test_tab_reaches_everything_that_can_be_pressed(self):
        reached = set()
        for _ in range(200):
            self.page.key("Tab")
            where = self.page.value("""(() => {
                const all = [...document.querySelectorAll("button, input, a, [tabindex]")];
                return all.indexOf(document.activeElement);
            })()""")
            if where in reached and where >= 0:
                break
            reached.add(where)
        missed = self.page.value(f"""[...document.querySelectorAll("button, input, a, [tabindex]")]
            .map((element, index) => [element, index])
            .filter(([element, index]) => !{json.dumps(sorted(reached))}.includes(index) && element.tabIndex >= 0
                && !element.disabled && element.checkVisibility() && !element.closest("#pictures"))
            .map(([element]) => element.outerHTML.slice(0, 120))""")
        self.assertEqual(missed, [])

    def test_everything_has_a_name_and_a_role(self):
        nodes = self.page.call("Accessibility.getFullAXTree")["nodes"]
        roles = counted(node.get("role", {}).get("value") for node in nodes if not node.get("ignored"))
        for role in ("grid", "row", "columnheader", "gridcell", "slider", "searchbox", "status"):
            self.assertIn(role, roles)
        nameless = [
            node for node in nodes
            if not node.get("ignored") and node.get("role", {}).get("value") in ("button", "slider", "searchbox", "grid")
            and not node.get("name", {}).get("value")
        ]
        self.assertEqual(nameless, [])


class Looks(PageCase):
    # Relative luminance and contrast by WCAG 2.
    CONTRAST = """(() => {
        const style = getComputedStyle(document.documentElement);
        const probe = document.body.appendChild(document.createElement("i"));
        const light = (name) => {
            probe.style.color = `var(--${name})`;
            const parts = getComputedStyle(probe).color.match(/[\\d.]+/g).slice(0, 3).map((part) => part / 255)
                .map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
            return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
        };
        const result = {};
        for (const ground of ["ground", "page", "stripe", "chosen"]) {
            for (const text of ["text", "muted", "accent", "bad", "warn", "good"]) {
                const [one, other] = [light(ground), light(text)].sort((a, b) => b - a);
                result[`${text} on ${ground}`] = (one + 0.05) / (other + 0.05);
            }
        }
        probe.remove();
        return result;
    })()"""

    def test_texts_can_be_read_in_light_and_in_the_dark(self):
        for scheme in ("light", "dark"):
            self.page.media(prefers_color_scheme=scheme)
            self.page.frames()
            for pair, contrast in self.page.value(self.CONTRAST).items():
                self.assertGreaterEqual(contrast, 4.5, f"{pair}, {scheme}")

    def test_colours_follow_the_system_and_the_button(self):
        ground = "getComputedStyle(document.body).backgroundColor"
        bar = 'document.querySelector(".rows .row canvas").toDataURL()'
        light, light_bar = self.page.value(ground), self.page.value(bar)
        self.page.media(prefers_color_scheme="dark")
        self.page.frames()
        dark, dark_bar = self.page.value(ground), self.page.value(bar)
        self.assertNotEqual(light, dark)
        self.assertNotEqual(light_bar, dark_bar)
        self.page.click("#theme")
        self.page.frames()
        self.assertEqual((self.page.value(ground), self.page.value(bar)), (light, light_bar))

    def test_it_fits_narrow_screens(self):
        for width in (1440, 1000, 600, 360):
            self.page.size(width, 800)
            self.page.frames()
            self.assertLessEqual(self.page.value("document.scrollingElement.scrollWidth"), width)
            lined_up = self.page.value("""[...document.querySelectorAll(".track canvas, .head .time-area")]
                .map((element) => Math.round(element.getBoundingClientRect().left))""")
            self.assertEqual(len(set(lined_up)), 1, f"at {width} the time begins at {lined_up}")

    def test_on_paper_totals_come_first_and_loads_are_a_table(self):
        self.page.media("print")
        self.page.value('window.dispatchEvent(new Event("beforeprint"))')
        rows = self.page.value("""[...document.querySelectorAll("#printed tbody tr")]
            .map((row) => Number(row.querySelector("data").value))""")
        self.assertEqual(rows, [load["id"] for load in self.loads[:200]])
        shown = self.page.value("""[...document.querySelectorAll("#printed img")].map((image) =>
            [Number(image.closest("tr").querySelector("data").value), image.complete && image.naturalWidth > 0])""")
        self.assertEqual(shown, [[load["id"], True] for load in self.loads[:200] if "thumbnail" in load])
        self.assertEqual(wrongly_shown(self.figures()), [])
        self.assertNotRegex(self.page.value("document.body.innerText"), "null|undefined|NaN")
        self.assertFalse(self.page.value('document.getElementById("loads").checkVisibility()'))
        top = self.page.value("""["totals", "printed"]
            .map((id) => document.getElementById(id).getBoundingClientRect().top)""")
        self.assertLess(top[0], top[1])
        self.page.value('window.dispatchEvent(new Event("afterprint"))')
        self.page.media()
        self.assertGreater(len(self.page.pdf()), 20_000)
        self.assertEqual(self.page.value('document.getElementById("printed").childElementCount'), 0)


class Hostile(PageCase):
    name = "hostile"

    def test_texts_of_strangers_stay_texts(self):
        self.assertIn("Inflight", self.page.value("document.title"))
        strange = self.page.value(
            'document.querySelectorAll("iframe, object, embed, form, base, link[href^=http]").length')
        self.assertEqual(strange, 0)
        # Only one load has a valid thumbnail, which the page shows in two places.
        pictures = self.page.value(PICTURES)
        self.assertEqual(len(pictures), 2)
        for picture in pictures:
            self.assertRegex(picture["src"], OWN_PICTURE)
        self.assertEqual(self.page.value("document.scripts.length"), 2)
        attributes = self.page.value("""[...document.querySelectorAll("*")]
            .flatMap((element) => element.getAttributeNames().filter((name) => name.startsWith("on")))""")
        self.assertEqual(attributes, [])

    def test_what_cannot_be_seen_is_written_out(self):
        shown = self.page.value("document.body.innerText")
        # A bare `assertNotIn` would print the whole page on failure.
        for character in "\u202e\u2028\u2029\0\x07\x1b\ufeff\u200b\U000e0041":
            self.assertFalse(character in shown, repr(character))
        for written in ("\\u{202e}gnp", "nul\\u{0}bell\\u{7}", "\\u{feff}\\u{200b}invisible"):
            self.assertTrue(written in shown, written)

    def test_details_show_what_was_said(self):
        self.page.value('document.querySelector(".rows .row").focus()')
        self.page.key("Enter")
        for load in self.loads:
            told = self.page.value(DETAILS)
            self.assertEqual(told["id"], load["id"])
            wanted = load["error"]["message"]
            if len(wanted) <= 2000 and wanted.isascii() and wanted.isprintable() and wanted:
                self.assertEqual(told["facts"]["Why"], wanted)
                self.assertEqual(told["url"], load["url"])
            elif len(wanted) > 2000:
                self.assertTrue(told["facts"]["Why"].startswith(wanted[:2000] + "… and "), told["facts"]["Why"][-60:])
            self.page.key("ArrowDown")

    def test_such_texts_can_be_searched_and_sorted(self):
        self.search("</script><img")
        self.assertEqual(self.ids(), [1])
        self.search("")
        for name in ("url", "outcome", "from"):
            self.page.click(HEAD.format(name))
            self.assertEqual(len(self.ids()), len(self.loads))


class Empty(PageCase):
    name = "empty"

    def test_a_run_without_loads_is_a_page_too(self):
        self.assertEqual(self.figure("total.loads"), 0)
        self.assertEqual(
            self.page.value('document.querySelector("#slowest p").textContent'), "Nothing was asked for.")
        self.page.key("+")
        self.page.click("#help")


class Long(PageCase):
    name = "long"

    def test_it_says_how_many_loads_are_left_out_and_counts_them(self):
        count, listed = len(self.loads) + self.run_facts["unlisted"], len(self.loads)
        self.assertEqual(self.figure("total.loads"), count)
        self.assertEqual(self.figure("left-out"), self.run_facts["unlisted"])
        self.assertEqual(self.figure("listed"), listed)
        said = self.page.value('document.querySelector("#loads .left-out").textContent')
        self.assertTrue(said.startswith(f"Listed are {listed} of {count} loads: "), said)
        self.page.media("print")
        self.page.value('window.dispatchEvent(new Event("beforeprint"))')
        self.assertEqual(self.page.value('document.querySelector("#printed .left-out").textContent'), said)


class TenThousand(PageCase):
    """A page of 10,000 loads, which lists 3,000 of them."""

    name = "many"

    def listed(self):
        """The first loads, the last ones, and the slowest between them."""
        between = sorted(self.loads[2000:-500], key=lambda load: -load["time"])[:500]
        return self.loads[:2000] + sorted(between, key=lambda load: load["id"]) + self.loads[-500:]

    def test_ten_thousand_loads_are_at_hand_at_once(self):
        size = (PAGES / "many.html").stat().st_size
        self.assertLess(size, 3_000_000)
        script = self.page.value('performance.getEntriesByType("navigation")[0].domComplete')
        print(f"\n10,000 loads: {size / 1e6:.2f} MB, open after {self.took:.2f} s, {script:.0f} ms by its own clock")
        self.assertEqual((self.figure("shown"), self.figure("left-out")), (3000, 7000))
        self.assertLess(self.page.value("document.querySelectorAll('*').length"), 5000)

    def test_the_listed_ones_can_be_scrolled_sorted_and_searched(self):
        for what, expression in [
            ("sorting by URL", f"document.querySelector('{HEAD.format('url')}').click()"),
            ("sorting by time", f"document.querySelector('{HEAD.format('time')}').click()"),
            ("to the end", 'document.getElementById("grid").scrollTop = 1e9'),
        ]:
            started = time.monotonic()
            self.page.value(expression)
            self.page.frames()
            print(f"\n10,000 loads: {what} took {time.monotonic() - started:.2f} s")
        self.assertEqual(self.page.value(
            'Math.max(...[...document.querySelectorAll(".rows .row")].map((row) => Number(row.dataset.place)))'), 2999)
        times = self.page.value("""[...document.querySelectorAll(".rows .row")]
            .sort((one, other) => one.dataset.place - other.dataset.place)
            .map((row) => Number(row.querySelector(".cell.time data").value)).slice(1)""")
        self.assertEqual(times, sorted(times, reverse=True))
        started = time.monotonic()
        self.search("IMG_19")
        print(f"\n10,000 loads: the first search took {time.monotonic() - started:.2f} s")
        wanted = [load["id"] for load in self.listed() if "IMG_19" in load["url"]]
        self.assertGreater(len(wanted), 500)
        self.assertEqual(sorted(self.ids()), wanted)

    def test_totals_are_those_of_all(self):
        self.assertEqual(self.figure("total.ok"), counted(load["outcome"] for load in self.loads)["ok"])
        self.assertEqual(self.figure("total.bytes"), sum(load.get("bytes", 0) for load in self.loads))
        self.assertEqual(self.figure("thumbnails.kept"), self.run_facts["thumbnails"])
        self.assertEqual(self.figure("thumbnails.of"), self.run_facts["pictures"])
        told = self.page.value("""[...document.querySelectorAll("#failures li[data-code]")].map((group) => [
            group.dataset.code, group.dataset.status, Number(group.querySelector("data").value)])""")
        self.assertEqual(
            {(code, int(status) if status else None): count for code, status, count in told}, reasons(self.loads))
        self.assertEqual(wrongly_shown(self.figures()), [])


if __name__ == "__main__":
    unittest.main()
