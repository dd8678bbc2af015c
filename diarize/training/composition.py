"""Fit g to the vectors of a network that stays as it is, with all that is to be known of them.

Training windows of one voice and of mixtures are made and embedded once; what is fitted to these
vectors is small: the map that puts them around the centre of the sphere (`Place`), and g.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from diarize.audio import SAMPLE_RATE
from diarize.embedding.encoders import foreign_files
from diarize.embedding.fitted import Fitted, Place
from diarize.embedding.foreign import UNMEASURED, ForeignEncoder
from diarize.embedding.weights import pick_device
from diarize.errors import InputError
from diarize.mixing.acoustics import noises_of
from diarize.mixing.speech import utterances_of
from diarize.mixing.voices import Voices, collect_voices
from diarize.progress import Hook
from diarize.storage.files import file_sha256
from diarize.threads import one_thread, torch_threads
from diarize.training.checkpoints import SpeechRecipe
from diarize.training.development import development_voices, heard_by, vectors_of
from diarize.training.episodes import Batch, EpisodeConfig, EpisodeMaker, require_speakers
from diarize.training.fitting import MappedComposition, Report, Seen, train, whitened
from diarize.training.knowledge import measured
from diarize.training.likeness import Hearing, fitted_likeness
from diarize.training.loading import loader
from diarize.training.rendering import training_rooms

SPEEDS = (1.0, 0.9, 1.12)  # every speaker is three voices
DEVELOPMENT_EPISODES = 40
MEASURED = 150  # speakers whose vectors tell how those of one voice scatter


@dataclass(frozen=True, kw_only=True)
class CompositionRecipe(SpeechRecipe):
    """All that a fit is made of.

    Attributes:
        network: the ONNX file.
        development: split by whose set accuracy the best weights are kept; None: the last are.
        pool: corpora whose names begin with one of these are reported together.
        batches: of windows that are made and embedded, 144 in each.
        passes: over all of them.
        rate: learning rate at the beginning; it falls to zero.
        max_set_size: most voices (1 to 3) in the sets that a window is looked for among.
        episodes: mixtures.
    """

    network: Path
    development: str | None = None
    pool: Sequence[str] = ()
    batches: int = 300
    passes: int = 5
    rate: float = 1e-3
    max_set_size: int = 3
    episodes: EpisodeConfig = field(default_factory=EpisodeConfig)


class Sounds(EpisodeMaker):
    """Episodes whose windows are samples."""

    def _features(self, audio: Float[Tensor, "b samples"]) -> Float[Tensor, "b ..."]:
        return audio


def fit_composition(
    recipe: CompositionRecipe,
    *,
    device: str = "cpu",
    workers: int = 1,
    hook: Hook | None = None,
    report: Report | None = None,
) -> Fitted:
    """Embed training windows with a network and fit the rest to its vectors.

    `workers` make windows, 0 makes them here; `report` is told pass, loss and set accuracy.

    Raises:
        InputError: a network or speech that cannot be used.
    """
    files = foreign_files(recipe.network)
    if files is None:
        raise InputError(f"{recipe.network}: no ONNX file; g of ours is trained together with f")
    network, device = files[0], pick_device(device)
    encoder = ForeignEncoder(network, None, device)
    voices = _voices(recipe, hook)
    development = _development(recipe, encoder, hook)
    seen = list(embedded(recipe, encoder, voices, workers, hook))
    fit = MappedComposition(whitened(seen))
    train(
        fit,
        seen,
        development,
        passes=recipe.passes,
        rate=recipe.rate,
        max_set_size=recipe.max_set_size,
        seed=recipe.seed,
        hook=hook,
        report=report,
    )
    compose = fit.compose.eval().requires_grad_(False)
    fitted = Fitted(network.name, file_sha256(network), fit.place(), compose, UNMEASURED)
    known = measured(ForeignEncoder(network, fitted, device), _some(voices), UNMEASURED)
    hearings = list(_hearings(seen, voices, fit.place()))
    scatter = replace(known.scatter, variance=scattered(hearings), alike=None)
    likeness = fitted_likeness(hearings, known.likeness)
    return replace(fitted, knowledge=replace(known, scatter=scatter, likeness=likeness))


def scattered(hearings: Sequence[Hearing]) -> float:
    """Mean squared distance from their centroid of windows of one voice, heard in one place.

    The windows are as in conversations, in rooms and noise: nothing has to be concluded from clean
    ones, as `measured` does. (For Resemblyzer that says 0.73, this 0.38; in conversations of dev-a
    0.33 counts speakers best.)
    """
    return float(np.mean([h.vectors.var(axis=0, ddof=1).sum() for h in hearings]))


def _voices(recipe: CompositionRecipe, hook: Hook | None) -> Voices:
    voices = collect_voices(utterances_of(recipe.speech, recipe.split), SPEEDS, hook)
    require_speakers(voices, recipe.episodes.speakers, recipe.speech)
    return voices


def _some(voices: Voices) -> Voices:
    """The speakers themselves, at most so many: a large network takes its time."""
    first = np.unique(voices.speakers, return_index=True)[1]
    return voices[np.random.default_rng(0).permutation(first)[:MEASURED]]


def _development(
    recipe: CompositionRecipe, encoder: ForeignEncoder, hook: Hook | None
) -> dict[str, tuple[Tensor, Tensor]]:
    """References and queries of drawn episodes, as the network's own vectors, by corpus."""
    if recipe.development is None:
        return {}
    utterances = utterances_of(recipe.speech, recipe.development)
    voices = development_voices(utterances, recipe.pool, hook)
    return {
        name: vectors_of(encoder.rows, encoder.own_vectors, own, DEVELOPMENT_EPISODES, seed=0)
        for name, own in voices.items()
    }


def embedded(
    recipe: CompositionRecipe,
    encoder: ForeignEncoder,
    voices: Voices,
    workers: int,
    hook: Hook | None,
) -> Iterator[Seen]:
    """Make the batches, and embed them; on a CPU, each thread takes a batch."""
    rooms = training_rooms(recipe.rooms, recipe.seed)
    maker = Sounds(voices, noises_of(recipe.noise), recipe.episodes, recipe.seed, rooms)
    batches = loader(maker, range(recipe.batches), workers)

    def embed(batch: Batch) -> Seen:
        windows = heard_by(encoder.rows, batch.features.numpy())
        vectors = torch.from_numpy(encoder.own_vectors(windows))
        by_episode = vectors.reshape(*batch.known.shape, -1)
        seconds = batch.features.shape[1] / SAMPLE_RATE
        return Seen(by_episode, batch.members, batch.alone, batch.known, batch.voices, seconds)

    most = torch_threads() if encoder.device == "cpu" else 1
    with one_thread(), ThreadPoolExecutor(most) as pool:
        waiting = []
        for done, batch in enumerate(batches):
            waiting.append(pool.submit(embed, batch))
            if len(waiting) > most:
                yield waiting.pop(0).result()
            if hook:
                hook("embedding", done + 1, recipe.batches)
        for one in waiting:
            yield one.result()


def _hearings(seen: Sequence[Seen], voices: Voices, place: Place) -> Iterator[Hearing]:
    """Of each voice and episode, the vectors of the windows in which it is alone, in place."""
    for one in seen:
        for episode in range(len(one.voices)):
            for number, voice in enumerate(one.voices[episode].tolist()):
                own = one.alone[episode] & one.members[episode, :, number]
                vectors = place(one.vectors[episode][own].numpy())
                seconds = len(vectors) * one.seconds
                yield Hearing(voice, str(voices.corpora[voice]), seconds, vectors)
