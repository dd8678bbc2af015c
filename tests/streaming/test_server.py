"""Clients of the server: programs in Python, and the page in Chromium."""

from __future__ import annotations

import asyncio
import json
import shutil
import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from diarize import StreamingDiarizer
from diarize.errors import InputError
from diarize.formats import read_rttm
from diarize.streaming.server import END, Limits, StreamServer
from diarize.streaming.turns import lines_of

from .serving import Running, feed, rest, until, websockets

RATE = 16_000


def test_a_client_reads_what_a_stream_says(
    run: Callable[..., Running], pcm: bytes, tmp_path: Path
) -> None:
    running = run(out=tmp_path / "kept")
    with running.client() as client:
        feed(client, pcm + b"\1")
        client.send(END)
        first, *lines, names, note = rest(client)
    assert first["rate"] == RATE and note == {"note": "1 bytes at the end are no sample"}
    diarizer = StreamingDiarizer(RATE)
    live = diarizer.push(np.frombuffer(pcm, "<i2")) + diarizer.end()
    annotation = diarizer.finish()
    expected = [json.loads(line) for line in lines_of([*live, *diarizer.settled])]
    assert [line for line in lines if "merged" not in line] == expected
    assert names == {"map": diarizer.speaker_map()}
    (kept,) = (tmp_path / "kept").iterdir()
    assert kept.name == f"{first['stream']}.rttm"
    assert read_rttm(kept)[first["stream"]].labels() == annotation.labels()


def test_what_was_said_last_is_told_before_all_is_settled(
    run: Callable[..., Running], pcm: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    told, finish = threading.Event(), StreamingDiarizer.finish
    waited: list[bool] = []

    def wait(diarizer: StreamingDiarizer) -> Any:
        waited.append(told.wait(30))
        return finish(diarizer)

    monkeypatch.setattr(StreamingDiarizer, "finish", wait)
    with run().client("?latency=5") as client:
        feed(client, pcm)
        client.send(END)
        end = len(pcm) / 2 / RATE
        while json.loads(client.recv(timeout=60)).get("end", 0.0) < end - 2:
            pass
        told.set()
        assert any(line.get("final") for line in rest(client))
    assert waited == [True]


def test_clients_do_not_hear_each_other(run: Callable[..., Running], pcm: bytes) -> None:
    running, said = run(), {}

    def talk(number: int) -> None:
        with running.client("?latency=1") as client:
            feed(client, pcm if number % 2 else bytes(len(pcm)), 20_000)
            client.send(END)
            said[number] = rest(client)[1:]

    threads = [threading.Thread(target=talk, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert said[1] == said[3] and len(said[1]) > 3
    assert said[0] == said[2] == [{"map": {}}]


def test_who_breaks_off_loses_nothing(
    run: Callable[..., Running], pcm: bytes, tmp_path: Path
) -> None:
    running = run(out=tmp_path)
    with running.client() as client:
        feed(client, pcm + b"\1")  # and half a sample
        while json.loads(client.recv()).get("start", 0.0) < 8.0:
            pass
        client.socket.close()
    until(lambda: running.server.n_clients == 0 and any(tmp_path.iterdir()))
    (kept,) = tmp_path.iterdir()
    (annotation,) = read_rttm(kept).values()
    assert len(annotation.labels()) > 1


def test_the_end_of_the_server_is_an_end(run: Callable[..., Running], pcm: bytes) -> None:
    running = run()
    with running.client() as client:
        feed(client, pcm)
        while "start" not in json.loads(client.recv()):
            pass
        threading.Thread(target=running.end).start()
        lines = rest(client)
    assert any(line.get("final") for line in lines)
    assert "map" in lines[-1]


def test_what_had_come_by_the_end_of_the_server_is_heard(
    run: Callable[..., Running], pcm: bytes
) -> None:
    running = run()
    with running.client() as client:
        client.recv()
        feed(client, pcm)
        threading.Thread(target=running.end).start()
        lines = rest(client)
    assert max(line.get("end", 0.0) for line in lines) > len(pcm) / 2 / RATE - 2


def test_a_stream_that_stalls_is_caught_up_with(run: Callable[..., Running], pcm: bytes) -> None:
    with run().client() as client:
        client.recv()
        client.send(pcm[: 2 * 4 * RATE])
        # Nothing follows, and it is said nevertheless, as far as it can be known.
        while json.loads(client.recv(timeout=60))["end"] < 2.9:
            pass


def test_what_is_settled_while_a_stream_stalls_is_told_and_kept(
    run: Callable[..., Running],
    pcm: bytes,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    passes_go_on: threading.Event,
) -> None:
    monkeypatch.setattr("diarize.streaming.review.LEAST", 0.0)
    make = partial(StreamingDiarizer, refine=5.0)
    with run(out=tmp_path, make=make).client() as client:
        client.recv()
        client.send(pcm[: 2 * 11 * RATE])
        line = json.loads(client.recv(timeout=60))
        while "end" not in line or line["end"] < 9.9:  # nothing of the rest is said until late
            assert not line.get("final")
            line = json.loads(client.recv(timeout=60))
        passes_go_on.set()
        while not line.get("final"):
            line = json.loads(client.recv(timeout=60))
        (kept,) = tmp_path.iterdir()
        assert read_rttm(kept)


def test_a_stream_is_no_longer_than_it_may_be(run: Callable[..., Running], pcm: bytes) -> None:
    with run(limits=Limits(seconds=5.0)).client() as client:
        feed(client, pcm[: 2 * 6 * RATE])
        lines = rest(client)
    assert {"note": "the stream is as long as it may be"} in lines and "map" in lines[-1]


def test_a_result_that_cannot_be_written_is_told(
    run: Callable[..., Running], pcm: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device", "kept.rttm")

    monkeypatch.setattr("diarize.streaming.server.ResultFiles.write", full)
    running = run(out=tmp_path)
    with pytest.warns(RuntimeWarning, match=r"stream-.*: kept.rttm: No space left on device"):
        with running.client() as client:
            feed(client, pcm[: 2 * 2 * RATE])
            client.send(END)
            assert rest(client)[-1] == {"error": "kept.rttm: No space left on device"}
        until(lambda: running.server.n_clients == 0)
    assert client.close_code == 1011


@pytest.mark.parametrize(
    ("query", "message", "reason"),
    [
        ("?rate=10", None, "the rate is a whole number"),
        ("?rate=fast", None, "rate fast: not a number"),
        ("?format=s24", None, "sample format s24"),
        ("?channels=0", None, "channels are 1 to 1024"),
        ("?latency=0.1", None, "cannot be promised"),
        ("?speed=2", None, "speed: not one of format, rate, channels, latency"),
        (f"?{'%C3%A9' * 100}=2", None, "é: not one of format"),
        ("", "hello", "a message is samples, or 'end'"),
        ("?format=f32", np.array([np.nan], "<f4").tobytes(), "not a finite number"),
    ],
)
def test_what_cannot_be_is_told(
    run: Callable[..., Running], query: str, message: str | bytes | None, reason: str
) -> None:
    with run().client(query) as client:
        if message is not None:
            client.send(message)
        assert reason in rest(client)[-1]["error"]
    assert client.close_code == 1008


def test_only_its_own_page_may_listen(run: Callable[..., Running]) -> None:
    running = run()
    with pytest.raises(websockets.exceptions.InvalidStatus, match="403"):
        running.client(origin="https://elsewhere.example")
    with running.client(origin=f"http://127.0.0.1:{running.port}") as client:
        assert "stream" in json.loads(client.recv())
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    page = opener.open(f"http://127.0.0.1:{running.port}/").read().decode()
    assert "<title>Who speaks</title>" in page
    assert "http://" not in page and "https://" not in page
    with pytest.raises(urllib.error.HTTPError, match="404"):
        opener.open(f"http://127.0.0.1:{running.port}/else")


@pytest.mark.parametrize(
    "sent",
    [
        b"GET //[x HTTP/1.1\r\n",
        b"GET /stream HTTP/1.1\r\nOrigin: http://[\r\n",
        b"GET /stream HTTP/1.1\r\nOrigin: http://a\r\nOrigin: http://b\r\n",
    ],
)
def test_a_request_that_cannot_be_understood_is_refused(
    run: Callable[..., Running], sent: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    with socket.create_connection(("127.0.0.1", run().port)) as client:
        client.sendall(sent + b"Host: here\r\n\r\n")
        assert client.makefile("rb").readline().startswith(b"HTTP/1.1 400 ")
    assert not caplog.records


def test_a_place_that_is_taken_is_named(run: Callable[..., Running]) -> None:
    running = run()

    async def again() -> None:
        await StreamServer().listen("127.0.0.1", running.port)

    with pytest.raises(InputError, match=f"127.0.0.1:{running.port}: "):
        asyncio.run(again())


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or shutil.which("google-chrome") or ""
    for flag in (
        "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--mute-audio",
        "--disable-background-networking", "--disable-component-update", "--disable-sync",
        "--use-fake-ui-for-media-stream", "--use-fake-device-for-media-stream",
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
        f"--user-data-dir={tmp_path_factory.mktemp('browser')}",
    ):  # fmt: skip
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    yield driver
    driver.quit()


@pytest.mark.needs_chromium
def test_the_page_plays_a_file(run: Callable[..., Running], browser: Any, talk: Path) -> None:
    browser.get(f"http://127.0.0.1:{run().port}/")
    browser.find_element("id", "fast").click()
    browser.find_element("id", "file").send_keys(str(talk))
    status = browser.find_element("id", "status")
    until(lambda: status.text.startswith("Settled"))
    names = [row.text for row in browser.find_elements("css selector", "#speakers tr")]
    assert len(names) > 1 and all(name.startswith("SPEAKER_") for name in names)
    drawn = browser.execute_script(
        "const c = document.getElementById('lanes');"
        "return c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some(v => v);"
    )
    assert drawn and browser.get_log("browser") == []


@pytest.mark.needs_chromium
def test_the_page_listens_to_the_microphone(run: Callable[..., Running], browser: Any) -> None:
    running = run()
    browser.get(f"http://127.0.0.1:{running.port}/")
    browser.find_element("id", "microphone").click()
    until(lambda: browser.execute_script("return stream !== null && stream.heard > 1"))
    browser.find_element("id", "stop").click()
    status = browser.find_element("id", "status")
    until(lambda: status.text.startswith("Settled"))
    assert browser.get_log("browser") == []


@pytest.mark.needs_chromium
def test_the_page_says_what_the_server_refuses(
    run: Callable[..., Running], browser: Any, talk: Path
) -> None:
    running = run(limits=Limits(clients=1))
    with running.client() as client:
        client.recv()
        browser.get(f"http://127.0.0.1:{running.port}/")
        browser.find_element("id", "file").send_keys(str(talk))
        status = browser.find_element("id", "status")
        until(lambda: "1 clients are listened to" in status.text)
