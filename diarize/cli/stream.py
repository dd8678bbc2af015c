"""`diarize stream`: who speaks, while they speak."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from diarize.cli.options import (
    OWN_OPTIONS,
    DeviceOption,
    MaxSetSizeOption,
    ModelOption,
    RefineOption,
    SeedOption,
    VadThresholdOption,
    argument,
    as_typed,
    count,
    flag,
    option,
    seconds,
)
from diarize.errors import InputError, require_one_of
from diarize.storage.weights import DEFAULT_MODEL

if TYPE_CHECKING:
    import numpy as np

    from diarize.streaming.pcm import Pcm


# The defaults and ranges are those of the library; a test compares them, since importing it here
# would slow `--help` down.
def stream(
    audio: str = argument(
        "-",
        "FILE|-",
        "A recording, which is played; -: raw samples on standard input.",
        show_default="-",
    ),
    rate: int | None = option(
        None,
        "HZ",
        "Of raw samples, or of the microphone.",
        min=1000,
        max=384_000,
        show_default="16000",
    ),
    sample_format: str | None = option(
        None,
        "u8|s8|s16|s32|f32|f64",
        "Raw samples: unsigned, signed, float; bits; little-endian.",
        show_default="s16",
    ),
    channels: int | None = count(
        None, "Channels of raw samples, which are mixed down.", max=1024, show_default="1"
    ),
    speed: str | None = option(
        None, "N|max", "How many times its own speed a file is played at.", show_default="1"
    ),
    microphone: bool = flag("--microphone", "Listen to the default microphone until Ctrl-C."),
    latency: float = seconds(
        2.0,
        "From sound to line, at most; at low rates from more than 0.5 on. Below 1.4 the network "
        "hears less of what follows.",
        least=0.5,
        max=60.0,
    ),
    format: str | None = option(
        None,
        "jsonl|rttm",
        "Of the lines on standard output; rttm has what was said live, and no more.",
        show_default="jsonl; on a terminal a live view",
    ),
    out: Path | None = option(
        None,
        "FILE",
        "Where the final result goes, in the format of its ending, else RTTM; without confidence.",
    ),
    refine: RefineOption = None,
    refine_backend: str = option("ckm", "NAME", "Clustering that settles; see `diarize backends`."),
    num_speakers: int | None = count(
        None, "Number of speakers that are settled.", show_default="inferred"
    ),
    min_speakers: int | None = count(None, "Fewest of them.", show_default="1"),
    max_speakers: int | None = count(None, "Most of them.", show_default="20"),
    max_set_size: MaxSetSizeOption = 2,
    live: str = option(
        "ckm",
        "ckm|links",
        "What finds speakers live: centroids that follow what is heard, or `links`.",
    ),
    param: list[str] | None = option(
        None, "NAME=VALUE", "Option of the live clustering; may repeat.", "-p"
    ),
    vad: str = option(
        "network",
        "network|silero",
        "What finds speech: the network, which hears also how many speak, or silero-vad.",
    ),
    vad_threshold: VadThresholdOption = None,
    model: ModelOption = DEFAULT_MODEL,
    device: DeviceOption = "auto",
    seed: SeedOption = 0,
) -> None:
    """Say who speaks, while they speak.

    Writes a line for each stretch of speech, at most --latency after its sound; one that goes on is
    said in pieces. At the end (or every --refine SECONDS) what was heard is clustered anew; lines
    that are "final" replace what was said before of their time. A line with "merged" says which
    live name turned out to be one with another, the last line which final speaker each live one is.
    Ctrl-C ends the stream, and what was heard until then is settled.
    """
    from diarize.audio import SAMPLE_RATE
    from diarize.batch.jobs import name_of
    from diarize.cli.listening import listen
    from diarize.cli.live import make_sink
    from diarize.cli.messages import note
    from diarize.cli.params import parse_params
    from diarize.formats import written_format
    from diarize.storage.files import refuse_input, require_writable
    from diarize.streaming import StreamingDiarizer
    from diarize.streaming.pcm import Pcm

    given = {"--rate": rate, "--sample-format": sample_format, "--channels": channels}
    _check_source(audio, microphone, [name for name, value in given.items() if value is not None])
    if audio == "-" and speed is not None:
        raise InputError("--speed is for a file that is played")
    if format is not None:
        require_one_of("format", format, ("jsonl", "rttm"))
    if out is not None:
        require_writable(out)
        refuse_input(out, [] if audio == "-" else [audio], "the result")
        written_format(out)
    pcm = Pcm(sample_format or "s16", channels or 1)
    rate = rate or SAMPLE_RATE
    source = _source(audio, microphone, rate, pcm, _factor(speed or "1"))
    params = parse_params(param or [], OWN_OPTIONS)
    with as_typed():
        diarizer = StreamingDiarizer(
            SAMPLE_RATE if audio != "-" else rate,
            latency=latency,
            max_set_size=max_set_size,
            live=live,
            params=params,
            refine=refine,
            refine_backend=refine_backend,
            n_speakers=num_speakers,
            min_speakers=min_speakers,
            max_speakers=max_speakers,
            activity=_activity(vad, vad_threshold),
            model=model,
            device=device,
            seed=seed,
            uri="microphone" if microphone else name_of(audio),
        )
    sink = make_sink(format, diarizer.uri)
    status = listen(diarizer, source, sink, latency=latency, out=out, endless=microphone, note=note)
    if pcm.left_over:
        note(f"{diarizer.uri}: ended within a sample; its {pcm.left_over} bytes were left out")
    raise typer.Exit(status)


def _activity(vad: str, threshold: float | None) -> Any:
    from diarize.activity.detectors import DETECTORS, make_detector

    require_one_of("vad", vad, DETECTORS)
    return make_detector(vad, threshold=threshold)


def _check_source(audio: str, microphone: bool, raw: list[str]) -> None:
    if microphone and audio != "-":
        raise InputError(f"{audio}: either a file or --microphone")
    if audio != "-" and raw:
        raise InputError(f"{audio}: {raw[0]} is for raw samples on standard input")
    wrong = next((name for name in raw if name != "--rate"), None)
    if microphone and wrong:
        raise InputError(f"{wrong} is for raw samples on standard input")


def _factor(speed: str) -> float:
    """How many times its own speed a file is played at."""
    if speed == "max":
        return math.inf
    try:
        factor = float(speed)
    except ValueError:
        factor = math.nan
    if not 0 < factor < math.inf:
        raise InputError(f"speed {speed}: neither a number above 0 nor max")
    return factor


def _source(
    audio: str, microphone: bool, rate: int, pcm: Pcm, speed: float
) -> Iterator[np.ndarray]:
    """What gives sound, and is known to be there before it does."""
    from diarize.streaming import sources

    if microphone:
        return sources.microphone(rate)
    return sources.standard_input(pcm) if audio == "-" else sources.played(audio, speed)
