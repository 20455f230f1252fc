"""The diagnostics pages in a real browser: WCAG 2.1 AA by axe-core, the keyboard alone, a phone.

Chromium opens every page in both languages, in light and in dark. Screenshots go to
LABKIT_SCREENSHOTS, or to the test's own folder.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("jinja2")
pytest.importorskip("playwright")

from browsing import CHROMIUM, FLAGS
from builders import ToyEmbedder
from labkit.types import Health
from live_diagnostics import DAY, QUESTION, LabForTests, LivePages

AXE = find_spec("axe_playwright_python")
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]
SCREENSHOTS = os.environ.get("LABKIT_SCREENSHOTS")  # read before the tests clear the variables
TOKEN = "a-token-of-the-tests-0123456789"
ASKED = f"/question?q={QUESTION.replace(' ', '+')}&day={DAY}"
PAGES = {
    "overview": "/",
    "runs": "/runs",
    "question": "/question",
    "answer": ASKED,
    "refusal": f"/question?q=Zebra+quagga%3F&day={DAY}",
    "nothing": f"/question?q=Zebra+quagga%3F&day={DAY}&viewer=none",
    "errors": "/question?q=&day=x",
    "source": f"/source?id=gate&day={DAY}&part=0",
    "foreign": f"/source?id=portail&day={DAY}",
    "missing": "/source?id=board",
    "api": "/api",
}

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium: apt-get install chromium"),
]


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LivePages]:
    lab = LabForTests(tmp_path_factory.mktemp("browser"))
    lab.record(added=5, embedded=9)
    lab.record_faults()
    with LivePages(lab) as pages:
        yield pages


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        chromium = play.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def axe() -> str:
    """The rules of axe-core, which a test may put into a page whatever its policy."""
    if AXE is None or AXE.origin is None:
        pytest.skip("no axe-core: pip install axe-playwright-python")
    return (Path(AXE.origin).parent / "axe.min.js").read_text("utf-8")


def violations(page: Any, axe: str) -> list[tuple[str, list[Any]]]:
    """What axe-core finds on a page: (rule, places)."""
    page.evaluate(axe)
    found = page.evaluate(
        "rules => axe.run(document, {runOnly: {type: 'tag', values: rules}})", RULES
    )
    assert found["passes"], "axe has looked at something"
    return [
        (fault["id"], [(node["target"], node["failureSummary"]) for node in fault["nodes"]])
        for fault in found["violations"]
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("lang", ["en", "fr"])
def test_every_page_meets_wcag_in_both_languages_light_and_dark(
    browser: Any, live: LivePages, axe: str, lang: str, scheme: str, tmp_path: Path
) -> None:
    context = browser.new_context(color_scheme=scheme, viewport={"width": 1200, "height": 900})
    folder = Path(SCREENSHOTS or tmp_path)
    folder.mkdir(parents=True, exist_ok=True)
    for name, path in PAGES.items():
        page = context.new_page()
        page.goto(f"{live.url}{path}{'&' if '?' in path else '?'}lang={lang}")
        assert violations(page, axe) == [], name
        page.screenshot(path=str(folder / f"{name}-{lang}-{scheme}.png"), full_page=True)
        page.close()
    context.close()


class Down(ToyEmbedder):
    def health(self) -> Health:
        return Health(False, "The model is not installed. Run: pip install it")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_banners_meet_wcag_too(browser: Any, axe: str, scheme: str, tmp_path: Path) -> None:
    lab = LabForTests(tmp_path, Down(), built=False)
    context = browser.new_context(color_scheme=scheme)
    with LivePages(lab) as live:
        for path in ("/", "/runs", ASKED):
            page = context.new_page()
            page.goto(live.url + path)
            assert page.locator(".banner").count() >= 1
            assert violations(page, axe) == [], path
            page.close()
    context.close()


@pytest.mark.parametrize("name", PAGES)
def test_on_a_phone_only_tables_scroll_sideways(browser: Any, live: LivePages, name: str) -> None:
    for lang in ("en", "fr"):
        page = browser.new_page(viewport={"width": 360, "height": 740})
        path = PAGES[name]
        page.goto(f"{live.url}{path}{'&' if '?' in path else '?'}lang={lang}")
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        page.close()


def test_text_twice_as_large_and_spaced_out_still_fits(browser: Any, live: LivePages) -> None:
    """WCAG 1.4.4 and 1.4.12: 1,280 pixels at 200 %, and the spacing a reader may ask for."""
    for path in PAGES.values():
        page = browser.new_page(viewport={"width": 640, "height": 800}, bypass_csp=True)
        page.goto(live.url + path)
        page.add_style_tag(
            content="*{line-height:1.5!important;letter-spacing:.12em!important;"
            "word-spacing:.16em!important}p{margin-bottom:2em!important}"
        )
        assert page.evaluate("document.documentElement.scrollWidth") <= 640
        page.close()


def heard(page: Any) -> list[str]:
    """What the page says to its console or in a dialog from now on."""
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("dialog", lambda dialog: (said.append(dialog.message), dialog.dismiss()))
    return said


def test_no_page_breaks_its_own_policy(browser: Any, live: LivePages) -> None:
    """No console says that something was blocked: no inline style, no icon, no script."""
    for path in PAGES.values():
        page = browser.new_page()
        said = heard(page)
        page.goto(live.url + path, wait_until="networkidle")
        assert not [words for words in said if "Content Security Policy" in words]
        assert page.evaluate("getComputedStyle(document.querySelector('main')).maxWidth") != "none"
        page.close()


def test_a_script_in_a_document_does_not_run(browser: Any, live: LivePages) -> None:
    for path in (PAGES["source"], PAGES["answer"], PAGES["runs"]):
        page = browser.new_page()
        said = heard(page)
        page.goto(live.url + path, wait_until="networkidle")
        assert said == []
        assert page.locator("script, main img").count() == 0
        page.close()


# --- the keyboard alone --------------------------------------------------------------------------


def focused(page: Any) -> str:
    """What has the focus: the id of a field, the text of a link."""
    return str(
        page.evaluate(
            "() => { const it = document.activeElement;"
            " return it.id || it.getAttribute('class') || it.innerText.trim(); }"
        )
    )


def tab_order(page: Any, most: int = 60) -> list[str]:
    order: list[str] = []
    for _ in range(most):
        page.keyboard.press("Tab")
        name = focused(page)
        if page.evaluate("document.activeElement === document.body"):
            break
        order.append(name)
    return order


def test_the_keyboard_reaches_everything_in_order(browser: Any, live: LivePages) -> None:
    page = browser.new_page(viewport={"width": 1200, "height": 900})
    page.goto(live.url + "/question")
    order = tab_order(page)
    top = ["skip", "Overview", "Runs", "Question", "API", "Français"]
    assert order[: len(top)] == top
    fields = list(dict.fromkeys(order[len(top) :]))  # a date has several places in one field
    assert fields == ["q", "viewer", "day", "shown", "Ask"]
    page.close()


def test_the_skip_link_shows_itself_and_leads_to_the_content(browser: Any, live: LivePages) -> None:
    page = browser.new_page()
    page.goto(live.url + "/question")
    assert not _in_view(page, ".skip")
    page.keyboard.press("Tab")
    assert _in_view(page, ".skip")
    page.keyboard.press("Enter")
    assert focused(page) == "content"
    page.keyboard.press("Tab")
    assert focused(page) == "q"
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_whatever_has_the_focus_is_seen_to_have_it(
    browser: Any, live: LivePages, scheme: str
) -> None:
    page = browser.new_page(color_scheme=scheme)
    page.goto(live.url + ASKED)
    places = 0
    for _ in range(80):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement === document.body"):
            break
        outline = page.evaluate(
            "() => { const style = getComputedStyle(document.activeElement);"
            " return [style.outlineStyle, parseFloat(style.outlineWidth)]; }"
        )
        assert outline[0] == "solid", focused(page)
        assert outline[1] >= 2, focused(page)
        places += 1
    assert places > 15
    page.close()


def test_enter_asks_and_the_way_to_the_passage_needs_no_mouse(
    browser: Any, live: LivePages
) -> None:
    page = browser.new_page()
    page.goto(f"{live.url}/question?day={DAY}&lang=fr")
    page.focus("#q")
    page.keyboard.type(QUESTION)
    page.keyboard.press("Enter")
    page.wait_for_selector("#outcome")
    assert page.input_value("#q") == QUESTION
    assert "lang=fr" in page.url
    assert page.inner_text("#outcome-title").endswith("Réponse")
    page.focus("#outcome a")
    page.keyboard.press("Enter")
    page.wait_for_selector("#passage mark")
    assert "opens at eight" in page.inner_text("mark")
    assert _in_view(page, "#passage")
    page.close()


def test_a_passage_opens_and_a_table_scrolls_by_keyboard(browser: Any, live: LivePages) -> None:
    page = browser.new_page(viewport={"width": 360, "height": 740})
    page.goto(live.url + ASKED)
    page.focus("details summary")
    page.keyboard.press("Enter")
    assert page.locator("details[open] .text").first.is_visible()
    page.focus(".scroll")
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    page.wait_for_function("document.querySelector('.scroll').scrollLeft > 0")
    page.close()


def test_a_browser_sends_the_token_as_a_password(browser: Any, tmp_path: Path) -> None:
    with LivePages(LabForTests(tmp_path), token=TOKEN) as live:
        context = browser.new_context(http_credentials={"username": "me", "password": TOKEN})
        page = context.new_page()
        assert page.goto(live.url).status == 200
        page.click("text=Runs")
        page.wait_for_selector("table.runs")
        assert TOKEN not in page.url + page.content()
        context.close()
    shutil.rmtree(tmp_path)


def _in_view(page: Any, selector: str) -> bool:
    return bool(
        page.evaluate(
            "selector => { const box = document.querySelector(selector).getBoundingClientRect();"
            " return box.right > 0 && box.bottom > 0 && box.top < innerHeight; }",
            selector,
        )
    )
