"""One step of online deep clustering: encode, assign, move encoder and centroids (Algorithm 1)."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import torch
from jaxtyping import Float, Int64
from regularisers import Regulariser, combination
from torch import Tensor, nn
from torch.nn.functional import normalize

from diarize.clustering.ca import check_prior
from diarize.training.gradients import clip


class OnlineClustering:
    """An encoder and centroids that are trained together, without labels, batch by batch.

    Args:
        encoder: rows to vectors; any module, or any callable of tensors.
        centroids: where the clusters begin, (k, p).
        sigma: variance of a cluster, in the units of the encodings.
        prior: probabilities of the clusters; None: all alike.
        regulariser: the loss; see `regularisers`.
        parameters: what is trained beside the centroids.
        rate: Adam's learning rate; (0.9, 0.99) are the paper's betas.
        on_sphere: whether encodings are unit vectors, and so centroids are brought back to the
            sphere.
        seed: of what the regulariser draws.
    """

    def __init__(
        self,
        encoder: Callable[[Tensor], Tensor],
        centroids: Float[Tensor, "k p"],
        *,
        sigma: float,
        prior: Iterable[float] | None = None,
        regulariser: Regulariser = combination,
        parameters: Iterable[nn.Parameter] = (),
        rate: float = 1e-3,
        on_sphere: bool = False,
        seed: int = 0,
    ) -> None:
        self.encoder, self.sigma, self.regulariser = encoder, sigma, regulariser
        self.on_sphere = on_sphere
        self._centroids = nn.Parameter(centroids.clone())
        weights = check_prior(None if prior is None else list(prior), len(centroids))
        self.prior = torch.from_numpy(weights).to(centroids)
        self._generator = torch.Generator().manual_seed(seed)
        self._parameters = [*parameters, self._centroids]
        self._optimiser = torch.optim.Adam(self._parameters, lr=rate, betas=(0.9, 0.99))

    @property
    def centroids(self) -> Float[Tensor, "k p"]:
        """Of the clusters, with their gradient."""
        return normalize(self._centroids, dim=-1) if self.on_sphere else self._centroids

    def loss(self, encodings: Float[Tensor, "views n p"]) -> Float[Tensor, ""]:
        """Of a batch, encoded once or in several views of the same rows."""
        return self.regulariser(
            squared(encodings, self.centroids), self.sigma, self.prior, self._generator
        )

    def step(self, loss: Float[Tensor, ""]) -> None:
        """Move parameters and centroids down a loss.

        Raises:
            TrainingError: its gradient is not finite.
        """
        self._optimiser.zero_grad(set_to_none=True)
        torch.autograd.backward(loss)
        clip((f"parameter {n}", p) for n, p in enumerate(self._parameters))
        self._optimiser.step()

    def advance(self, *views: Tensor) -> float:
        """Train on a batch: TrainOnBatch. Further views are of the same rows and share their label.

        Returns:
            The loss before the step.
        """
        loss = self.loss(torch.stack([self.encoder(view) for view in views]))
        self.step(loss)
        return float(loss.detach())

    def predict(self, rows: Tensor) -> Int64[np.ndarray, " n"]:
        """The nearest centroid of each row, without any support: PredictSingleDataPoint."""
        with torch.no_grad():
            distances = squared(self.encoder(rows)[None], self.centroids)[0]
        return distances.argmin(dim=1).cpu().numpy()


def squared(
    vectors: Float[Tensor, "views n p"], centroids: Float[Tensor, "k p"]
) -> Float[Tensor, "views n k"]:
    """Squared distances of vectors from centroids."""
    squares = vectors.square().sum(dim=-1, keepdim=True) + centroids.square().sum(dim=-1)
    return (squares - 2 * vectors @ centroids.T).clamp(min=0)
