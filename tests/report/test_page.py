"""The page as a reader meets it: in Chromium, without a network."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyannote.core import Annotation, Segment

from diarize.audio import SAMPLE_RATE, open_recording
from diarize.formats import read_rttm
from diarize.report import sound
from diarize.report.html import write_page

from ..making import annotation

pytestmark = pytest.mark.needs_chromium

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--mute-audio", "--host-resolver-rules=MAP * ~NOTFOUND", "--window-size=1200,900",
)  # fmt: skip
SELECT_ALL = "\ue009a\ue000"  # control and a, as WebDriver calls keys
DELETE, ENTER, RIGHT = "\ue017", "\ue007", "\ue014"
HOSTILE = "<img src=x onerror=document.title='hit'>"
TURNS = [(0.5, 2.0, "SPEAKER_00"), (1.5, 3.5, HOSTILE), (4.0, 5.0, "SPEAKER_00")]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    folder = tmp_path_factory.mktemp("browser")
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or shutil.which("google-chrome") or ""
    for flag in (*FLAGS, f"--user-data-dir={folder / 'profile'}"):
        options.add_argument(flag)
    options.add_experimental_option("prefs", {"download.default_directory": str(folder)})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    driver.execute_cdp_cmd("Network.enable", {})
    offline = {"offline": True, "latency": 0, "downloadThroughput": 0, "uploadThroughput": 0}
    driver.execute_cdp_cmd("Network.emulateNetworkConditions", offline)
    driver.downloads = folder  # type: ignore[attr-defined]
    yield driver
    driver.quit()


@pytest.fixture
def page(browser: Any, tmp_path: Path) -> Iterator[Any]:
    """The page of three turns in six seconds; leaves nothing on the console."""
    open_page(browser, tmp_path / "talk.html", reference=None)
    yield browser
    assert browser.get_log("browser") == []


def open_page(browser: Any, path: Path, *, reference: Annotation | None) -> None:
    time = np.arange(6 * SAMPLE_RATE) / SAMPLE_RATE
    recording = open_recording((0.3 * np.sin(2 * np.pi * 220 * time), SAMPLE_RATE))
    found = annotation(*TURNS, uri="audio")
    confidence = {(Segment(4.0, 5.0), 2): 0.6}
    write_page(path, recording, found, confidence=confidence, reference=reference)
    browser.get(path.as_uri())


def find(browser: Any, selector: str) -> list[Any]:
    return browser.find_elements("css selector", selector)


def press(browser: Any, key: str) -> None:
    (body,) = find(browser, "body")
    body.send_keys(key)


def at(browser: Any) -> float:
    return browser.execute_script("return state.time")


def eventually(said: Callable[[], Any]) -> Any:
    """Wait until something holds."""
    for _ in range(100):
        if found := said():
            return found
        time.sleep(0.1)
    raise AssertionError("it never came true")


def test_names_are_shown_and_do_nothing(page: Any) -> None:
    names = [name.text for name in find(page, "#labels .lane .name")]
    assert names == ["SPEAKER_00", HOSTILE]
    assert not find(page, "img")
    assert page.title == "audio"


def test_long_names_are_told_apart(browser: Any, tmp_path: Path) -> None:
    long = "Sprecherin_mit_einem_wirklich_sehr_langen_Namen"
    names = [f"{long}_1", f"{long}_2", "Ben"]
    truth = annotation(*((n, n + 0.5, name) for n, name in enumerate(names)))
    open_page(browser, tmp_path / "talk.html", reference=truth)
    lanes = find(browser, "#labels .thin .name")[: len(names)]
    assert [lane.get_property("textContent") for lane in lanes] == names
    ends = [lane.find_elements("css selector", "span")[1] for lane in lanes]
    assert [end.get_property("textContent") for end in ends] == ["1", "2", "Ben"]
    for end in ends:  # which are seen as they are
        assert end.get_property("scrollWidth") <= end.get_property("clientWidth") + 1
        assert end.get_property("clientWidth") > 0


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such file names")
def test_a_file_name_does_nothing(
    browser: Any, tmp_path: Path, write_tone: Callable[..., Path]
) -> None:
    path = tmp_path / "talk.html"
    recording = open_recording(write_tone("<img src=x onerror=document.title=1>.wav"))
    write_page(path, recording, annotation(*TURNS, uri="audio"))
    browser.get(path.as_uri())
    assert find(browser, "h1")[0].text == browser.title == "<img_src=x_onerror=document.title=1>"
    assert not find(browser, "img")
    assert browser.get_log("browser") == []


def test_it_plays_and_pauses(page: Any) -> None:
    (play,) = find(page, "#play")
    play.click()
    eventually(lambda: at(page) > 0.7)
    press(page, " ")
    eventually(lambda: not page.execute_script("return player.isPlaying()"))
    heard = [turn for turn in TURNS if turn[0] <= at(page) < turn[1]]
    assert len(find(page, "#turns .now")) == len(find(page, "#track .now")) == len(heard)
    assert [chip.text for chip in find(page, "#now .chip")] == [turn[2] for turn in heard]


def test_a_turn_that_is_clicked_is_played_to_its_end(page: Any) -> None:
    find(page, "#track .turn")[1].click()  # the second turn of SPEAKER_00
    eventually(lambda: 4.0 <= at(page) < 5.0)
    eventually(lambda: not page.execute_script("return player.isPlaying()"))
    assert at(page) == pytest.approx(5.0, abs=0.3)


def test_keys_lead_from_turn_to_turn(page: Any) -> None:
    reached = []
    for key in "nnnpp":
        press(page, key)
        reached.append(round(at(page), 2))
    assert reached == [0.5, 1.5, 4.0, 1.5, 0.5]
    press(page, RIGHT)
    assert at(page) == pytest.approx(5.5)


def test_a_speaker_who_is_hidden_is_passed_over(page: Any) -> None:
    find(page, "#speakers input[type=checkbox]")[1].click()
    assert find(page, "#turns-count")[0].text == "2 of 3 turns"
    assert "off" in find(page, "#track .lane")[1].get_attribute("class")
    press(page, "n")
    press(page, "n")
    assert at(page) == pytest.approx(4.0)
    press(page, "a")
    assert find(page, "#turns-count")[0].text == "3 turns"
    find(page, "#speakers button")[2].click()  # only the second
    assert find(page, "#turns-count")[0].text == "1 of 3 turns"


def test_renamed_turns_are_downloaded(page: Any) -> None:
    first, second = find(page, "#speakers input[type=text]")
    first.send_keys(SELECT_ALL, "Anna Maria")
    second.send_keys(SELECT_ALL, "n p")  # keys that are text here
    assert [name.text for name in find(page, "#labels .lane .name")] == ["Anna Maria", "n p"]
    assert at(page) == 0.0
    find(page, "#download")[0].click()
    path = page.downloads / "audio.rttm"
    eventually(path.exists)
    found = read_rttm(path)["audio"]
    assert list(found.itertracks(yield_label=True)) == [
        (Segment(0.5, 2.0), 0, "Anna_Maria"),
        (Segment(1.5, 3.5), 1, "n_p"),
        (Segment(4.0, 5.0), 2, "Anna_Maria"),
    ]
    path.unlink()


def test_a_name_without_text_is_the_old_one(page: Any) -> None:
    first = find(page, "#speakers input[type=text]")[0]
    first.send_keys(SELECT_ALL, DELETE, ENTER)
    assert first.get_property("value") == "SPEAKER_00"


def test_what_is_less_sure_is_fainter(page: Any) -> None:
    opacity = [float(turn.value_of_css_property("opacity")) for turn in find(page, ".turn")]
    assert opacity[0] == 1.0 > opacity[1]


def test_less_time_is_seen_and_the_rulers_stay_together(page: Any) -> None:
    press(page, "n")
    for _ in range(3):
        press(page, "+")
    widths = page.execute_script("return [track.clientWidth, player.getWrapper().scrollWidth]")
    assert widths[0] == pytest.approx(widths[1], abs=2) and widths[0] == 1200
    page.execute_script("scroller.scrollLeft = 150")
    eventually(lambda: page.execute_script("return player.getScroll()") == 150)
    for _ in range(3):
        press(page, "-")
    assert page.execute_script("return track.clientWidth == scroller.clientWidth")


def test_dark_and_light(page: Any) -> None:
    def background() -> str:
        return find(page, "body")[0].value_of_css_property("background-color")

    light = background()
    press(page, "d")
    assert background() != light
    find(page, "#theme")[0].click()
    assert background() == light


def test_it_fits_a_phone(page: Any) -> None:
    size = {"width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": True}
    page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    assert page.execute_script("return document.documentElement.scrollWidth") == 390
    page.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_errors_are_marked_by_kind(browser: Any, tmp_path: Path) -> None:
    truth = annotation((0.5, 3.5, "ann"), (1.5, 3.5, "bob"))
    open_page(browser, tmp_path / "talk.html", reference=truth)
    assert {kind: len(find(browser, f"#track .{kind}")) for kind in ("missed", "false-alarm")} == {
        "missed": 1,
        "false-alarm": 1,
    }
    assert "50.0 %" in find(browser, "#scores")[0].text  # 1.5 s missed, 1 s too much, of 5 s
    assert browser.get_log("browser") == []


def test_a_long_recording_is_opened_from_disk(
    browser: Any, tmp_path: Path, write_tone: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sound, "MOST_SECONDS", 1)
    open_page(browser, tmp_path / "talk.html", reference=None)
    (chooser,) = find(browser, "#file")
    chooser.send_keys(str(write_tone(seconds=6.0)))
    press(browser, "n")
    press(browser, " ")
    eventually(lambda: at(browser) > 0.8)
    press(browser, " ")
    assert browser.get_log("browser") == []


def test_a_page_without_turns_opens(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "silence.html"
    write_page(path, open_recording((np.zeros(SAMPLE_RATE), SAMPLE_RATE)), Annotation())
    browser.get(path.as_uri())
    assert "no speech" in find(browser, "#summary")[0].text
    assert browser.get_log("browser") == []
