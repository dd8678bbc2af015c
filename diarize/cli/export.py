"""`diarize export`: the embedding for other programs."""

from __future__ import annotations

from pathlib import Path

from diarize.cli.options import ModelOption, option
from diarize.storage.weights import DEFAULT_MODEL


def export(
    onnx: Path = option(..., "DIR", "Folder for f.onnx and g.onnx; made if missing."),
    model: ModelOption = DEFAULT_MODEL,
) -> None:
    """Write f and g as ONNX graphs, which run without torch.

    f takes MFCC of windows of any length, as `diarize.features` computes them; g
    takes pairs of vectors. Both take batches of any size.
    """
    from diarize.embedding import load_model
    from diarize.embedding.onnx_graphs import composition_graph, encoder_graph
    from diarize.storage.files import atomic_output, require_folder

    require_folder(onnx)
    loaded = load_model(model)
    graphs = {"f.onnx": encoder_graph(loaded), "g.onnx": composition_graph(loaded)}
    onnx.mkdir(parents=True, exist_ok=True)
    for name, graph in graphs.items():
        with atomic_output(onnx / name) as file:
            file.write(graph.SerializeToString(deterministic=True))
