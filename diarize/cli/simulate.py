"""`diarize simulate`: conversations out of single-speaker speech."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from diarize.cli.options import SeedOption
from diarize.errors import InputError


def simulate(
    speech_dir: Annotated[
        Path,
        typer.Argument(
            metavar="SPEECH_DIR",
            help="Single-speaker speech: with a speakers.tsv, or one folder for each speaker.",
        ),
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where FLAC files and their RTTM go.")],
    conversations: Annotated[int, typer.Option(metavar="N", min=1, help="How many to make.")] = 1,
    speakers: Annotated[
        str, typer.Option(metavar="MIN-MAX", help="Speakers of one conversation, or one number.")
    ] = "2-5",
    seconds: Annotated[
        float,
        typer.Option(metavar="SECONDS", min=5.0, help="Length, about; speech is never used twice."),
    ] = 60.0,
    overlap: Annotated[
        float,
        typer.Option(metavar="SHARE", min=0.0, max=0.5, help="Share of speech in which two speak."),
    ] = 0.08,
    noise: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Recordings of noise.", show_default="synthetic"),
    ] = None,
    split: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Split of the speakers.tsv.", show_default="all"),
    ] = None,
    seed: SeedOption = 0,
) -> None:
    """Make conversations with turn-taking, overlap, rooms and noise, and their exact RTTM."""
    from diarize.cli.progress import progress
    from diarize.cli.targets import require_folder
    from diarize.mixing.acoustics import read_noises
    from diarize.mixing.conversation import ConversationConfig
    from diarize.mixing.corpus import Conversations, write_conversations
    from diarize.mixing.speech import find_utterances

    require_folder(out)
    drawn = Conversations(
        find_utterances(speech_dir, split),
        _range(speakers),
        ConversationConfig(seconds=seconds, overlap=overlap),
        read_noises(noise) if noise else [],
        seed,
    )
    with progress() as hook:
        written = write_conversations(drawn, conversations, out)
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
