"""The names that other programs may rely on; one that goes, or changes its place, breaks them."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

PUBLIC = {
    "diarize": "Diarizer StreamingDiarizer __version__",
    "diarize.activity": (
        "Heard NetworkActivity SileroActivity VoiceCounts clip_regions measure_gain whole"
    ),
    "diarize.audio": "SAMPLE_RATE Recording open_recording",
    "diarize.batch": "Done Job Result Targets Turns Work find_jobs require_distinct run unfinished",
    "diarize.clustering": "BACKENDS describe make",
    "diarize.clustering.dpgmm": "DPGMM NIW",
    "diarize.corrections": "Claim Corrections Kind",
    "diarize.embedding": (
        "CompositionalEmbedding EmbeddingConfig Knowledge SpeakerEncoder embed_windows find_model "
        "load_encoder load_model pick_device place_windows save_model"
    ),
    "diarize.formats": (
        "FORMATS Format format_of json_text load_annotations read_rttm read_turns read_uem "
        "require_format rttm_text uem_text written_format"
    ),
    "diarize.scoring": (
        "Report Scores adjusted_rand_index compositional_rand_index conflation fracture "
        "hungarian_accuracy id_cost score_files"
    ),
    "diarize.streaming": "StreamingDiarizer Turn",
    "diarize.timeline": "Decoded Diarization TimelineOptions Trellis Turn decode regions_of",
    "diarize.transcripts": (
        "FOR_READERS TRANSCRIPTS Passage Transcript Word label label_transcripts read_transcripts "
        "require_text require_transcript text_format transcript_format transcripts_text"
    ),
    "diarize.tuning": (
        "METRICS Conversation Outcome Preset Trial Tuning read_preset tune tune_recordings tuned"
    ),
}
"""Of packages: exactly what they offer."""

MODULES = {
    "diarize.report.clips": "cut_clips",
    "diarize.voices.enrolment": "enrol",
    "diarize.errors": "InputError",
    "diarize.pipeline": "Diarization Diarizer",
    "diarize.report.clusters": "plot_clusters",
    "diarize.report.html": "write_page",
    "diarize.report.score": "plot_score",
    "diarize.report.timeline": "plot_timeline",
    "diarize.scatter": "Axes Scatter",
    "diarize.sets": "Speakers SpeakerSets",
    "diarize.storage.cache": "Cache",
    "diarize.voices.known": "learn_known save_voices",
    "diarize.voices.voiceprints": "Match Voiceprints name_speakers",
}
"""Of single modules: what can be relied on among what they hold."""


@pytest.mark.parametrize("package", PUBLIC)
def test_a_package_offers_what_it_did(package: str) -> None:
    offered = importlib.import_module(package)
    assert set(offered.__all__) == set(PUBLIC[package].split())
    assert all(hasattr(offered, name) for name in offered.__all__)
    assert set(offered.__all__) <= set(dir(offered))


@pytest.mark.parametrize("module", MODULES)
def test_a_module_holds_what_it_did(module: str) -> None:
    held = importlib.import_module(module)
    assert all(hasattr(held, name) for name in MODULES[module].split())


def test_the_page_names_nothing_else(repo_root: Path) -> None:
    page = (repo_root / "docs" / "api.md").read_text(encoding="utf-8")
    named = re.findall(r"^::: (\S+)\.(\w+)$", page, flags=re.MULTILINE)
    public = {place: names.split() for place, names in {**PUBLIC, **MODULES}.items()}
    assert named and all(name in public.get(place, ()) for place, name in named)
    assert len({*named}) == len(named)
