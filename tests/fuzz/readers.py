"""Everything that reads a file from a stranger: given a path, a value or a named error."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

import jaxtyping
import numpy as np
from pyannote.core import Annotation, Segment, Timeline

from diarize.batch.annotations import read_corrections
from diarize.corrections import Corrections
from diarize.embedding.stretches import read_stretches
from diarize.formats import FORMATS, load_annotations, read_turns, read_uem, uem_text
from diarize.formats.embeddings import Embeddings, read_embeddings
from diarize.formats.sets import read_sets, sets_text
from diarize.formats.speakers import SpeakerArchive, read_speakers, write_speakers
from diarize.formats.turns import Turn, annotated
from diarize.sets import SpeakerSets
from diarize.transcripts import (
    FOR_READERS,
    TRANSCRIPTS,
    label_transcripts,
    read_transcripts,
    transcripts_text,
)
from diarize.tuning.presets import PRESETS, preset_text, read_preset

SUBTITLES = (
    b"1\n00:00:01,000 --> 00:00:02,500\n[ann]: hello\n\n2\n00:00:02,000 --> 00:00:03,000\nyes\n"
)
WEBVTT = b"WEBVTT\n\nNOTE x\n\n00:01.000 --> 00:02.500 align:left\n<v ann>hello <i>there</i></v>\n"
WHISPER = json.dumps(
    {
        "text": "hello there",
        "segments": [
            {
                "start": 0.0,
                "end": 1.5,
                "text": " hello there",
                "words": [{"word": " hello", "start": 0.0, "end": 0.5}, {"word": " there"}],
            }
        ],
    }
).encode()
WHISPER_CPP = (
    b'{"result": {"language": "en"}, "transcription": [{"offsets": {"from": 500, "to": 2500}, '
    b'"text": " Hello there.", "tokens": [{"text": "[_BEG_]", "offsets": {"from": 500, "to": 500}},'
    b' {"text": " Hel", "offsets": {"from": 500, "to": 900}}, '
    b'{"text": "lo", "offsets": {"from": 900, "to": 1200}}]}]}'
)
WHISPER_TSV = b"start\tend\ttext\n500\t2500\tHello there.\n3000\t4000\tYes.\n"
CTM = b"talk 1 0.10 0.40 hello 0.9 lex\ntalk 1 0.60 0.30 there\n"
LIST = b"a.wav\nb.wav\t0.5\t2.5\n"
UEM = b";; regions\ntalk 1 0.000 92.500\nb 1 1 2\n"


class Reader(NamedTuple):
    """How a kind of file is read and put to use, and good files of that kind."""

    read: Callable[[Path], object]
    seeds: tuple[bytes, ...]
    suffix: str


def _conversation() -> Annotation:
    annotation = Annotation(uri="talk")
    annotation[Segment(0.5, 2.75), 0] = "ann"
    annotation[Segment(2.0, 3.0), 1] = "Zoë & <Co>"
    annotation[Segment(3.0, 4.0), 2] = "!ann"
    return annotation


def _turns_of(name: str) -> Callable[[Path], object]:
    """Read turns, and write them in every format."""

    def read(path: Path) -> object:
        found = read_turns(path, name)
        for uri, turns in found.items():
            annotation, confidence = annotated(turns, uri)
            for format in FORMATS.values():
                format.write(annotation, {}, confidence).encode("utf-8")
        return found

    return read


def _transcripts_of(name: str) -> Callable[[Path], object]:
    """Read a transcript, put speakers on it, and write it in every format."""

    def read(path: Path) -> object:
        found = read_transcripts(path, name)
        turns = {
            transcript.uri: [Turn(0.0, 1.0, "ann"), Turn(0.5, 9.0, "ben")] for transcript in found
        }
        labelled = label_transcripts(found, turns)
        transcripts_text(labelled, name).encode("utf-8")
        for one in labelled:
            for text in FOR_READERS:
                transcripts_text([one], text).encode("utf-8")
        return labelled

    return read


def _uem(path: Path) -> object:
    return [uem_text(regions) for regions in read_uem(path).values()]


def _unsaid(note: str) -> None:
    pass


def _corrections(path: Path) -> object:
    told = read_corrections(path, ["talk.wav"], linked=False, note=_unsaid)
    return [Corrections.of(annotation).patch([], []) for annotation in told.annotations.values()]


def _preset(path: Path) -> object:
    # A value of another kind than annotated is refused by `fit`, as it is outside of tests.
    checked_not = jaxtyping.config.jaxtyping_disable
    jaxtyping.config.update("jaxtyping_disable", True)
    try:
        preset = read_preset(path)
    finally:
        jaxtyping.config.update("jaxtyping_disable", checked_not)
    from diarize.timeline import TimelineOptions

    TimelineOptions(**preset.timeline_params)
    return preset_text(preset).encode("utf-8")


def _sets(path: Path) -> object:
    return sets_text(read_sets(path), "ckm")


def readers(folder: Path) -> Mapping[str, Reader]:
    """All readers by name; `folder` is for files that are made to get their bytes."""
    talk = _conversation()
    found = {
        name: Reader(
            _turns_of(name),
            (format.write(talk, {"seed": 0}, {}).encode("utf-8"),),
            f".{format.suffix}",
        )
        for name, format in FORMATS.items()
        if format.read is not None
    }
    transcripts = {
        "json": (WHISPER, WHISPER_CPP), "srt": (SUBTITLES,), "vtt": (WEBVTT,), "ctm": (CTM,),
        "tsv": (WHISPER_TSV,),
    }  # fmt: skip
    assert transcripts.keys() == set(TRANSCRIPTS)
    for name, seeds in transcripts.items():
        found[f"transcript-{name}"] = Reader(_transcripts_of(name), seeds, f".{name}")
    found["annotations"] = Reader(load_annotations, found["rttm"].seeds, ".rttm")
    found["corrections"] = Reader(_corrections, found["rttm"].seeds, ".rttm")
    found["uem"] = Reader(
        _uem, (UEM, uem_text(Timeline([Segment(0, 9)], uri="talk")).encode()), ".uem"
    )
    found["list"] = Reader(read_stretches, (LIST,), ".tsv")
    presets = tuple(preset_text(preset).encode() for preset in list(PRESETS.values())[:4])
    timeline = b'{"backend": "ac", "params": {"switch": 0.2, "max_speakers": 7}}'
    found["preset"] = Reader(_preset, (*presets, timeline), ".json")
    sets = sets_text(SpeakerSets.from_lists([[0], [0, 2], []]), "ckm").encode()
    found["sets"] = Reader(_sets, (sets,), ".json")
    found |= _archives(folder)
    return found


def _archives(folder: Path) -> dict[str, Reader]:
    vectors = np.eye(3, 4, dtype=np.float32)
    speakers = SpeakerArchive(
        Embeddings(vectors, "m", "0" * 64), ("a", "b", "c"), ("x", "x", "y"), np.ones(3), False
    )
    path = folder / "seed.npz"
    write_speakers(path, speakers)
    packed = path.read_bytes()
    np.savez_compressed(path, embeddings=vectors)
    squeezed = path.read_bytes()
    path.unlink()
    return {
        "embeddings": Reader(read_embeddings, (packed, squeezed), ".npz"),
        "speakers": Reader(read_speakers, (packed,), ".npz"),
    }


def weights_readers(folder: Path) -> Mapping[str, Reader]:
    """The readers of weights, which import torch."""
    import torch

    from diarize.clustering.dpgmm.splitnet import CONFIG, SplitNet, SplitNetConfig, load_splitnet
    from diarize.embedding import (
        CompositionalEmbedding,
        EmbeddingConfig,
        Knowledge,
        load_model,
        save_model,
    )
    from diarize.embedding.fitted import Fitted, Place, load_fitted, save_fitted
    from diarize.embedding.model import Composition
    from diarize.storage.files import write_weights
    from diarize.storage.weights import read_weights

    torch.manual_seed(0)
    path = folder / "seed.safetensors"
    save_model(CompositionalEmbedding(EmbeddingConfig(dim=4, hidden=2, layers=1)), path)
    model = path.read_bytes()
    path.unlink()
    save_fitted(Fitted("f.onnx", "0", Place.unchanged(3), Composition(3), Knowledge()), path)
    fitted = path.read_bytes()
    path.unlink()
    sizes = SplitNetConfig(2, hidden=4, encoders=1, decoders=1, inducing=2)
    write_weights(path, SplitNet(sizes).state_dict(), {CONFIG: json.dumps(asdict(sizes))})
    network = path.read_bytes()
    path.unlink()
    return {
        "model": Reader(load_model, (model,), ".safetensors"),
        "fitted": Reader(load_fitted, (fitted,), ".safetensors"),
        "splitnet": Reader(load_splitnet.__wrapped__, (network,), ".safetensors"),
        "checkpoint": Reader(read_weights, (model,), ".safetensors"),
    }


def refusal(reader: Reader, path: Path, content: bytes) -> str | None:
    """The one line of the named error that a file with that content meets; None: it is read."""
    path.write_bytes(content)
    try:
        reader.read(path)
    except ValueError as error:  # InputError is one
        text = str(error)
        assert text and "\n" not in text, text
        return text
    return None
