"""`diarize train`: models of one's own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from diarize.cli.options import count, flag, option
from diarize.errors import InputError
from diarize.storage.weights import DEFAULT_MODEL

if TYPE_CHECKING:
    from diarize.training.development import SetAccuracy
    from diarize.training.recordings import FitResult

app = typer.Typer(help="Train models.", no_args_is_help=True, rich_markup_mode=None)

# What several trainings take.
FOLDERS = "Single-speaker speech: with a speakers.tsv, or one folder for each speaker; may repeat."
SPEECH = option(..., "DIR", FOLDERS)
SPLIT = option(None, "NAME", "Split to train on.", show_default="all")
DEV_SPLIT = option(
    None,
    "NAME",
    "Split to report on; the weights that are best there are kept.",
    show_default="none: the last weights",
)
POOL = option(None, "CORPUS", "Report corpora that begin so together; may repeat.")
ROOMS = option(None, "DIR", "Measured responses of rooms.", show_default="synthetic")
NOISE = option(None, "DIR", "Recordings of noise; may repeat.", show_default="synthetic")
UNTIL = count(None, "Stop before this step, to go on later.")
DEVICE = option("cpu", "auto|cpu|cuda", "Where to train.")


def _loop(metavar: str, help: str, alone: str, fitted: str, **more: Any) -> Any:
    """An option of the steps, whose default is another one with --recordings."""
    return option(None, metavar, help, show_default=f"{alone}; {fitted} with --recordings", **more)


@app.command()
def embedding(
    speech: list[Path] | None = option(
        None, "DIR", FOLDERS, show_default="none; needed without --recordings"
    ),
    recordings: list[Path] | None = option(
        None,
        "DIR",
        "Fit a trained model to recordings with NAME.rttm beside each; may repeat.",
        show_default="none",
    ),
    out: Path = option(..., "DIR", "Voices, checkpoint, model.safetensors go here."),
    split: str | None = SPLIT,
    dev_split: str | None = DEV_SPLIT,
    pool: list[str] | None = POOL,
    unlabelled: Path | None = option(None, "DIR", "More single-speaker files, without names."),
    rooms: Path | None = ROOMS,
    noise: list[Path] | None = NOISE,
    shifts: bool = flag(
        "--shifts", "More voices by shifts of formants and pitch (extra `shifts`)."
    ),
    start: str | None = option(
        None,
        "MODEL",
        "Weights to begin with: a model's name or file.",
        show_default=f"drawn ones; {DEFAULT_MODEL} with --recordings",
    ),
    max_set_size: int = option(3, "D", "Most voices at one time; 1: f alone.", min=1, max=3),
    steps: int | None = _loop("N", "Steps in all.", "20000", "300", min=1),
    cooldown: int | None = _loop(
        "N", "Last steps, in which the rate falls.", "4000", "two thirds of all", min=0
    ),
    rate: float | None = _loop("R", "Learning rate.", "0.0015", "0.001", min=1e-9, max=1.0),
    every: int | None = _loop("N", "Steps between two checkpoints.", "1000", "50", min=1),
    workers: int = option(1, "N", "Processes that make mixtures.", min=0),
    until: int | None = UNTIL,
    device: str = DEVICE,
    seed: int = option(0, "N", "Of weights and mixtures.", min=0),
) -> None:
    """Train f and g on mixtures made on the fly; run again to go on after an interruption.

    With --recordings, a trained model learns from recordings of one's own; every third is held
    back, and unless these say that it is better, model.safetensors is what one began with.

    Several processes or GPUs: torchrun --nproc-per-node N --module diarize train embedding ...
    """
    from contextlib import nullcontext

    from diarize.cli.messages import note
    from diarize.cli.progress import progress
    from diarize.storage.files import require_folder
    from diarize.training.embedding import EmbeddingRecipe, train_embedding
    from diarize.training.episodes import EpisodeConfig
    from diarize.training.loop import LoopConfig
    from diarize.training.processes import is_first
    from diarize.training.recordings import FittingRecipe, fit_recordings, fitting_loop

    named = {"steps": steps, "cooldown": cooldown, "rate": rate, "every": every}
    given: dict[str, Any] = {name: value for name, value in named.items() if value is not None}
    given["max_set_size"] = max_set_size
    drawn: dict[str, Any] = {"split": split, "rooms": rooms, "noise": noise or [], "seed": seed}
    how: dict[str, Any] = {"device": device, "workers": workers, "until": until, "report": _report}
    if recordings:
        without = {
            "--dev-split": dev_split,
            "--pool": pool,
            "--unlabelled": unlabelled,
            "--shifts": shifts,
        }
        for name in (name for name, value in without.items() if value):
            raise InputError(f"{name} goes without --recordings")
        if split and not speech:
            raise InputError("--split is of --speech, and there is none")
        require_folder(out)
        fitting = FittingRecipe(
            recordings=recordings,
            speech=speech or [],
            start=start or DEFAULT_MODEL,
            loop=fitting_loop(**given),
            **drawn,
        )
        with progress() as hook:
            fit = fit_recordings(fitting, out, hook=hook, **how)
        note(*_told(fit, out))
        return
    if not speech:
        raise InputError("Missing option '--speech', or '--recordings' to fit to one's own.")
    if pool and not dev_split:
        raise InputError("--pool goes with --dev-split")
    require_folder(out)
    recipe = EmbeddingRecipe(
        speech=speech,
        unlabelled=unlabelled,
        development=dev_split,
        pool=pool or [],
        shifts=shifts,
        start=start,
        episodes=EpisodeConfig.up_to(max_set_size),
        loop=LoopConfig(**given),
        **drawn,
    )
    with progress() if is_first() else nullcontext() as hook:
        path = train_embedding(recipe, out, hook=hook, **how)
    if is_first():
        over = until is None or until >= recipe.loop.steps
        note(f"weights in {path}" + ("" if over else f", of step {until}: the training goes on"))


def _told(fit: FitResult | None, folder: Path) -> list[str]:
    """What came of a fit to recordings."""
    if fit is None:
        return [f"stopped; the same command goes on in {folder}"]
    shares = f"{100 * fit.after:.1f} % after {100 * fit.before:.1f} % (± {100 * fit.error:.1f})"
    verdict = "weights" if fit.better else "not surely better: the weights that it began with are"
    return [
        f"learned from {fit.taught} recordings, judged by {fit.held} that were held back: {shares} "
        "of their windows, alone and mixed, go to their speakers",
        f"{verdict} in {fit.weights}",
    ]


def _report(
    step: int, loss: dict[str, float], accuracy: dict[str, SetAccuracy], best: int | None
) -> None:
    parts = " ".join(f"{name} {value:.3f}" for name, value in loss.items())
    _say(f"step {step}: loss {parts}", _accuracies(accuracy), best)


def _say(head: str, lines: list[str], best: int | None = None) -> None:
    kept = [] if best is None else [f"  best so far, and kept: step {best}"]
    print("\n".join([head, *lines, *kept]), flush=True)


def _accuracies(accuracy: Mapping[str, SetAccuracy]) -> list[str]:
    return [
        f"  {corpus}: set accuracy {a.all:.3f} (single {a.single:.2f}, pair {a.pair:.2f}); "
        f"the paper's variant {a.literal:.3f}; mean as g {a.mean:.3f}"
        for corpus, a in accuracy.items()
    ]


@app.command()
def activity(
    speech: list[Path] = SPEECH,
    turns: list[str] = option(
        ...,
        "DIR[:K/N]",
        "Replay the talk in these RTTM files, K/N: of one part of them; may repeat, and what is "
        "named twice comes twice as often.",
    ),
    out: Path = option(..., "DIR", "Voices, shards, checkpoint, activity.safetensors go here."),
    split: str | None = SPLIT,
    dev_split: str | None = DEV_SPLIT,
    dev_turns: list[str] | None = option(
        None, "DIR[:K/N]", "The talk to report on; may repeat.", show_default="none"
    ),
    rooms: Path | None = ROOMS,
    noise: list[Path] | None = NOISE,
    teacher: Path | None = option(
        None,
        "FILE",
        "Weights of a teacher that has heard real meetings (recipes/activity/teacher.py).",
        show_default="none: the truth alone",
    ),
    unlabelled: list[Path] | None = option(
        None, "DIR", "Recordings that the teacher alone labels; may repeat.", show_default="none"
    ),
    start: Path | None = option(None, "FILE", "Weights to begin with.", show_default="drawn ones"),
    steps: int = option(
        4_500, "N", "Steps in all; 0: of --start only what is a voice is learned anew.", min=0
    ),
    every: int = count(100, "Steps between two checkpoints."),
    workers: int = option(1, "N", "Processes that render replayed talk.", min=0),
    until: int | None = UNTIL,
    device: str = DEVICE,
    seed: int = option(0, "N", "Of weights and talk.", min=0),
) -> None:
    """Train the network that hears how many speak; run again to go on after an interruption."""
    from diarize.cli.messages import note
    from diarize.cli.progress import progress
    from diarize.storage.files import require_folder
    from diarize.training.activity import ActivityRecipe, train_activity
    from diarize.training.counting import CounterLoop

    if bool(dev_split) != bool(dev_turns):
        raise InputError("--dev-split and --dev-turns go together")
    if not steps and start is None:
        raise InputError("--steps 0 needs --start, weights that have learned all else")
    require_folder(out)
    recipe = ActivityRecipe(
        speech=speech,
        turns=turns,
        split=split,
        rooms=rooms,
        noise=noise or [],
        development=dev_split,
        development_turns=dev_turns or [],
        teacher=teacher,
        unlabelled=unlabelled or (),
        start=start,
        loop=CounterLoop(steps=steps, every=every),
        seed=seed,
    )
    with progress() as hook:
        path = train_activity(
            recipe, out, device=device, workers=workers, until=until, hook=hook, report=_counted
        )
    note(f"weights in {path}")


@app.command()
def composition(
    model: Path = option(..., "FILE.onnx", "The network whose vectors are composed."),
    speech: list[Path] = SPEECH,
    out: Path | None = option(
        None, "FILE.safetensors", "Where g goes.", show_default="beside the network"
    ),
    split: str | None = SPLIT,
    dev_split: str | None = DEV_SPLIT,
    pool: list[str] | None = POOL,
    rooms: Path | None = ROOMS,
    noise: list[Path] | None = NOISE,
    max_set_size: int = option(
        3, "D", "Most voices at one time; 1: the place alone.", min=1, max=3
    ),
    batches: int = count(300, "Batches of 144 windows that are made and embedded."),
    passes: int = count(5, "Passes over all of them."),
    rate: float = option(1e-3, "R", "Learning rate at the beginning.", min=1e-9, max=1.0),
    workers: int = option(1, "N", "Processes that make mixtures.", min=0),
    device: str = option("auto", "auto|cpu|cuda", "Where the network runs."),
    seed: int = option(0, "N", "Of all that is drawn.", min=0),
) -> None:
    """Fit g to the vectors of a network of others, which stays as it is, and measure these.

    `--model FILE.onnx` finds FILE.safetensors beside it by itself, in all commands.
    """
    from diarize.cli.messages import note
    from diarize.cli.progress import progress
    from diarize.embedding.fitted import save_fitted
    from diarize.storage.files import require_writable
    from diarize.training.composition import CompositionRecipe, fit_composition
    from diarize.training.episodes import EpisodeConfig

    path = model.with_suffix(".safetensors") if out is None else out
    require_writable(path)
    recipe = CompositionRecipe(
        network=model,
        speech=speech,
        split=split,
        development=dev_split,
        pool=pool or [],
        rooms=rooms,
        noise=noise or [],
        batches=batches,
        passes=passes,
        rate=rate,
        max_set_size=max_set_size,
        episodes=EpisodeConfig.up_to(max_set_size),
        seed=seed,
    )
    with progress() as hook:
        fitted = fit_composition(
            recipe, device=device, workers=workers, hook=hook, report=_report_fit
        )
    save_fitted(fitted, path)
    note(f"g in {path}")


def _report_fit(done: int, loss: float, accuracy: Mapping[str, SetAccuracy]) -> None:
    _say(f"pass {done}: loss {loss:.3f}", _accuracies(accuracy))


def _counted(
    step: int, means: dict[str, float], figures: dict[str, float], best: int | None
) -> None:
    lines = []
    if figures:
        lines = [
            f"  unheard voices: loss {figures['loss']:.4f}; speech missed {figures['miss']:.3f}, "
            f"false {figures['false']:.3f}; overlap precision {figures['precision']:.2f}, "
            f"recall {figures['recall']:.2f}, average precision {figures['ap']:.3f}"
        ]
    _say(f"step {step}: loss {means['loss']:.4f}", lines, best)
