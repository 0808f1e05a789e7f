"""A headless Chromium for tests of pages; tests are skipped if it is not installed."""

import base64
import importlib.util
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
WAIT_SECONDS = 20


def browser_or_skip() -> tuple[str, str]:
    """Return the paths of Chromium and its driver.

    :raises Skipped: One of them, or selenium, is not installed.
    """
    chromium = next(filter(None, map(shutil.which, NAMES)), None)
    driver = shutil.which("chromedriver")
    if importlib.util.find_spec("selenium") is None:
        pytest.skip("selenium is not installed; in the checkout: pip install '.[dev]'")
    if chromium is None or driver is None:
        pytest.skip("no Chromium and chromedriver here; apt-get install chromium chromium-driver")
    return chromium, driver


@contextmanager
def browser() -> Iterator["Chrome"]:
    """Open a browser with a temporary profile."""
    chromium, driver = browser_or_skip()
    from selenium.webdriver import Chrome, ChromeOptions
    from selenium.webdriver.chrome.service import Service

    options = ChromeOptions()
    options.binary_location = chromium
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        for flag in (*FLAGS, f"--user-data-dir={profile}"):
            options.add_argument(flag)
        home = {**os.environ, "HOME": profile}  # the real home folder may be read-only
        opened = Chrome(options=options, service=Service(driver, env=home))
        try:
            yield opened
        finally:
            opened.quit()


def resize(opened: "Chrome", width: int, height: int, dark: bool = False) -> None:
    """Set the window size and the light or dark scheme, and disable smooth scrolling."""
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
    opened.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    preferences = {
        "prefers-color-scheme": "dark" if dark else "light",
        "prefers-reduced-motion": "reduce",
    }
    features = [{"name": name, "value": value} for name, value in preferences.items()]
    opened.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


def run_js(opened: "Chrome", script: str, *arguments: Any) -> Any:
    """Run JavaScript, the body of a function, in the page."""
    return opened.execute_script(script, *arguments)


def wait_until(
    opened: "Chrome", condition: str, *arguments: Any, seconds: float = WAIT_SECONDS
) -> None:
    """Wait until an expression of JavaScript is true in the page.

    :param seconds: after which the test fails.
    """
    from selenium.webdriver.support.ui import WebDriverWait

    wait = WebDriverWait(opened, seconds, poll_frequency=0.02)
    wait.until(lambda page: run_js(page, f"return {condition}", *arguments), condition)


def reload(opened: "Chrome") -> None:
    """Load the page again, and wait until the new one is complete.

    `refresh` alone may return while the old page or a part of the new one is there.
    """
    run_js(opened, "window.beforeReload = true")
    opened.refresh()
    wait_until(opened, "!window.beforeReload && document.readyState === 'complete'")


def print_to_pdf(opened: "Chrome", path: Path) -> None:
    """Save the page as PDF."""
    response = opened.execute_cdp_cmd("Page.printToPDF", {})
    path.write_bytes(base64.b64decode(response["data"]))
