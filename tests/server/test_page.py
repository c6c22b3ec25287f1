"""The page in a browser: every state, keys, marks, and texts that try to be more than texts."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from drawn_pdf import pdf
from served import served
from staged import Canned, Stage, answer_row, reply_row

from oreqa.datasets.marks import UNDECIDED_FILE, read_marks
from oreqa.index.ingest import index_files
from oreqa.index.store import Settings
from oreqa.server.collections import close_collections, open_collections
from oreqa.server.following import Follower
from oreqa.server.settings import Access
from oreqa.server.static import WEB

pytest.importorskip("selenium", reason="selenium is not installed")

from browser import CHROMIUM, DRIVER, Browser, open_browser
from selenium.webdriver.common.keys import Keys

browsing = [
    pytest.mark.system,
    pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="Chromium and its driver are not installed"),
]

AXE = Path(os.environ.get("OREQA_AXE", Path(__file__).parents[2] / "runs" / "axe.min.js"))
THEMES, WIDTHS = ("light", "dark"), (1440, 820, 390)
EVIL = "<img src=x onerror=alert(1)><script>alert(2)</script>{{7*7}}\"'><svg/onload=alert(3)>"
QUESTION = "How long is the warranty?"
CONTRACT = ["The goods are tents.\nThe price is 4,800 euros.", "The warranty lasts two years.\nIt covers faults."]
TEXTS = {
    "care.md": "# Care\n\n## Washing\n\nWash it in cold water. Never use a machine. It dries in two days.\n\n## Pitching\n\n"
    "To pitch it:\n\n1. Lay out the sheet.\n2. Peg the corners.\n",
    "birds.txt": "The nightingale 🐦 sings 🎵 at night. It sings from April to June. Owls hoot.\n",
    f"{EVIL.replace('/', '')}.txt": f"The secret word is xylophone. {EVIL} Bees hum.\n",
    "rows.jsonl": '{"id": "a", "title": "Tents", "text": "The tent is waterproof.", "kind": "tent"}\n'
    '{"id": "b", "title": "Boots", "text": "The boots are made of leather.", "kind": "shoe"}\n',
    "long.md": "# Long\n\n" + "".join(f"## Part {n}\n\n{f'Sentence {n} is here. ' * 200}\n\n" for n in range(60)),
}


@dataclass(frozen=True)
class Shop:
    """A server with what stands before it, the browser, and its documents."""

    client: httpx.Client
    stage: Stage
    browser: Browser
    documents: Path
    index: Path

    @property
    def home(self) -> str:
        return str(self.client.base_url).rstrip("/")

    def answer(self, document: str, words: str, confidence: float | None = 0.82, **changes: Any) -> dict[str, Any]:
        return answer_row(self.client, document, words, confidence, **changes)

    def ask(self, *answers: dict[str, Any], question: str = QUESTION, flags: str = "", **changes: Any) -> None:
        """Open the page with a question, and its reply."""
        self.stage.canned["/v1/ask"] = Canned(reply_row(question, *answers, **changes))
        self.browser.open(f"{self.home}/#q={question}{flags}")
        self.browser.one("#results :is(article, section)")


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory, fitted: Path, fitted_reader: Path) -> Iterator[Shop]:
    home = tmp_path_factory.mktemp("page")
    documents = home / "documents"
    documents.mkdir()
    for name, text in TEXTS.items():
        (documents / name).write_text(text, encoding="utf-8")
    (documents / "contract.pdf").write_bytes(pdf(CONTRACT, title="Contract"))
    for file in documents.iterdir():
        os.utime(file, (1_700_000_000, 1_700_000_000))
    index_files(home / "shelf", documents, Settings(str(fitted), passage_tokens=400))
    collections = open_collections({"shelf": home / "shelf"}, reader=fitted_reader)
    stage = Stage()
    with served(collections, wrap=stage.wrap) as client, open_browser() as browser:
        yield Shop(client, stage, browser, documents, home / "shelf")
    close_collections(collections)


@pytest.fixture
def page(shop: Shop) -> Iterator[Shop]:
    """The server as it is, and a wide window; in the end nothing may have gone wrong in the browser."""
    shop.stage.canned.clear()
    shop.stage.requests.clear()
    shop.browser.media(color_scheme="light")
    shop.browser.size(1440)
    shop.browser.open("about:blank")
    shop.browser.faults(), shop.browser.requests()
    yield shop
    assert not shop.browser.has_dialog()
    assert shop.browser.faults() == []
    assert [url for url in shop.browser.requests() if not url.startswith(f"{shop.home}/")] == []
    assert not [each.address for each in shop.stage.requests if "warranty" in each.address]


# The states of the page.


def warranty(shop: Shop, **changes: Any) -> dict[str, Any]:
    return shop.answer("contract.pdf", "two years", **changes)


def home(shop: Shop) -> None:
    shop.browser.open(shop.home)
    shop.browser.wait("document.activeElement.id === 'question'")


def empty(shop: Shop) -> None:
    status = shop.client.get("/v1/status").json()
    shop.stage.canned["/v1/status"] = Canned({**status, "collections": [{**status["collections"][0], "documents": 0}]})
    home(shop)
    assert "There are no documents yet" in shop.browser.texts("h2")


def filters(shop: Shop) -> None:
    home(shop)
    shop.browser.press("Filter")
    shop.browser.wait("document.getElementById('field').options.length")


def reading(shop: Shop) -> None:
    shop.stage.canned["/v1/ask"] = Canned(reply_row(QUESTION), delay=600)
    shop.browser.open(f"{shop.home}/#q={QUESTION}")
    shop.browser.wait("document.getElementById('status').innerText === 'Reading 5 passages'")


def answers(shop: Shop) -> None:
    other = shop.answer("care.md", "two days", 0.5, contradicted_by="/a/contract.pdf")
    shop.ask(warranty(shop, newer="/b/contract-2.pdf"), other, respelt={"waranty": "warranty"})
    assert shop.browser.texts("article h2") == ["two years", "two days"]


def shared_passage(shop: Shop) -> None:
    shop.ask(shop.answer("care.md", "cold water"), shop.answer("care.md", "two days", 0.5))
    assert shop.browser.texts("blockquote mark") == ["cold water", "two days"]
    assert shop.browser.texts(".also") == ["Also in this passage"]


def several(shop: Shop) -> None:
    water, days = shop.answer("care.md", "cold water"), shop.answer("care.md", "two days")
    spans = [{name: row[name] for name in ("text", "start", "end")} for row in (water, days)]
    shop.ask({**water, "spans": spans, "whole_text": "cold water, two days"})
    assert shop.browser.texts("article h2") == ["cold water, two days"]
    assert shop.browser.texts("blockquote mark") == ["cold water", "two days"]


def block(shop: Shop) -> None:
    row = shop.answer("care.md", "1. Lay out the sheet.\n2. Peg the corners.")
    pieces = [{"text": row["text"], "start": row["start"], "end": row["end"], "cut": True}]
    shop.ask({**row, "form": "block", "block": {"kind": "list", "probability": 0.8, "pieces": pieces}})
    assert shop.browser.texts("article h2") == ["Pitching"]


def computed(shop: Shop) -> None:
    row = shop.answer("rows.jsonl#a", "waterproof", None, text="7", certainty="computed", form="computed")
    rows = [{"text": f"Row {n}.", "start": n, "end": n + 1, "document": "rows.jsonl"} for n in range(7)]
    shop.ask({**row, "computation": {"operation": "count", "column": None, "rows": rows, "looked_at": 40}})
    assert shop.browser.texts(".answer summary") == ["Counted in 40 rows of a table"]
    assert shop.browser.one(".answer li").get_attribute("textContent") == "Row 0. (rows.jsonl)"
    assert "Right" not in shop.browser.texts(".answer button")
    shop.ask({**row, "computation": {"operation": "latest", "column": "version", "rows": rows[:1], "looked_at": 40}})
    assert shop.browser.texts(".answer summary") == ["The latest version in 40 headings of a change log"]


def none(shop: Shop) -> None:
    hits = shop.client.post("/v1/search", json={"question": QUESTION, "k": 2}).json()["hits"]
    reason = "The best guess has 12%, and an answer needs 31%."
    shop.ask(guess=warranty(shop, confidence=0.12, certainty="weak"), nearest=hits, reason=reason)
    assert shop.browser.texts(".none > h2, .none > p") == ["The documents may not answer this", reason]


def guess(shop: Shop) -> None:
    none(shop)
    shop.browser.press("Show the guess")
    assert shop.browser.texts("article h2") == ["two years"]


def wrong(shop: Shop) -> None:
    answers(shop)
    shop.browser.press("Wrong")
    shop.browser.one(".which input")


def choosing(shop: Shop) -> None:
    wrong(shop)
    shop.browser.press("Select it in the text")
    shop.browser.wait("!document.getElementById('choosing').hidden && document.querySelector('#source mark')")


def broken(shop: Shop) -> None:
    shop.stage.canned["/v1/ask"] = Canned({"detail": "no document has a field 'colour'"}, 400)
    shop.browser.open(f"{shop.home}/#q={QUESTION}")
    assert shop.browser.one(".problem").text.splitlines()[1] == "No document has a field 'colour'."


def busy(shop: Shop) -> None:
    shop.stage.canned["/v1/ask"] = Canned(
        {"detail": "64 questions wait already; ask again later"}, 503, {"Retry-After": "5"}
    )
    shop.browser.open(f"{shop.home}/#q={QUESTION}")
    assert "Try again in 5 seconds." in shop.browser.one(".problem").text


def offline(shop: Shop) -> None:
    home(shop)
    shop.browser.driver.set_network_conditions(offline=True, latency=0, throughput=0)
    try:
        shop.browser.one("#question").send_keys(QUESTION, "\n")
        assert shop.browser.one(".problem h2").text == "No connection to the server"
    finally:
        shop.browser.driver.delete_network_conditions()


def source(shop: Shop) -> None:
    answers(shop)
    shop.browser.press("Contract, page 2")
    shop.browser.wait("document.querySelector('#source mark')?.innerText === 'two years'")


def pages(shop: Shop) -> None:
    source(shop)
    shop.browser.press("Page", "#source")
    shop.browser.wait("document.querySelector('.sheet i') && document.querySelector('.sheet img').naturalWidth")


def contents(shop: Shop) -> None:
    shop.ask(shop.answer("care.md", "cold water"))
    shop.browser.press("Contents")


def missing(shop: Shop) -> None:
    shop.browser.open(f"{shop.home}/d/0123456789abcdef#c=1-2")
    assert "not in the index any more" in shop.browser.one("#source .problem").text


def explained(shop: Shop) -> None:
    shop.browser.open(f"{shop.home}/#q=Owls%20or%20bees%3F&explain=1")
    shop.browser.one(".stages td i")


def listed_keys(shop: Shop) -> None:
    answers(shop)
    shop.browser.shift("?")
    shop.browser.wait("document.activeElement.id === 'keys'")


STATES: list[Callable[[Shop], None]] = [
    home, empty, filters, reading, answers, shared_passage, several, block, computed, none, guess, wrong, choosing, broken, busy,
    offline, source, pages, contents, missing, explained, listed_keys,
]  # fmt: skip


class TestPage:
    """In the browser."""

    pytestmark = browsing

    @pytest.mark.skipif(not AXE.exists(), reason=f"axe-core is not at {AXE}: make axe")
    @pytest.mark.parametrize("state", STATES, ids=lambda state: state.__name__)
    def test_axe_finds_nothing_in_any_state_theme_and_width(self, page: Shop, state: Callable[[Shop], None]) -> None:
        state(page)
        for theme in THEMES:
            page.browser.media(color_scheme=theme)
            for width in WIDTHS:
                page.browser.size(width)
                assert page.browser.axe(AXE) == [], (state.__name__, theme, width)

    @pytest.mark.parametrize("state", STATES, ids=lambda state: state.__name__)
    def test_at_four_hundred_percent_nothing_is_beside_the_window(self, page: Shop, state: Callable[[Shop], None]) -> None:
        state(page)
        page.browser.size(320, 256)
        wide = "[...document.querySelectorAll('body *')].filter((each) => each.getBoundingClientRect().right > 321 && "
        wide += "getComputedStyle(each).clipPath === 'none').map((each) => each.outerHTML.slice(0, 120))"
        assert page.browser.js("return document.documentElement.scrollWidth") <= 320, page.browser.js(f"return {wide}")

    # What people do.

    def test_a_question_is_asked_and_stands_behind_the_hash(self, page: Shop) -> None:
        page.stage.canned["/v1/ask"] = Canned(reply_row(QUESTION, warranty(page)))
        home(page)
        page.browser.keys(QUESTION, Keys.ENTER)
        page.browser.one("article")
        assert page.browser.js("return location.href") == f"{page.home}/#q=How+long+is+the+warranty%3F"
        assert page.stage.last("/v1/ask") == {"question": QUESTION, "where": {}}
        assert page.browser.js("return document.title") == f"{QUESTION} · oreqa"
        assert page.browser.texts(".sure") == ["sure, 82%"]
        assert page.browser.texts("#status") == ["1 answer"]
        assert page.browser.focused().startswith("article#")

    def test_shift_and_enter_begins_a_line_and_an_empty_question_is_not_asked(self, page: Shop) -> None:
        home(page)
        page.browser.keys("?!", Keys.ENTER)
        page.browser.shift(Keys.ENTER)
        assert page.browser.js("return document.getElementById('question').value") == "?!\n"
        assert "/v1/ask" not in [each.address for each in page.stage.requests]

    def test_the_address_of_a_source_shows_it_with_the_question(self, page: Shop) -> None:
        row = warranty(page)
        page.stage.canned["/v1/ask"] = Canned(reply_row(QUESTION, row))
        page.browser.open(f"{page.home}{row['url']}&q={QUESTION}")
        page.browser.wait("document.querySelector('#source mark')?.innerText === 'two years'")
        assert page.browser.one("article h2").text == "two years"

    def test_a_long_question_is_whole_beside_its_source(self, page: Shop) -> None:
        page.browser.size(1280)
        page.ask(
            warranty(page),
            question="How do I limit the bandwidth that rsync uses " + "on the way to the other machine " * 3 + "?",
        )
        page.browser.wait("document.querySelector('#source mark')")
        page.browser.wait("question.scrollHeight <= question.clientHeight && question.offsetHeight > 60")

    def test_back_closes_the_source_and_returns_the_focus(self, page: Shop) -> None:
        for width in (390, 1440):
            page.browser.size(width)
            answers(page)
            page.browser.press("Contract, page 2")
            page.browser.wait("document.querySelector('#source mark')")
            assert page.browser.focused() == "h2#: Contract"
            assert page.browser.js("return document.getElementById('main').offsetHeight === 0") == (width == 390)
            page.browser.driver.back()
            page.browser.wait("document.getElementById('source').hidden")
            assert page.browser.focused() == "a#: Contract, page 2"
            page.browser.keys("o")
            page.browser.wait("document.querySelector('#source mark')")
            page.browser.press("Close", "#source")
            page.browser.wait("document.getElementById('source').hidden")
            assert page.browser.focused() == "a#: Contract, page 2"

    def test_back_shows_the_answers_before_without_asking_again(self, page: Shop) -> None:
        answers(page)
        page.stage.canned["/v1/ask"] = Canned(reply_row("Owls?", page.answer("birds.txt", "hoot")))
        page.browser.keys("/", "Owls?", Keys.ENTER)
        page.browser.wait("document.querySelector('article h2').innerText === 'hoot'")
        page.browser.driver.back()
        page.browser.wait("document.querySelector('article h2').innerText === 'two years'")
        assert [each.address for each in page.stage.requests].count("/v1/ask") == 2
        assert page.browser.js("return document.getElementById('question').value") == QUESTION

    def test_keys_act_on_the_answer_with_the_focus_and_can_be_turned_off(self, page: Shop) -> None:
        permissions = {"origin": page.home, "permissions": ["clipboardReadWrite"]}
        page.browser.driver.execute_cdp_cmd("Browser.grantPermissions", permissions)
        answers(page)
        page.browser.keys("c")
        page.browser.wait("document.getElementById('status').innerText === 'Copied'")
        copied = page.browser.driver.execute_async_script("navigator.clipboard.readText().then(arguments[0])")
        row = warranty(page)
        assert copied == f"“The warranty lasts two years.” (Contract, {page.home}{row['url']})"
        page.browser.keys("r")
        page.browser.wait("document.querySelector('[data-verdict][aria-pressed=true]')?.innerText === 'Right'")
        page.browser.keys("w")
        page.browser.one(".which")
        page.browser.keys(Keys.ESCAPE)
        page.browser.wait("!document.querySelector('.which')")
        assert page.browser.focused() == "button#: Wrong"
        page.browser.keys("/")
        assert page.browser.focused().startswith("textarea#question")
        page.browser.keys("ocrw?/")
        assert page.browser.js("return document.getElementById('question').value").endswith("ocrw?/")
        page.browser.keys(Keys.ESCAPE)
        page.browser.wait("document.getElementById('source').hidden")
        page.browser.keys(Keys.ESCAPE)
        page.browser.shift("?")
        page.browser.press("Turn them off")
        page.browser.keys(Keys.ESCAPE)
        requests = len(page.stage.requests)
        page.browser.keys("r", "w", "o", "/")
        assert (page.browser.js("return document.activeElement.id"), len(page.stage.requests)) != ("question", requests)
        assert len(page.stage.requests) == requests
        page.browser.js("localStorage.clear()")

    def test_what_is_marked_stands_in_the_file(self, page: Shop) -> None:
        page.ask(warranty(page))
        page.browser.press("Right")
        page.browser.wait("document.querySelector('[data-verdict][aria-pressed=true]')")
        (mark,) = read_marks(page.index)
        assert (mark.question, mark.verdict, mark.answers) == (QUESTION, "right", ("two years",))
        assert page.stage.last("/v1/marks")["asked"] == ["shelf"]
        assert mark.answer == "The warranty lasts two years."
        page.browser.press("Right")
        page.browser.wait("!document.querySelector('[data-verdict][aria-pressed=true]')")
        assert read_marks(page.index) == []

        page.browser.press("Wrong")
        page.browser.one(".which")
        assert [each.verdict for each in read_marks(page.index, UNDECIDED_FILE)] == ["wrong"]
        page.browser.press("Undo")
        page.browser.wait("!document.querySelector('.which, [data-verdict][aria-pressed=true]')")
        assert read_marks(page.index, UNDECIDED_FILE) == []
        page.browser.press("Wrong")
        choice = page.browser.wait(
            "[...document.querySelectorAll('.which label')].find((each) => each.innerText.includes('It covers faults'))"
        )
        choice.click()
        page.browser.press("Save", ".which")
        page.browser.wait("document.querySelector('.which').innerText.includes('Undo')")
        (mark,) = read_marks(page.index)
        assert (mark.verdict, mark.answers, mark.given_answer) == ("corrected", ("It covers faults.",), "two years")
        assert read_marks(page.index, UNDECIDED_FILE) == []
        page.browser.press("Undo")
        page.browser.wait("!document.querySelector('.which')")
        assert read_marks(page.index) == []

    def test_selected_text_is_the_right_answer(self, page: Shop) -> None:
        page.browser.size(390)
        page.ask(page.answer("birds.txt", "at night"))
        page.browser.press("Wrong")
        page.browser.press("Select it in the text")
        page.browser.wait("document.querySelector('#source mark')")
        page.browser.js(
            "const text = [...document.querySelector('.passage').childNodes].at(-1);"
            "const from = text.data.indexOf(' April'), range = document.createRange();"
            "range.setStart(text, from); range.setEnd(text, from + ' April to June'.length);"
            "getSelection().removeAllRanges(); getSelection().addRange(range);"
        )
        page.browser.press("Use “April to June”")
        page.browser.wait("document.querySelector('.which')?.innerText.includes('Saved')")
        (mark,) = read_marks(page.index)
        assert (mark.verdict, mark.answers) == ("corrected", ("April to June",))
        assert mark.context[mark.start :].startswith("April to June")
        page.browser.press("Undo")
        page.browser.wait("!document.querySelector('.which')")

    def test_a_selection_is_cut_to_its_passage_and_refused_in_two(self, page: Shop) -> None:
        page.browser.size(1440)
        page.ask(page.answer("birds.txt", "at night"))
        page.browser.press("Wrong")
        page.browser.press("Select it in the text")
        page.browser.wait("document.querySelector('#source mark')")
        select = (
            "const first = document.querySelector('#source .passage'), range = document.createRange();"
            "const next = first.cloneNode(true); next.dataset.start = '9000'; first.after(next);"
            "range.setStart(first.firstChild, 0); range.setEnd(next, {});"
            "getSelection().removeAllRanges(); getSelection().addRange(range); next.inert = true;"
        )
        label = "document.querySelector('#choosing button').textContent"
        page.browser.js(select.format(1))
        page.browser.wait(f"{label} === 'Select within one passage'")
        assert page.browser.js("return document.querySelector('#choosing button').disabled")
        page.browser.js(select.format(0))  # as a third click leaves it
        page.browser.wait(f"{label}.startsWith('Use “')")
        text = page.browser.js("return document.querySelector('#source .passage').textContent")
        page.browser.js("document.querySelector('#choosing button').click()")
        page.browser.wait("document.querySelector('.which')?.innerText.includes('Saved')")
        (mark,) = read_marks(page.index)
        assert mark.answers == (text.strip(),)
        page.browser.press("Undo")
        page.browser.wait("!document.querySelector('.which')")

    def test_the_page_works_where_storage_is_blocked(self, page: Shop) -> None:
        source = "Object.defineProperty(window, 'localStorage', { get() { throw new DOMException('', 'SecurityError'); } });"
        script = page.browser.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": source})
        try:
            answers(page)
            page.browser.press("Keys")
            page.browser.press("Turn them off")
            page.browser.wait("document.getElementById('keys').innerText.includes('They are off')")
        finally:
            page.browser.driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", script)

    def test_that_the_documents_do_not_answer_can_be_said(self, page: Shop) -> None:
        none(page)
        page.browser.press("Right, they do not")
        page.browser.wait("document.querySelector('[data-verdict][aria-pressed=true]')")
        assert [(mark.verdict, mark.answers) for mark in read_marks(page.index)] == [("none", ())]
        page.browser.press("Right, they do not")
        page.browser.wait("!document.querySelector('[data-verdict][aria-pressed=true]')")
        page.browser.press("They do answer it")
        page.browser.one(".which input").click()
        page.browser.press("Save", ".which")
        page.browser.wait("document.querySelector('.which').innerText.includes('Undo')")
        assert [mark.verdict for mark in read_marks(page.index)] == ["corrected"]
        page.browser.press("Undo")
        page.browser.wait("!document.querySelector('.which')")

    def test_filters_and_only_in_this_are_conditions(self, page: Shop) -> None:
        filters(page)
        page.browser.one("#folder").send_keys("manuals/")
        page.browser.one("#value").send_keys("shoe")
        page.stage.canned["/v1/ask"] = Canned(reply_row(QUESTION, warranty(page)))
        page.browser.one("#question").send_keys(QUESTION, Keys.ENTER)
        page.browser.one("article")
        assert page.stage.last("/v1/ask")["where"] == {"path": "manuals/", "kind": "shoe"}
        page.browser.press("Only in this")
        page.browser.wait("document.getElementById('only').innerText.startsWith('Only in contract.pdf')")
        assert page.stage.last("/v1/ask")["where"] == {"document_id": warranty(page)["place"]["document_id"], "kind": "shoe"}
        page.browser.press("Ask all documents")
        page.browser.wait("document.getElementById('only').hidden")
        assert page.stage.last("/v1/ask")["where"] == {"kind": "shoe"}

    def test_answers_are_saved(self, page: Shop) -> None:
        answers(page)
        page.browser.js(
            "URL.createObjectURL = (blob) => { blob.text().then((text) => { window.saved = text; }); return '#'; };"
        )
        page.browser.press("Markdown", "#bottom")
        saved = page.browser.wait("window.saved")
        assert saved.startswith(
            "## How long is the warranty?\n\n**two years** (sure, 82%)\n\n> “The warranty lasts two years.” (Contract, http"
        )
        page.browser.js("window.saved = ''")
        page.browser.press("JSON", "#bottom")
        (reply,) = json.loads(page.browser.wait("window.saved"))
        assert reply == page.stage.canned["/v1/ask"].row

    def test_pages_have_rectangles_where_the_text_stands(self, page: Shop) -> None:
        pages(page)
        boxes = page.client.get(f"/v1/documents/{warranty(page)['place']['document_id']}/boxes?start=67&end=76").json()[
            "boxes"
        ]
        style = page.browser.js("const s = document.querySelector('.sheet i').style; return [s.left, s.top].map(parseFloat)")
        assert style == pytest.approx([100 * boxes[0]["left"], 100 * boxes[0]["top"]], abs=0.01)
        assert "The warranty lasts two years." in page.browser.one(".text").text
        page.browser.press("Previous")
        page.browser.wait("document.querySelector('.sheet img').currentSrc.includes('/pages/1?')")
        assert (page.browser.js("return document.querySelectorAll('.sheet i').length"), page.browser.texts(".pager")) == (
            0, ["Previous\nPage  of 2\nNext"],
        )  # fmt: skip

    def test_a_long_document_is_loaded_in_parts(self, page: Shop) -> None:
        page.ask(page.answer("long.md", "Sentence 1 is here"))
        page.browser.wait("document.querySelectorAll('.passage').length")
        page.browser.press("Contents")
        page.browser.press("Part 59")
        page.browser.wait("document.activeElement.innerText.startsWith('Sentence 59')")
        first = page.browser.js("return Number(document.querySelector('.passage').dataset.start)")
        page.browser.js("document.querySelector('.text > button').click()")  # the header may lie over it
        page.browser.wait("Number(document.querySelector('.passage').dataset.start) < arguments[0]", first)
        assert page.browser.js("return Number(document.activeElement.dataset.start)") == first

    def test_a_changed_and_a_gone_file_are_named_and_other_text_is_not_marked(self, page: Shop) -> None:
        file = page.documents / "birds.txt"
        os.utime(file, (1_600_000_000, 1_600_000_000))
        try:
            page.ask(page.answer("birds.txt", "Owls"))
            assert page.browser.one("#source .warning").text.startswith("The file was changed after it was indexed")
            assert "Original" not in page.browser.texts("#source a")
        finally:
            os.utime(file, (1_700_000_000, 1_700_000_000))
        row = page.answer("birds.txt", "Owls")
        page.ask({**row, "text": "Cats", "start": row["start"]})
        assert "does not stand here any more" in page.browser.one("#source .warning").text
        assert page.browser.texts("#source mark") == []

    def test_texts_stay_texts(self, page: Shop) -> None:
        (name,) = [name for name in TEXTS if name.startswith("<img")]
        row = page.answer(name, "xylophone")
        hostile = {
            "document": EVIL,
            "title": EVIL,
            "heading": EVIL,
            "citation": EVIL,
            "newer": EVIL,
            "link": "https://site.example/",
        }
        hit = {**row, "rank": 1}
        page.ask({**row, **hostile}, question=EVIL.replace("#", ""), respelt={EVIL: EVIL})
        page.browser.press(f"{EVIL}", ".place")
        page.browser.wait("document.querySelector('#source mark')")
        page.ask(guess={**row, **hostile}, nearest=[{**hit, **hostile}], reason=EVIL, question=EVIL)
        page.browser.press("Show the guess")
        page.browser.press("They do answer it")
        page.browser.one(".which")
        page.stage.canned["/v1/explain"] = Canned(
            {**page.client.post("/v1/explain", json={"question": "Owls?"}).json(), "reason": EVIL, "absent_words": [EVIL]}
        )
        page.browser.press("How this came about")
        page.browser.one(".explained")
        page.stage.canned["/v1/ask"] = Canned({"detail": EVIL}, 400)
        page.browser.open(f"{page.home}/#q=Owls&only={httpx.URL('/', params={'x': EVIL}).query.decode()[2:]}")
        page.browser.one(".problem")
        assert page.browser.js("return document.querySelectorAll('body :is(img, script, svg)').length") == 0
        assert not page.browser.has_dialog()

    def test_rows_are_named_with_their_file_and_options_stay_whole(self, page: Shop) -> None:
        text = "Use --no-deps (or -n) for TX-7, a well-known tent; --no-" + "x" * 30
        page.ask(page.answer("rows.jsonl#a", "waterproof", None, text=text, whole_text=text))
        assert page.browser.texts("article h2") == [text]
        assert page.browser.texts("article h2 nobr") == ["--no-deps", "-n", "TX-7", "--no-" + "x" * 19]
        page.browser.press("Tents, rows.jsonl#a")
        page.browser.wait("document.querySelector('#source h2').innerText === 'Tents, rows.jsonl#a'")

    def test_files_are_sent_and_answer_when_they_are_indexed(
        self, shop: Shop, library: Path, tmp_path: Path, fitted: Path, fitted_reader: Path
    ) -> None:
        index_files(tmp_path / "kb", library, Settings(str(fitted)))
        browser, opened = shop.browser, open_collections({"kb": tmp_path / "kb"}, reader=fitted_reader)
        whales, sound = tmp_path / "whales.txt", tmp_path / "song.xyz"
        whales.write_text("Whales sing in the bay.")
        sound.write_text("la")
        browser.size(390)
        with served(opened, followers={"kb": Follower(tmp_path / "kb", [library])}, uploads=library) as client:
            browser.open(str(client.base_url))
            browser.wait("document.getElementById('size').innerText === '4 documents'")
            if AXE.exists():
                assert browser.axe(AXE) == []
            browser.one("#files input").send_keys(f"{whales}\n{sound}")
            browser.wait("document.getElementById('status').innerText.startsWith('1 file added; song.xyz: ')")
            assert browser.texts("#size") == ["5 documents"]
            drop = (
                "const data = new DataTransfer(); data.items.add(new File(['Owls hoot.'], 'owls.txt'));"
                "for (const type of ['dragover', 'drop']) document.body.dispatchEvent(new DragEvent(type,"
                " { dataTransfer: data, bubbles: true, cancelable: true }))"
            )
            browser.js(drop)
            browser.wait("document.getElementById('status').innerText === '1 file added'")
            assert (library / "owls.txt").read_text() == "Owls hoot."
        with served(opened, uploads=library) as client:
            browser.open(str(client.base_url))
            browser.one("#files")
            browser.js(drop.replace("owls", "bats"))
            browser.wait("document.getElementById('status').innerText === '1 file sent; ask when the index holds them'")
            browser.js(drop.replace("owls", "bats"))
            browser.wait("document.getElementById('status').innerText.includes('bats.txt: ')")
        close_collections(opened)
        browser.faults()

    def test_somebody_signs_in(self, shop: Shop, collections: dict[str, Any]) -> None:
        with served(collections, Access(frozenset(), "a-token-of-some-length")) as client:
            browser = shop.browser
            browser.size(390)
            browser.open(f"{str(client.base_url).rstrip('/')}/#q=Owls%3F")
            browser.one("#token").send_keys("wrong", Keys.ENTER)
            browser.wait("document.querySelector('.login .warning').innerText === 'This is not the server\\'s token.'")
            if AXE.exists():
                assert browser.axe(AXE) == []
            browser.one("#token").clear()
            browser.one("#token").send_keys("a-token-of-some-length", Keys.ENTER)
            browser.wait("document.querySelector('#results article, #results .none')")
            browser.press("Sign out")
            browser.one("#token")
            browser.faults()


def test_the_page_is_small_and_sets_no_markup() -> None:
    files = {file.name: file.read_text(encoding="utf-8") for file in WEB.iterdir()}
    assert sum(len(text.encode()) for name, text in files.items() if name != "uploads.js") < 60 * 1024
    assert len(files["uploads.js"].encode()) < 3 * 1024  # loaded where the server takes files alone
    for name, text in files.items():
        for word in (
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "new Function",
            "http://",
            "@import",
        ):
            assert word not in text.replace('xmlns="http://www.w3.org/2000/svg"', ""), (name, word)
        if name.endswith(".js"):
            assert text.count("\n") <= 300, name
