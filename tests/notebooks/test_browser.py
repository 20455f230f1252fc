"""A learner's first hour in a real browser: a lesson run to its end, a slider moved.

JupyterLab runs in Chromium. Screenshots go to LABKIT_SCREENSHOTS, or to the test's own folder.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from browsing import CHROMIUM, FLAGS
from conftest import CHECKOUT

TOKEN = "lesson"
SCREENSHOTS = os.environ.get("LABKIT_SCREENSHOTS")  # read before the tests clear the variables
WAIT = 240_000  # milliseconds, for a whole lesson on a busy machine

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium: apt-get install chromium"),
]


@pytest.fixture(scope="module")
def jupyter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a JupyterLab on the lessons' copies, with live widgets."""
    folder = tmp_path_factory.mktemp("jupyter")
    settings = folder / "settings/@jupyterlab/notebook-extension"
    settings.mkdir(parents=True)
    # All cells in the page at once, so that the test can see them all.
    (settings / "tracker.jupyterlab-settings").write_text('{"windowingMode": "none"}')
    lessons = CHECKOUT / "my-lab" / "browser-test"
    shutil.rmtree(lessons, ignore_errors=True)
    lessons.mkdir(parents=True)
    for path in (CHECKOUT / "notebooks").glob("[0-9]*.ipynb"):
        shutil.copyfile(path, lessons / path.name)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("LABKIT_")}
    environment |= {
        "LABKIT_INDEX": str(folder / "index.sqlite"),
        "LABKIT_PROGRESS": str(folder / "progress.json"),
        "JUPYTERLAB_SETTINGS_DIR": str(folder / "settings"),
        "JUPYTER_CONFIG_DIR": str(folder / "config"),
    }
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"]
    command += [f"--port={port}", "--ip=127.0.0.1", f"--IdentityProvider.token={TOKEN}"]
    command += [f"--ServerApp.root_dir={lessons}", "--LabApp.news_url=None"]
    with (folder / "jupyter.log").open("wb") as log:
        server = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        try:
            address = f"http://127.0.0.1:{port}"
            wait_for(f"{address}/api/status?token={TOKEN}")
            yield address
        finally:
            server.terminate()
            server.wait(30)
            shutil.rmtree(lessons, ignore_errors=True)


def wait_for(address: str, seconds: float = 90) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            with urlopen(address, timeout=5):
                return
        except (URLError, OSError):
            time.sleep(0.5)
    pytest.fail(f"JupyterLab did not answer within {seconds:g} s")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        chromium = play.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield chromium
        chromium.close()


def run_all(browser: Any, jupyter: str, lesson: str) -> Any:
    """Open a lesson and run all its cells; the page, when the last one has finished."""
    page = browser.new_page(viewport={"width": 1280, "height": 1000})
    page.goto(f"{jupyter}/lab/tree/{lesson}?token={TOKEN}&reset", timeout=WAIT)
    page.wait_for_selector(".jp-Notebook .jp-CodeCell", timeout=WAIT)
    page.wait_for_selector(".jp-Notebook-ExecutionIndicator[data-status='idle']", timeout=WAIT)
    page.click("text=Run >> nth=0", timeout=WAIT)
    page.click(".lm-Menu-item[data-command='runmenu:run-all']", timeout=WAIT)
    cells = json.loads((CHECKOUT / "notebooks" / lesson).read_text("utf-8"))["cells"]
    count = sum(cell["cell_type"] == "code" for cell in cells)
    page.wait_for_function(
        """count => {
            const prompts = [...document.querySelectorAll('.jp-Notebook .jp-CodeCell')]
                .map(cell => cell.querySelector('.jp-InputPrompt').textContent.trim());
            return prompts.length === count && !prompts.some(p => p.includes('*'))
                && prompts[count - 1] === `[${count}]:`;
        }""",
        arg=count,
        timeout=WAIT,
    )
    return page


def photograph(page: Any, name: str, tmp_path: Path) -> None:
    folder = Path(SCREENSHOTS or tmp_path)
    folder.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=str(folder / f"{name}.png"))
    assert (folder / f"{name}.png").stat().st_size > 10_000


def errors_on(page: Any) -> list[str]:
    """What any output shows as an error or writes to stderr."""
    kinds = ("application/vnd.jupyter.stderr", "application/vnd.jupyter.error")
    shown = ", ".join(f".jp-RenderedText[data-mime-type='{kind}']" for kind in kinds)
    return [item.inner_text() for item in page.query_selector_all(shown)]


def test_the_first_lesson_runs_to_its_end(browser: Any, jupyter: str, tmp_path: Path) -> None:
    page = run_all(browser, jupyter, "00_first_answer.ipynb")
    assert errors_on(page) == []
    text = page.inner_text(".jp-Notebook")
    assert "You can export CSV in Reporting" in text
    assert "unknown_product" in text
    photograph(page, "lesson-00", tmp_path)
    page.close()


def test_a_slider_changes_what_is_shown(browser: Any, jupyter: str, tmp_path: Path) -> None:
    page = run_all(browser, jupyter, "02_chunking.ipynb")
    assert errors_on(page) == []
    photograph(page, "lesson-02", tmp_path)
    slider = page.wait_for_selector(".widget-slider .noUi-handle", timeout=WAIT)
    shown = page.locator(".widget-html-content figure, .jupyter-widgets figure").first
    before = shown.get_attribute("aria-label")
    slider.scroll_into_view_if_needed()
    slider.focus()
    page.keyboard.press("End")  # the largest window, without a mouse
    page.wait_for_function(
        "before => document.querySelector('.jupyter-widgets figure')"
        ".getAttribute('aria-label') !== before",
        arg=before,
        timeout=30_000,
    )
    assert shown.get_attribute("aria-label") != before
    photograph(page, "lesson-02-slider", tmp_path)
    page.close()
