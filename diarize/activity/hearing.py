"""Where there is speech in a recording, and of how many: by whoever is asked, kept in a cache."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from jaxtyping import Float64

from diarize.activity.counts import Activity, Heard
from diarize.activity.regions import clip_regions
from diarize.audio import Recording
from diarize.progress import Hook
from diarize.storage.cache import Cache, cache_key


def hear(
    recording: Recording,
    activity: Activity | Float64[np.ndarray, "m 2"],
    counts: bool,
    cache: Cache | None = None,
    hook: Hook | None = None,
) -> Heard:
    """Find speech, and how many speak.

    Args:
        recording: in which.
        activity: where there is speech: a callable of a recording and a hook, or regions, seconds.
        counts: whether how many speak is asked for; our network says it, unless who found speech
            has said it.
        cache: where is kept what a detector finds that has an `identity`, all that its answer
            depends on beside the recording, as JSON knows it; None: nowhere.
        hook: told progress.

    Raises:
        InputError: the recording is damaged.
    """
    from diarize.activity.network import NetworkActivity

    def listen(activity: Activity) -> Heard:
        identity = getattr(activity, "identity", None)
        if cache is None or identity is None:
            return Heard.of(activity(recording, hook))
        key = cache_key("heard", recording.sha256(), identity)
        made = cache.kept_all(key, "regions", lambda: Heard.of(activity(recording, hook)).arrays())
        return Heard.from_arrays(made)

    heard = listen(activity) if callable(activity) else Heard.of(activity)
    if not counts:
        heard = replace(heard, counts=None)
    elif heard.counts is None:
        heard = replace(heard, counts=listen(NetworkActivity()).counts)
    end = recording.start + recording.duration
    return replace(heard, regions=clip_regions(heard.regions, recording.start, end))
