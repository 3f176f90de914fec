"""The report and a search page in a browser: no error, no request; clicks and keys change the neighbours."""

from __future__ import annotations

import time

import numpy as np
import pytest

from covmetric import CovMetric, CovMetricClassifier
from covmetric.datasets.inputs import Inputs
from covmetric.report import comparison_page, model_page, search_page, write_page
from covmetric.tasks import ModelView
from tests.report.browser import chromium, requests, set_page
from tests.report.examples import DANGER, DATA, TRAIN, classifier, comparison


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with chromium(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder, fitted = tmp_path_factory.mktemp("pages"), classifier()
    view, names = ModelView(fitted), np.array([f"{DANGER} {i}" for i in range(int((~TRAIN).sum()))])
    found = view.neighbors(DATA.X[~TRAIN], 3)
    search = search_page(DANGER, view, Inputs("matrices", DATA.X[~TRAIN], names), found, DANGER)
    return {
        "report": write_page(model_page(fitted, DANGER, DANGER), folder / "report.html"),
        "search": write_page(search, folder / "search.html"),
        "comparison": write_page(comparison_page(comparison()), folder / "comparison.html"),
    }


def shown(browser):
    """Return the title, and the texts of the neighbours, of the chosen query."""
    text = "return [...document.querySelectorAll('.results h3, .results li')].map(e => e.textContent)"
    return browser.execute_script(text)


@pytest.fixture(params=["report", "search", "comparison"])
def page(request, browser, pages):
    set_page(browser, 1280)
    browser.get(pages[request.param].as_uri())
    return request.param


def test_page_opens_without_an_error_and_without_a_request(page, browser, pages):
    requests(browser), browser.get_log("browser")  # those of earlier pages
    browser.get(pages[page].as_uri())
    time.sleep(0.2)
    assert requests(browser) == [pages[page].as_uri()]
    assert browser.get_log("browser") == []
    assert browser.execute_script("return window.harmed") is None  # a name has become a script
    assert browser.title.endswith(DANGER) and len(shown(browser)) > 3


def test_click_changes_the_neighbours(page, browser):
    from selenium.webdriver.common.by import By

    before = shown(browser)
    third = browser.find_elements(By.CSS_SELECTOR, "[data-query]")[2]
    third.click()
    assert shown(browser) != before
    assert third.get_attribute("aria-selected") == "true"
    assert [e.get_attribute("data-query") for e in browser.find_elements(By.CSS_SELECTOR, "[aria-selected=true]")] == [
        "2"
    ]


def test_keys_change_the_neighbours(page, browser):
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    options = browser.find_elements(By.CSS_SELECTOR, "[data-query]")
    for _ in range(30):  # from the top of the page to the list, by the tab key alone
        browser.switch_to.active_element.send_keys(Keys.TAB)
        if browser.switch_to.active_element == options[0]:
            break
    assert browser.switch_to.active_element == options[0]
    seen = [shown(browser)]
    for key, expected in (
        (Keys.ARROW_DOWN, 1),
        (Keys.ARROW_RIGHT, 2),
        (Keys.ARROW_UP, 1),
        (Keys.END, -1),
        (Keys.HOME, 0),
    ):
        browser.switch_to.active_element.send_keys(key)
        assert browser.switch_to.active_element == options[expected]
        seen.append(shown(browser))
    assert seen[0] == seen[5] and seen[1] == seen[3] and len({tuple(one) for one in seen}) == 4
    assert browser.get_log("browser") == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 360])
def test_page_fits_its_width_and_follows_the_colour_scheme(page, width, scheme, browser):
    set_page(browser, width, scheme=scheme)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    colour = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, colour[4:-1].split(","))) < 200) == (scheme == "dark")
    assert len(browser.get_screenshot_as_png()) > 10_000


def test_classes_of_queries_are_not_broken_into_letters(browser, tmp_path):
    labels = np.array(["rest", "left hand"])[np.arange(len(DATA.X)) % 2]
    names = [f"recordings/of-a-long-name/{'x' * 60}-{i}.png" for i in range(len(labels))]
    fitted = CovMetricClassifier(CovMetric(random_state=0)).fit(DATA.X, labels, names=names)
    set_page(browser, 1280)
    browser.get(write_page(model_page(fitted, "long", "long"), tmp_path / "long.html").as_uri())
    heights = browser.execute_script(
        "return [...document.querySelectorAll('.queries .label')].map(e => e.getBoundingClientRect().height)"
    )
    assert heights and max(heights) < 2 * 24  # one line each
