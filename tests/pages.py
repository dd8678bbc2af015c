"""What pages show, and a folder in which it can be run."""

from __future__ import annotations

import glob
import re
import shlex
import shutil
from pathlib import Path

import av
import numpy as np
import soundfile

from diarize.audio import SAMPLE_RATE, open_recording

SECONDS = 14.0  # of the bundled conversation: the whole of it is run by .ci/run


def blocks(page: str, language: str) -> list[str]:
    """The content of all blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", page, re.MULTILINE | re.DOTALL)


def commands(page: str) -> list[list[str]]:
    """The arguments of every `diarize ...` in the shell's blocks; where output goes is left out."""
    lines = "\n".join(blocks(page, "sh")).replace("\\\n", " ").splitlines()
    steps = [step.strip() for line in lines for step in line.split("&&")]
    steps = [step.partition(" > ")[0] for step in steps if step.startswith("diarize ")]
    return [shlex.split(step, comments=True)[1:] for step in steps]


def expanded(argument: str) -> list[str]:
    """What a shell makes of an argument."""
    return sorted(glob.glob(argument)) if "*" in argument else [argument]


def furnish(folder: Path, repo_root: Path, talk: Path) -> None:
    """Put the files into a folder that the pages speak of."""
    (folder / "egs").mkdir()
    conversation = open_recording(repo_root / "egs" / "conversation.ogg", end=SECONDS)
    samples = np.concatenate(list(conversation.blocks()))
    soundfile.write(folder / "egs" / "conversation.ogg", samples, SAMPLE_RATE)
    truth = repo_root / "egs" / "conversation.rttm"
    shutil.copy(truth, folder / "egs")
    shutil.copy(truth, folder)
    (folder / "meeting.rttm").write_text(truth.read_text().replace(" conversation ", " meeting "))
    shutil.copy(talk, folder / "meeting.wav")
    for name in ("a.flac", "b.flac"):
        soundfile.write(folder / name, samples[: 5 * SAMPLE_RATE], SAMPLE_RATE)
    (folder / "recordings" / "monday").mkdir(parents=True)
    shutil.copy(folder / "a.flac", folder / "recordings")
    shutil.copy(folder / "b.flac", folder / "recordings" / "monday")
    (folder / "recordings.lst").write_text("recordings/a.flac\nrecordings/monday/b.flac\n")
    _write_m4a(folder / "interview.m4a", samples[: 8 * SAMPLE_RATE])
    for name, begin, end in (
        ("anna", 1, 5), ("ben1", 6.5, 9), ("ben2", 9, 11), ("carl", 9, 11)
    ):  # fmt: skip
        voice = samples[round(begin * SAMPLE_RATE) : round(end * SAMPLE_RATE)]
        soundfile.write(folder / f"{name}.wav", voice, SAMPLE_RATE)
    for name, begin in (("anna", 1), ("ben", 6), ("cleo", 10)):
        (folder / "speech" / name).mkdir(parents=True)
        voice = samples[begin * SAMPLE_RATE : (begin + 4) * SAMPLE_RATE]
        soundfile.write(folder / "speech" / name / "1.flac", voice, SAMPLE_RATE)
    (folder / "turns").mkdir()
    shutil.copy(truth, folder / "turns")
    (corrections,) = blocks((repo_root / "docs" / "corrections.md").read_text("utf-8"), "rttm")
    (folder / "corrections.rttm").write_text(corrections)
    subtitle = "1\n00:00:01,500 --> 00:00:04,000\nGood morning.\n"
    (folder / "transcript.srt").write_text(subtitle)
    (folder / "mine.toml").write_text("")  # what the shell writes there
    _write_networks(folder)
    np.savez(folder / "vectors.npz", embeddings=np.random.default_rng(0).normal(size=(20, 4)))
    sets = ", ".join(["[0]", "[1]", "[0, 1]", "[]"] * 5)
    (folder / "sets.json").write_text(f'{{"sets": [{sets}]}}')


def _write_networks(folder: Path) -> None:
    """An encoder that has learned nothing, one with a g that has not either, and segmentation."""
    from diarize.embedding import Knowledge
    from diarize.embedding.fitted import Fitted, Place, save_fitted
    from diarize.embedding.model import Composition
    from diarize.storage.files import file_sha256

    from .networks import DIM, PYANNOTE, SAMPLES, SEGMENTATION, write

    path = write(folder / "encoder.onnx", SAMPLES)
    g = Fitted(path.name, file_sha256(path), Place.unchanged(DIM), Composition(DIM), Knowledge())
    save_fitted(g, path.with_suffix(".safetensors"))
    write(folder / "segmentation.onnx", SEGMENTATION, PYANNOTE)


def _write_m4a(path: Path, samples: np.ndarray) -> None:
    with av.open(str(path), "w", format="mp4") as container:
        stream = container.add_stream("aac", rate=SAMPLE_RATE, layout="mono")
        frame = av.AudioFrame.from_ndarray(samples[None], format="fltp", layout="mono")
        frame.sample_rate = SAMPLE_RATE
        container.mux([*stream.encode(frame), *stream.encode(None)])
