"""Speaker encoders, ours (f and g) and those of others, and windows over a recording."""

from diarize.embedding.encoder import SpeakerEncoder
from diarize.embedding.encoders import load_encoder
from diarize.embedding.knowledge import Knowledge
from diarize.embedding.model import CompositionalEmbedding, EmbeddingConfig
from diarize.embedding.weights import find_model, load_model, pick_device, save_model
from diarize.embedding.windows import embed_windows, place_windows

__all__ = [
    "CompositionalEmbedding",
    "EmbeddingConfig",
    "Knowledge",
    "SpeakerEncoder",
    "embed_windows",
    "find_model",
    "load_encoder",
    "load_model",
    "pick_device",
    "place_windows",
    "save_model",
]
