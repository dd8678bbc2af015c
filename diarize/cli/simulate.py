"""`diarize simulate`: conversations out of single-speaker speech."""

from __future__ import annotations

from pathlib import Path

from diarize.cli.options import SeedOption, argument, count, option
from diarize.errors import InputError

OVERLAP = 0.08
ROOMS = 40  # made ones, beside those of --rooms


def simulate(
    out: Path = option(..., "DIR", "Where FLAC files and their RTTM go."),
    speech_dir: list[Path] | None = argument(
        None,
        "SPEECH_DIR",
        "Single-speaker speech: with a speakers.tsv, or one folder for each speaker.",
    ),
    speech: list[Path] | None = option(None, "DIR", "The same; may repeat.", show_default="none"),
    turns: list[str] | None = option(
        None,
        "DIR[:K/N]",
        "Replay stretches of the talk in these RTTM files, K/N: of one part of them; may repeat.",
        show_default="turns are drawn",
    ),
    conversations: int = count(1, "How many to make."),
    speakers: str | None = option(
        None,
        "MIN-MAX",
        "Speakers of one conversation, or one number.",
        show_default="2-5, of fewer as many as there are",
    ),
    seconds: float = option(
        60.0,
        "SECONDS",
        "Length, about; without --turns, speech is never used twice, and the end comes sooner.",
        min=5.0,
        max=86_400.0,
    ),
    overlap: float | None = option(
        None,
        "SHARE",
        "Share of speech in which two speak, where turns are drawn.",
        min=0.0,
        max=0.5,
        show_default=str(OVERLAP),
    ),
    scene: list[str] | None = option(
        None,
        "headsets|table|close|telephone",
        "How replayed talk is heard; may repeat.",
        show_default="all of them",
    ),
    rooms: Path | None = option(
        None, "DIR", "Measured responses for replayed talk.", show_default="synthetic"
    ),
    noise: list[Path] | None = option(
        None, "DIR", "Recordings of noise; may repeat.", show_default="synthetic"
    ),
    split: str | None = option(None, "NAME", "Split of the speakers.tsv.", show_default="all"),
    seed: SeedOption = 0,
) -> None:
    """Make conversations with turn-taking, overlap, rooms and noise, and their exact RTTM."""
    import numpy as np

    from diarize.cli.progress import progress
    from diarize.mixing.acoustics import noises_of
    from diarize.mixing.conversation import ConversationConfig
    from diarize.mixing.corpus import Conversations, write_conversations
    from diarize.mixing.replay import Replay, Scene
    from diarize.mixing.replayed import ReplayedConversations
    from diarize.mixing.rooms import draw_rooms
    from diarize.mixing.speech import utterances_of
    from diarize.mixing.talk import find_talks
    from diarize.mixing.voices import collect_voices
    from diarize.storage.files import require_folder

    folders = [*(speech_dir or []), *(speech or [])]
    if not folders:
        raise InputError("single-speaker speech is needed: SPEECH_DIR or --speech DIR")
    if turns and overlap is not None:
        raise InputError("--overlap goes without --turns: replayed talk has its own")
    for name, value in (("--scene", scene), ("--rooms", rooms)):
        if value and not turns:
            raise InputError(f"{name} goes with --turns")
    people = None if speakers is None else _range(speakers)
    require_folder(out)
    utterances = utterances_of(folders, split)
    people = people or (2, min(5, max(2, len({one.speaker for one in utterances}))))
    noises = noises_of(noise or [])
    with progress() as hook:
        if turns:
            kinds, talks = Scene.of(scene) if scene else Scene(), find_talks(turns)
            bank = draw_rooms(np.random.default_rng(seed), rooms, ROOMS)
            voices = collect_voices(utterances, (1.0,))
            replay = Replay(talks, voices, bank, noises, kinds, seed)
            draw = ReplayedConversations(replay, people, seconds).draw
        else:
            config = ConversationConfig(
                seconds=seconds, overlap=OVERLAP if overlap is None else overlap
            )
            draw = Conversations(utterances, people, config, noises, seed).draw
        written = write_conversations(map(draw, range(conversations)), out)
        for done, (path, length) in enumerate(written, start=1):
            if hook:
                hook("simulating", done, conversations)
            print(f"{path}\t{length:.1f}", flush=True)


def _range(text: str) -> tuple[int, int]:
    low, _, high = text.partition("-")
    try:
        return int(low), int(high or low)
    except ValueError:
        raise InputError(f"speakers {text}: MIN-MAX expected, such as 2-5") from None
