"""`diarize train`: models of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from diarize.errors import InputError

if TYPE_CHECKING:
    from diarize.training.development import SetAccuracy

app = typer.Typer(rich_markup_mode=None, no_args_is_help=True)


@app.callback()
def _train() -> None:
    """Train models."""


@app.command()
def embedding(
    speech: Annotated[
        list[Path],
        typer.Option(
            metavar="DIR",
            help="Single-speaker speech: with a speakers.tsv, or one folder for each speaker; "
            "may repeat.",
        ),
    ],
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Voices, checkpoint, model.safetensors go here.")
    ],
    split: Annotated[
        str | None, typer.Option(metavar="NAME", help="Split to train on.", show_default="all")
    ] = None,
    dev_split: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Split to report on; the weights that are best there are kept.",
            show_default="none: the last weights",
        ),
    ] = None,
    pool: Annotated[
        list[str] | None,
        typer.Option(metavar="CORPUS", help="Report corpora that begin so together; may repeat."),
    ] = None,
    unlabelled: Annotated[
        Path | None, typer.Option(metavar="DIR", help="More single-speaker files, without names.")
    ] = None,
    rooms: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Measured responses of rooms.", show_default="synthetic"),
    ] = None,
    noise: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="DIR", help="Recordings of noise; may repeat.", show_default="synthetic"
        ),
    ] = None,
    teacher: Annotated[
        bool,
        typer.Option("--teacher", help="Pull f towards Resemblyzer's vectors (extra `teacher`)."),
    ] = False,
    shifts: Annotated[
        bool,
        typer.Option(
            "--shifts", help="More voices by shifts of formants and pitch (extra `shifts`)."
        ),
    ] = False,
    start: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="Weights to begin with: a model's name or file.",
            show_default="drawn ones",
        ),
    ] = None,
    max_set_size: Annotated[
        int, typer.Option(metavar="D", min=1, max=3, help="Most voices at one time; 1: f alone.")
    ] = 3,
    steps: Annotated[int, typer.Option(metavar="N", min=1, help="Steps in all.")] = 20_000,
    cooldown: Annotated[
        int, typer.Option(metavar="N", min=0, help="Last steps, in which the rate falls.")
    ] = 4_000,
    rate: Annotated[float, typer.Option(metavar="R", min=0.0, help="Learning rate.")] = 1.5e-3,
    every: Annotated[
        int, typer.Option(metavar="N", min=1, help="Steps between two checkpoints.")
    ] = 1_000,
    workers: Annotated[
        int, typer.Option(metavar="N", min=0, help="Processes that make mixtures.")
    ] = 1,
    until: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Stop before this step, to go on later."),
    ] = None,
    device: Annotated[str, typer.Option(metavar="auto|cpu|cuda", help="Where to train.")] = "cpu",
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Of weights and mixtures.")] = 0,
) -> None:
    """Train f and g on mixtures made on the fly; run again to go on after an interruption.

    Several processes or GPUs: torchrun --nproc-per-node N --module diarize train embedding ...
    """
    from contextlib import nullcontext

    from diarize.cli.messages import note
    from diarize.cli.progress import progress
    from diarize.storage.files import require_folder
    from diarize.training.embedding import Recipe, train_embedding
    from diarize.training.episodes import EpisodeConfig
    from diarize.training.loop import LoopConfig
    from diarize.training.processes import is_first

    require_folder(out)
    recipe = Recipe(
        speech=speech,
        split=split,
        unlabelled=unlabelled,
        rooms=rooms,
        noise=noise or [],
        development=dev_split,
        pool=pool or [],
        shifts=shifts,
        start=start,
        teacher=teacher,
        episodes=EpisodeConfig.up_to(max_set_size),
        loop=LoopConfig(
            steps=steps,
            rate=rate,
            cooldown=cooldown,
            every=every,
            max_set_size=max_set_size,
        ),
        seed=seed,
    )
    with progress() if is_first() else nullcontext() as hook:
        path = train_embedding(
            recipe, out, device=device, workers=workers, until=until, hook=hook, report=_report
        )
    if is_first():
        note(f"weights in {path}")


def _report(
    step: int, loss: dict[str, float], accuracy: dict[str, SetAccuracy], best: int | None
) -> None:
    parts = " ".join(f"{name} {value:.3f}" for name, value in loss.items())
    lines = [f"step {step}: loss {parts}"]
    for corpus, a in accuracy.items():
        lines.append(
            f"  {corpus}: set accuracy {a.all:.3f} (single {a.single:.2f}, pair {a.pair:.2f}); "
            f"the paper's variant {a.literal:.3f}; mean as g {a.mean:.3f}"
        )
    if best is not None:
        lines.append(f"  best so far, and kept: step {best}")
    print("\n".join(lines), flush=True)


@app.command()
def activity(
    speech: Annotated[
        list[Path],
        typer.Option(
            metavar="DIR",
            help="Single-speaker speech: with a speakers.tsv, or one folder for each speaker; "
            "may repeat.",
        ),
    ],
    turns: Annotated[
        list[str],
        typer.Option(
            metavar="DIR[:K/N]",
            help="Replay the talk in these RTTM files, K/N: of one part of them; may repeat, and "
            "what is named twice comes twice as often.",
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(
            metavar="DIR", help="Voices, shards, checkpoint, activity.safetensors go here."
        ),
    ],
    split: Annotated[
        str | None, typer.Option(metavar="NAME", help="Split to train on.", show_default="all")
    ] = None,
    dev_split: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Split to report on; the weights that are best there are kept.",
            show_default="none: the last weights",
        ),
    ] = None,
    dev_turns: Annotated[
        list[str] | None,
        typer.Option(
            metavar="DIR[:K/N]", help="The talk to report on; may repeat.", show_default="none"
        ),
    ] = None,
    rooms: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Measured responses of rooms.", show_default="synthetic"),
    ] = None,
    noise: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="DIR", help="Recordings of noise; may repeat.", show_default="synthetic"
        ),
    ] = None,
    start: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Weights to begin with.", show_default="drawn ones"),
    ] = None,
    steps: Annotated[int, typer.Option(metavar="N", min=1, help="Steps in all.")] = 4_500,
    every: Annotated[
        int, typer.Option(metavar="N", min=1, help="Steps between two checkpoints.")
    ] = 100,
    workers: Annotated[
        int, typer.Option(metavar="N", min=0, help="Processes that render replayed talk.")
    ] = 1,
    until: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Stop before this step, to go on later."),
    ] = None,
    device: Annotated[str, typer.Option(metavar="auto|cpu|cuda", help="Where to train.")] = "cpu",
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Of weights and talk.")] = 0,
) -> None:
    """Train the network that hears how many speak; run again to go on after an interruption."""
    from diarize.cli.messages import note
    from diarize.cli.progress import progress
    from diarize.storage.files import require_folder
    from diarize.training.activity import ActivityRecipe, train_activity
    from diarize.training.counting import CounterLoop

    if bool(dev_split) != bool(dev_turns):
        raise InputError("--dev-split and --dev-turns go together")
    require_folder(out)
    recipe = ActivityRecipe(
        speech=speech,
        turns=turns,
        split=split,
        rooms=rooms,
        noise=noise or [],
        development=dev_split,
        development_turns=dev_turns or [],
        start=start,
        loop=CounterLoop(steps=steps, every=every),
        seed=seed,
    )
    with progress() as hook:
        path = train_activity(
            recipe,
            out,
            device=device,
            workers=workers,
            until=until,
            hook=hook,
            report=_report_counts,
        )
    note(f"weights in {path}")


def _report_counts(step: int, loss: float, figures: dict[str, float], best: int | None) -> None:
    lines = [f"step {step}: loss {loss:.4f}"]
    if figures:
        lines += [
            f"  unheard voices: loss {figures['loss']:.4f}; speech missed {figures['miss']:.3f}, "
            f"false {figures['false']:.3f}; overlap precision {figures['precision']:.2f}, "
            f"recall {figures['recall']:.2f}, average precision {figures['ap']:.3f}"
        ]
    if best is not None:
        lines.append(f"  best so far, and kept: step {best}")
    print("\n".join(lines), flush=True)
