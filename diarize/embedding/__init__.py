"""The compositional embedding: f and g, their weights, and windows over a recording."""

from diarize.embedding.knowledge import Knowledge
from diarize.embedding.model import CompositionalEmbedding, EmbeddingConfig
from diarize.embedding.weights import find_model, load_model, pick_device, save_model
from diarize.embedding.windows import embed_windows, place_windows

__all__ = [
    "CompositionalEmbedding",
    "EmbeddingConfig",
    "Knowledge",
    "embed_windows",
    "find_model",
    "load_model",
    "pick_device",
    "place_windows",
    "save_model",
]
