"""`diarize run`: what it writes, where, and what its help says."""

from __future__ import annotations

import io
import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from pyannote.core import Annotation, Segment

from diarize.activity import SileroActivity
from diarize.batch.manifest import NAME as MANIFEST
from diarize.formats import read_rttm
from diarize.formats.speakers import read_speakers
from diarize.mixing.conversation import ConversationConfig, simulate_conversation
from diarize.mixing.speech import by_speaker, find_utterances, read_samples
from diarize.pipeline import Diarization, Diarizer
from diarize.scoring import score_files
from diarize.timeline import TimelineOptions
from diarize.voices.vectors import Voiceprints
from diarize.voices.voiceprints import name_speakers

from .conftest import options_of

RATE = 16_000
Run = Callable[..., Any]  # the fixture `run`
TALK = """\
SPEAKER talk 1 1.000 4.590 <NA> <NA> anna <NA> <NA>
SPEAKER talk 1 6.259 5.700 <NA> <NA> ben <NA> <NA>
SPEAKER talk 1 11.159 0.800 <NA> <NA> carl <NA> <NA>
"""


def results_in(folder: Path) -> list[str]:
    """Names of all files of a folder but the manifest."""
    return sorted(path.name for path in folder.iterdir() if path.name != MANIFEST)


def test_a_result_on_standard_output_and_all_else_on_standard_error(run: Run, talk: Path) -> None:
    result = run(talk)
    assert result.status == 0
    assert set(read_rttm(io.StringIO(result.out))) == {"talk"}
    assert "SPEAKER_00" in result.err
    assert "real-time factor" in result.err
    assert result.err.rstrip().endswith("on cpu")


def test_several_formats_go_into_a_folder(run: Run, talk: Path, tmp_path: Path) -> None:
    out = tmp_path / "new" / "results"
    result = run(talk, "--format", "rttm", "--format", "json", "--out", out, "-p", "n_restarts=2")
    assert result.status == 0
    assert results_in(out) == ["talk.json", "talk.rttm"]
    content = json.loads((out / "talk.json").read_text())
    assert content["options"]["backend"] == "ckm"
    assert content["options"]["n_restarts"] == 2
    assert len(content["turns"]) == len((out / "talk.rttm").read_text().splitlines())
    assert all(0 < turn["confidence"] < 1 for turn in content["turns"])
    assert sum(content["number"].values()) == pytest.approx(1.0)


def test_results_tell_what_is_known_beside_the_turns(run: Run, talk: Path, tmp_path: Path) -> None:
    told = tmp_path / "told.rttm"
    told.write_text("SPEAKER talk 1 1.0 2.0 <NA> <NA> a <NA> <NA>\n")
    formats = [part for name in ("textgrid", "eaf", "json") for part in ("--format", name)]
    out = tmp_path / "results"
    options = ["--vad", told, "--num-speakers", 40, "--start", 0.5, "--end", 7]
    assert run(talk, *options, *formats, "--out", out).status == 0
    assert "\nxmax = 12.000\n" in (out / "talk.TextGrid").read_text()  # as the file itself
    assert f'MEDIA_URL="{talk.absolute().as_uri()}"' in (out / "talk.eaf").read_text()
    options_told = json.loads((out / "talk.json").read_text())["options"]
    assert options_told.items() >= {"n_speakers": 40, "start": 0.5, "end": 7.0}.items()
    assert not options_told.keys() & {"min_speakers", "switch"}
    (note,) = json.loads((out / "talk.json").read_text())["notes"]
    assert note.startswith("too short for 40 speakers")


def test_quiet(run: Run, write_tone: Callable[..., Path], tmp_path: Path) -> None:
    tone, reference = write_tone("tone.wav"), tmp_path / "truth.rttm"
    reference.write_text(TALK)
    options = ["--vad", "none", "--num-speakers", 9, "--reference", reference]
    loud, quiet = run(tone, *options), run(tone, *options, "--quiet")
    assert loud.err.count("note: ") == 3 and "real-time factor" in loud.err
    assert (quiet.out, quiet.err) == (loud.out, "")
    several = [tone, "missing.wav", "--vad", "none", "--out", tmp_path / "out", "-j", 2, "--quiet"]
    assert run(*several).err.splitlines() == [
        "diarize: error: missing.wav: no such file",
        "diarize: error: 1 of 2 failed: missing.wav",
    ]
    assert results_in(tmp_path / "out") == ["tone.rttm"]
    assert "real-time factor" in run(tone, "--vad", "none").err  # of one run alone


def test_exclusive(run: Run, talk: Path, tmp_path: Path) -> None:
    reference = tmp_path / "reference.rttm"
    reference.write_text(TALK)
    options = ["--vad", reference, "--backend", "oracle", "--reference", reference]
    plain, exclusive = (
        read_rttm(io.StringIO(run(talk, *options, *more).out))["talk"]
        for more in ((), ("--exclusive",))
    )
    assert plain.get_overlap().duration() > 0.5
    assert exclusive.get_overlap().duration() == 0
    assert exclusive.get_timeline().support() == plain.get_timeline().support()


def test_clips(run: Run, talk: Path, write_tone: Callable[..., Path], tmp_path: Path) -> None:
    options = ["--vad", "none", "--num-speakers", 1, "--clips", tmp_path / "clips"]
    assert run(talk, *options).status == 0
    (clip,) = (tmp_path / "clips").iterdir()
    assert clip.name == "SPEAKER_00_0000.000-0012.000.wav"
    assert soundfile.info(clip).duration == 12.0
    assert run(talk, write_tone(rate=8000), *options).status == 0
    tone = tmp_path / "clips" / "tone" / "SPEAKER_00_0000.000-0001.000.wav"
    assert soundfile.info(tone).samplerate == 8000


def test_clips_of_an_earlier_result_are_no_recordings(
    run: Run, write_tone: Callable[..., Path], tmp_path: Path
) -> None:
    (tmp_path / "in").mkdir()
    recording = write_tone("in/tone.wav")
    options = ["--vad", "none", "--num-speakers", 1]
    first = run(recording.parent, *options, "--clips", recording.parent / "clips")
    told = rf"^{recording.parent}.*: clips of earlier results are passed over \(1\)$"
    with pytest.warns(UserWarning, match=told):
        again = run(recording.parent, *options)
    assert again.out == first.out != ""
    clips = recording.parent / "clips"
    with pytest.warns(UserWarning, match=told):
        run(clips, *options).assert_refused("is a folder without recordings")
    (clip,) = (clips / "tone").iterdir()
    assert run(clip, *options).status == 0  # which is named


def test_a_failing_input_does_not_stop_the_others(
    run: Run, talk: Path, write_tone: Callable[..., Path], tmp_path: Path
) -> None:
    tone = write_tone("tone.wav")
    out = tmp_path / "out"
    result = run("missing.wav", talk, "text.wav", tone, "--vad", "none", "--out", out)
    assert result.status == 1
    assert result.out == ""
    assert results_in(out) == ["talk.rttm", "tone.rttm"]
    errors = [line for line in result.err.splitlines() if line.startswith("diarize: error: ")]
    assert errors == [
        "diarize: error: missing.wav: no such file",
        "diarize: error: text.wav: no such file",
        "diarize: error: 2 of 4 failed: missing.wav, text.wav",
    ]


def test_the_model_is_loaded_once(
    run: Run, talk: Path, write_tone: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    from diarize.embedding import encoders

    load, loaded = encoders.load_model, []

    def count(name: object, device: str = "cpu") -> object:
        loaded.append(name)
        return load(name, device)

    monkeypatch.setattr(encoders, "load_model", count)
    assert run(talk, write_tone(), "--vad", "none").status == 0
    assert len(loaded) == 1


def test_one_microphone_for_each_speaker(run: Run, talk: Path, tmp_path: Path) -> None:
    samples, _ = soundfile.read(talk)
    close = np.zeros((len(samples), 2))
    close[: 6 * RATE, 0], close[6 * RATE :, 1] = samples[: 6 * RATE], samples[6 * RATE :]
    path, options = tmp_path / "both.flac", ["--channels", "per-speaker"]
    soundfile.write(path, close + 0.17 * close[:, ::-1], RATE)
    result = run(path, *options, "--format", "json")
    found = json.loads(result.out)
    assert found["options"] == {"channels": "per-speaker"}
    assert {turn["speaker"] for turn in found["turns"]} == {"CHANNEL_1", "CHANNEL_2"}
    for turn in found["turns"]:
        assert (turn["end"] <= 6.2) == (turn["speaker"] == "CHANNEL_1")
    run(talk, *options).assert_refused(talk, "has one channel")
    run(path, *options, "--link-speakers").assert_refused("its speakers are its channels")
    run(path, *options, "--num-speakers", 2).assert_refused("as many speakers as channels")


def test_standard_input(run: Run, talk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(talk.read_bytes())))
    result = run("-", "--vad", "none", "--num-speakers", 1)
    assert result.out == "SPEAKER stdin 1 0.000 12.000 <NA> <NA> SPEAKER_00 <NA> <NA>\n"


def test_a_part_keeps_the_times_of_the_file(run: Run, talk: Path) -> None:
    part = ["--start", 7, "--end", 9.5]
    result = run(talk, "--vad", "none", "--num-speakers", 1, *part)
    assert result.out == "SPEAKER talk 1 7.000 2.500 <NA> <NA> SPEAKER_00 <NA> <NA>\n"
    assert "in 2.5 s" in result.err
    run(talk, "--start", 13).assert_refused(
        talk, "start is 13 s, but the recording ends at 12.000 s"
    )
    run(talk, "--start", 3, "--end", 2).assert_refused(talk, "the part ends at 2 s")
    run(talk, talk.parent, "--start", 3, "--end", 2).assert_refused("the part ends at 2 s")


def test_speech_as_a_file_says(run: Run, talk: Path, tmp_path: Path) -> None:
    given = tmp_path / "any.rttm"
    given.write_text("SPEAKER x 1 2.0 3.0 <NA> <NA> a <NA> <NA>\n")
    result = run(talk, "--vad", given, "--num-speakers", 1)  # the only turns there are
    assert result.out == "SPEAKER talk 1 2.000 3.000 <NA> <NA> SPEAKER_00 <NA> <NA>\n"
    given.write_text("")
    result = run(talk, "--vad", given)
    assert (result.status, result.out) == (0, "")
    assert "no speech found" in result.err


def test_a_reference_that_nobody_needs_may_lack_a_recording(
    run: Run, talk: Path, tmp_path: Path
) -> None:
    (tmp_path / "references").mkdir()
    (tmp_path / "references" / "a.rttm").write_text(TALK.replace("talk", "other"))
    (tmp_path / "references" / "b.rttm").write_text(TALK.replace("talk", "third"))
    page = tmp_path / "page.html"
    result = run(talk, "--reference", tmp_path / "references", "--report", page)
    assert result.status == 0 and page.exists()
    assert f"{tmp_path / 'references'}: no turns of talk" in result.err


def test_the_oracle_gives_the_reference_back(run: Run, talk: Path, tmp_path: Path) -> None:
    reference = tmp_path / "reference.rttm"
    reference.write_text(TALK)
    options = ["--vad", reference, "--backend", "oracle", "--reference", reference]
    result = run(talk, *options)
    assert result.status == 0
    found, truth = read_rttm(io.StringIO(result.out))["talk"], read_rttm(reference)["talk"]
    assert len(found.labels()) == 3
    # A cell of 0.2 s goes to whoever speaks in its middle.
    for label, true_label in zip(found.labels(), truth.labels(), strict=True):
        assert found.label_duration(label) == pytest.approx(
            truth.label_duration(true_label), abs=0.25
        )


def test_what_is_read_is_not_replaced(run: Run, talk: Path, tmp_path: Path) -> None:
    kept = tmp_path / "talk.rttm"
    kept.write_text(TALK)
    for option, value, what in (
        ("--reference", kept, "the file of --reference"),
        ("--reference", tmp_path, "the file of --reference"),
        ("--corrections", kept, "the file of --corrections"),
        ("--vad", kept, "the file of --vad"),
        ("--preset", kept, "the preset"),
        ("--config", kept, "the file of --config"),
        ("--known", f"ann={kept}", "a known voice"),
    ):
        if option not in {"--preset", "--config"}:
            for out in (kept, f"{tmp_path}/"):
                refused = run(talk, option, value, "--out", out)
                refused.assert_refused(f"{kept}: is {what}, which the result would replace")
            continue
        preset = tmp_path / "p.json"
        preset.write_text(json.dumps({"name": "p", "backend": "ckm", "params": {}}))
        file = preset if option == "--preset" else tmp_path / "o.toml"
        (tmp_path / "o.toml").write_text("seed = 1\n")
        refused = run(talk, option, file, "--out", file, "--format", "json")
        refused.assert_refused(f"{file}: is {what}, which the result would replace")
    voices = tmp_path / "v.npz"
    voices.touch()
    refused = run(talk, "--known", voices, "--export-speakers", voices)
    refused.assert_refused(f"{voices}: is a known voice, which the voices would replace")
    assert kept.read_text() == TALK


def test_a_reference_is_for_the_oracle_only(run: Run, talk: Path, tmp_path: Path) -> None:
    reference = tmp_path / "reference.rttm"
    reference.write_text(TALK)
    plain = run(talk, "--end", 4)
    told = run(talk, "--end", 4, "--reference", reference)
    assert told.out == plain.out
    assert "diarize: note: backend ckm has no use for --reference\n" in told.err


# The defaults and ranges that help shows are those of the library


def test_defaults_are_those_of_the_library() -> None:
    command = {name: option.default for name, option in options_of("run").items()}
    diarizer = Diarizer()
    library = {
        **{
            name: getattr(diarizer, name)
            for name in (
                "backend",
                "min_speakers",
                "max_speakers",
                "max_set_size",
                "model",
                "device",
                "seed",
                "window",
                "step",
            )
        },
        "num_speakers": diarizer.n_speakers,
        "known_threshold": diarizer.known_threshold,
        "link_threshold": None,
        **{k: v for k, v in vars(TimelineOptions()).items() if k != "counts"},
        "min_speech": SileroActivity().min_speech,
        "min_silence": SileroActivity().min_silence,
    }
    assert {name: command[name] for name in library} == library


# Known voices


def test_a_known_voice_is_called_by_name(
    run: Run, talk: Path, write_tone: Callable[..., Path]
) -> None:
    options = ["--vad", "none", "--num-speakers", 1, "--known", f"anna={talk}"]
    result = run(talk, *options)
    assert result.out == "SPEAKER talk 1 0.000 12.000 <NA> <NA> anna <NA> <NA>\n"
    assert "talk.wav: anna sounds like anna (similarity 1.00, probability 1.00)\n" in result.err
    sure = run(talk, *options, "--known-threshold", 0.9999999)
    assert "SPEAKER_00" in sure.out
    assert "SPEAKER_00 sounds most like anna, but not enough (similarity 1.00, " in sure.err
    part = ["--start", 7, "--end", 9.5]
    twice = run(talk, *options, "--known", f"anna={write_tone()}", *part)
    assert twice.out == "SPEAKER talk 1 7.000 2.500 <NA> <NA> anna <NA> <NA>\n"


@pytest.fixture
def stub_voices(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[list[str]]:
    """Recordings a, b, c in which a first and a second, a second and a third, a first voice speak.

    Returns:
        What lay in tmp_path/out as each of them was heard.
    """
    seen: list[list[str]] = []
    voices = {"a": (0, 1), "b": (1, 2), "c": (0,)}

    def hear(
        self: Diarizer, recording: Any, *_: object, known: Any = None, **__: object
    ) -> Diarization:
        seen.append(sorted(path.name for path in (tmp_path / "out").glob("*.rttm")))
        who = voices[recording.uri]
        annotation = Annotation(uri=recording.uri)
        for n in range(len(who)):
            annotation[Segment(n, n + 1), n] = f"SPEAKER_{n:02d}"
        prints = Voiceprints(tuple(annotation.labels()), np.eye(16, dtype=np.float32)[list(who)])
        found = Diarization(annotation, np.zeros((0, 2)), 1, 1.0, "cpu", voices=prints)
        return found if known is None else found.renamed(*name_speakers([prints], known))

    monkeypatch.setattr(Diarizer, "diarize", hear)
    return seen


def speakers_of(folder: Path) -> dict[str, list[str]]:
    return {
        path.stem: [line.split()[7] for line in path.read_text().splitlines()]
        for path in sorted(folder.glob("*.rttm"))
    }


def test_one_person_has_one_name_in_all_recordings(
    run: Run, write_tone: Callable[..., Path], stub_voices: list[list[str]], tmp_path: Path
) -> None:
    tones = [write_tone(f"{name}.wav") for name in "abc"]
    out, voices = tmp_path / "out", tmp_path / "voices.npz"
    plain = run(*tones, "--out", out)
    assert plain.status == 0
    assert stub_voices == [[], ["a.rttm"], ["a.rttm", "b.rttm"]]
    first = ["SPEAKER_00", "SPEAKER_01"]
    assert speakers_of(out) == {"a": first, "b": first, "c": ["SPEAKER_00"]}

    for path in out.iterdir():
        path.unlink()
    stub_voices.clear()
    inputs = [tones[0], "missing.wav", *tones[1:]]
    result = run(*inputs, "--link-speakers", "--export-speakers", voices, "--out", out)
    assert result.status == 1
    assert stub_voices == [[], [], []]
    linked = {"a": first, "b": ["SPEAKER_01", "SPEAKER_02"], "c": ["SPEAKER_00"]}
    assert speakers_of(out) == linked
    assert "diarize: error: 1 of 4 failed: missing.wav\n" in result.err
    exported = read_speakers(voices)
    assert exported.names == tuple(name for names in linked.values() for name in names)
    assert exported.uris == tuple("aabbc")
    assert exported.seconds.tolist() == [1.0] * 5
    said = "(similarity 1.00, probability 1.00)"
    assert f"a.wav: SPEAKER_00 sounds like SPEAKER_00 of c {said}\n" in result.err
    assert f"b.wav: SPEAKER_01 sounds like SPEAKER_01 of a {said}\n" in result.err
    assert "b.wav: SPEAKER_02 sounds most like SPEAKER_00 of a, but not enough" in result.err
    for option in (["--link-threshold", 0.9999999], ["--link-threshold", 1e-25]):
        run(*tones, "--link-speakers", *option, "--out", out)
        names = {name for names in speakers_of(out).values() for name in names}
        assert len(names) == (5 if option[1] > 0.5 else 2)

    # Tomorrow they are known again, and a stranger does not get a number of theirs.
    later = run(tones[1], "--known", voices)
    assert [line.split()[7] for line in later.out.splitlines()] == linked["b"]


def test_a_name_for_each_recording_alone_is_not_taken_for_a_person(
    run: Run, write_tone: Callable[..., Path], stub_voices: list[list[str]], tmp_path: Path
) -> None:
    tones = [write_tone(f"{name}.wav") for name in "ab"]
    voices = tmp_path / "voices.npz"
    run(*tones, "--export-speakers", voices)
    run(tones[0], "--known", voices).assert_refused(
        f"{voices}: SPEAKER_00 is somebody else in each recording"
    )
    run(tones[0], "--export-speakers", voices)
    result = run(*tones, "--known", voices, "--out", tmp_path / "out")
    assert result.status == 0
    assert speakers_of(tmp_path / "out") == {
        "a": ["SPEAKER_00", "SPEAKER_01"],
        "b": ["SPEAKER_01", "SPEAKER_02"],
    }


def test_voices_that_cannot_be_written(run: Run, talk: Path, tmp_path: Path) -> None:
    run(talk, "--export-speakers", tmp_path / "none" / "x.npz").assert_refused("cannot write")
    run(talk, "--export-speakers", tmp_path / "x").assert_refused("ends in .npz")
    place = tmp_path / "x.npz"
    both = ("--export-speakers", place, "--out", place, "--format", "rttm")
    run(talk, *both).assert_refused("is where the result goes")
    shutil.copy(talk, place)
    run(place, "--export-speakers", place).assert_refused("is the recording, which the voices")


@pytest.mark.needs_speech
def test_conversations_that_share_speakers(cli: Run, shared_dir: Path, tmp_path: Path) -> None:
    utterances = by_speaker(find_utterances(shared_dir / "speech", "dev-a"))
    names = [name for name, files in utterances.items() if "libri" in files[0].corpus][:4]
    speech = {name: np.array_split(read_samples(utterances[name][0].path), 2) for name in names}
    rng = np.random.default_rng(0)
    quiet = ConversationConfig(seconds=30.0, overlap=0.0, room=0.0, snr=(30.0, 35.0))
    pairs = [(names[0], names[1]), (names[2], names[1]), (names[0], names[3])]
    paths, truth = [], {}
    for n, pair in enumerate(pairs):
        halves = {name: [speech[name][n % 2]] for name in pair}
        samples, reference = simulate_conversation(halves, quiet, rng, (), f"c{n}")
        paths.append(tmp_path / f"c{n}.wav")
        soundfile.write(paths[-1], samples, RATE)
        truth[f"c{n}"] = reference
    options = ["--num-speakers", 2, "--link-speakers", "--out", tmp_path / "out"]
    assert cli("run", *paths, *options).status == 0
    everything, found = Annotation(), Annotation()
    for n, (uri, reference) in enumerate(truth.items()):
        answer = read_rttm(tmp_path / "out" / f"{uri}.rttm")[uri]
        for target, source in ((everything, reference), (found, answer)):
            for segment, track, label in source.itertracks(yield_label=True):
                target[Segment(segment.start + 100 * n, segment.end + 100 * n), track] = label
    assert len(found.labels()) == 4
    total = score_files({"": everything}, {"": found}).total
    assert total.confusion < 0.1


@pytest.mark.needs_speech
def test_of_children_who_sound_alike_few_are_joined(
    cli: Run, shared_dir: Path, tmp_path: Path
) -> None:
    """Three times six files of two speakers each, twelve persons, some boys of six and seven."""
    utterances = find_utterances(shared_dir / "speech-more", "dev-b")
    files = by_speaker([u for u in utterances if u.corpus == "speechocean762"])
    found = 0
    for seed in range(3):
        rng = np.random.default_rng(seed)
        names = list(files)[9 * seed :][:12]
        folder = tmp_path / str(seed)
        folder.mkdir()
        paths = []
        for n in range(6):
            own = names[2 * n :][:2]
            speech = {name: [read_samples(u.path) for u in files[name]] for name in own}
            plain = ConversationConfig(seconds=40.0, overlap=0.0)
            paths.append(folder / f"s{n}.flac")
            soundfile.write(paths[-1], simulate_conversation(speech, plain, rng)[0], RATE)
        options = ["--num-speakers", 2, "--link-speakers", "--out", folder / "out"]
        assert cli("run", *paths, *options).status == 0
        labels = [read_rttm(folder / "out" / f"s{n}.rttm")[f"s{n}"].labels() for n in range(6)]
        found += len({label for own in labels for label in own})
    assert found >= 33  # 11 of 12 persons in the mean
