"""A real browser for the tests of the page."""

import datetime
import shutil

import pytest

START = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="module")
def browser():
    sync_api = pytest.importorskip("playwright.sync_api")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("no chromium here: make browser")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def visit(browser):
    """Opens a page; at the end there must have been no complaint in the console and no request but for the page."""
    contexts, complaints, requests, pages = [], [], [], []

    def visit(path, width=1280, stop_clock=False, **options):
        context = browser.new_context(viewport={"width": width, "height": 800}, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        if stop_clock:  # until the test lets it run
            page.clock.install(time=START)
        page.goto(path.as_uri())
        page.wait_for_selector("body[data-ready]", timeout=20_000)
        if stop_clock:
            page.clock.pause_at(START + datetime.timedelta(hours=1))
        pages.append(path.as_uri())
        return page

    yield visit
    for context in contexts:
        context.close()
    assert complaints == []
    assert [url for url in requests if not url.startswith("data:")] == pages
