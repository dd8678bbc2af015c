"""torch as it begins, whatever the program that calls us has made of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager


@contextmanager
def usual_modes() -> Iterator[None]:
    """Let torch follow gradients, in float32 on the CPU, and leave its random numbers alone.

    A caller may stand in `torch.inference_mode()` or `torch.autocast()`, or have another default
    device or type: networks are loaded once and kept, and g is differentiated. All is as it was
    when the block ends.
    """
    import torch

    with ExitStack() as stack:
        stack.enter_context(torch.inference_mode(False))
        stack.enter_context(torch.enable_grad())
        for kind in ("cpu", "cuda"):
            if torch.is_autocast_enabled(kind):
                stack.enter_context(torch.autocast(kind, enabled=False))
        if torch.get_default_device().type != "cpu":
            stack.enter_context(torch.device("cpu"))
        if (dtype := torch.get_default_dtype()) != torch.float32:
            torch.set_default_dtype(torch.float32)
            stack.callback(torch.set_default_dtype, dtype)
        stack.enter_context(torch.random.fork_rng(devices=[]))
        yield
