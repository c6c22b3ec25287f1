"""A browser without a window, for tests of the page."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from selenium import webdriver
from selenium.common.exceptions import NoAlertPresentException
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement

NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM, DRIVER = next(filter(None, map(shutil.which, NAMES)), None), shutil.which("chromedriver")

WAIT = 30.0
"""Seconds until a test gives up on what the page is to show."""


class Browser:
    """Chromium through its driver. ``faults`` gathers what its console says, but for answers of the server."""

    def __init__(self, driver: webdriver.Chrome) -> None:
        self.driver = driver

    def open(self, url: str) -> None:
        """Load a page anew, even if only the part behind the # differs."""
        self.driver.get("about:blank")
        self.driver.get(url)

    def js(self, code: str, *values: Any) -> Any:
        return self.driver.execute_script(code, *values)

    def wait(self, code: str, *values: Any) -> Any:
        """The value of an expression as soon as it is true."""
        end = time.monotonic() + WAIT
        while time.monotonic() < end:
            if value := self.js(f"return {code}", *values):
                return value
            time.sleep(0.05)
        raise AssertionError(f"never true: {code}\n{self.js('return document.body.innerText')}")

    def one(self, selector: str) -> WebElement:
        return self.wait("document.querySelector(arguments[0])", selector)

    def texts(self, selector: str) -> list[str]:
        return self.js("return [...document.querySelectorAll(arguments[0])].map((each) => each.innerText.trim())", selector)

    def press(self, text: str, within: str = "body") -> None:
        """Press a button or link by its text."""
        code = (
            "[...document.querySelectorAll(`:is(${arguments[1]}) :is(button, a, summary)`)].find((each) => "
            "each.innerText.trim() === arguments[0])"
        )
        self.wait(code, text, within).click()

    def keys(self, *keys: str) -> None:
        """Type where the focus is."""
        ActionChains(self.driver, duration=0).send_keys(*keys).perform()

    def shift(self, key: str) -> None:
        ActionChains(self.driver, duration=0).key_down(Keys.SHIFT).send_keys(key).key_up(Keys.SHIFT).perform()

    def focused(self) -> str:
        """The name, id and text of what has the focus."""
        code = "const e = document.activeElement; return `${e.localName}#${e.id}: ${e.innerText.trim().split('\\n')[0]}`"
        return str(self.js(code))

    def size(self, width: int, height: int = 900) -> None:
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)

    def media(self, **features: str) -> None:
        """Emulate media features, as color_scheme="dark"."""
        rows = [{"name": f"prefers-{name.replace('_', '-')}", "value": value} for name, value in features.items()]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": rows})

    def has_dialog(self) -> bool:
        try:
            self.driver.switch_to.alert.dismiss()
        except NoAlertPresentException:
            return False
        return True

    def faults(self) -> list[str]:
        """What the console has said since the last call, but for statuses of the server's replies."""
        messages = [row["message"] for row in self.driver.get_log("browser")]
        return [each for each in messages if "Failed to load resource" not in each]

    def requests(self) -> list[str]:
        """The addresses that were asked for since the last call, but for those inside the browser."""
        events = [json.loads(row["message"])["message"] for row in self.driver.get_log("performance")]
        urls = [each["params"]["request"]["url"] for each in events if each["method"] == "Network.requestWillBeSent"]
        return [url for url in urls if not url.startswith(("about:", "chrome:", "data:", "blob:"))]

    def axe(self, source: Path) -> list[str]:
        """What axe-core finds: the rule, the element, and what is wrong with it."""
        if not self.js("return Boolean(window.axe)"):
            self.js(source.read_text(encoding="utf-8"))
        found = self.driver.execute_async_script(
            "const done = arguments[0];"
            "axe.run(document, {resultTypes: ['violations'], rules: {'target-size': {enabled: true}}}).then("
            "(result) => done(result.violations.flatMap((each) => each.nodes.map((node) => "
            "`${each.id}: ${node.html.slice(0, 160)}: ${node.failureSummary}`))), (error) => done([String(error)]))"
        )
        return list(found)


@contextmanager
def open_browser() -> Iterator[Browser]:
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM or ""
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--no-first-run"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    options.set_capability("unhandledPromptBehavior", "ignore")
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(executable_path=DRIVER))
    driver.set_script_timeout(60)
    try:
        yield Browser(driver)
    finally:
        driver.quit()
