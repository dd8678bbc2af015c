"""The elementary decomposition of time."""

from __future__ import annotations

from pyannote.core import Annotation, Segment, Timeline

from diarize.scoring.elements import TICKS_PER_SECOND, Elements, decompose


def annotation(*turns: tuple[str, float, float]) -> Annotation:
    result = Annotation(uri="talk")
    for track, (speaker, start, end) in enumerate(turns):
        result[Segment(start, end), track] = speaker
    return result


def rows(elements: Elements) -> list[tuple[float, float, list[int], list[int], bool]]:
    return list(
        zip(
            (elements.start / TICKS_PER_SECOND).tolist(),
            (elements.end / TICKS_PER_SECOND).tolist(),
            elements.reference.to_lists(),
            elements.hypothesis.to_lists(),
            elements.in_der.tolist(),
            strict=True,
        )
    )


def test_one_picture() -> None:
    reference = annotation(("A", 0.0, 4.0), ("B", 3.0, 6.0))
    hypothesis = annotation(("x", 1.0, 5.0), ("x", 2.0, 5.5))
    assert rows(decompose(reference, hypothesis)) == [
        (0.0, 1.0, [0], [], True),
        (1.0, 2.0, [0], [0], True),
        (2.0, 3.0, [0], [0], True),
        (3.0, 4.0, [0, 1], [0], True),
        (4.0, 5.0, [1], [0], True),
        (5.0, 5.5, [1], [0], True),
        (5.5, 6.0, [1], [], True),
    ]


def test_regions_collar_and_skipped_overlap() -> None:
    reference = annotation(("A", 0.0, 4.0), ("B", 3.0, 6.0))
    uem = Timeline([Segment(0.5, 3.75), Segment(7.0, 8.0)])
    elements = decompose(reference, annotation(), uem, collar=0.5, skip_overlap=True)
    assert rows(elements) == [
        (0.5, 2.5, [0], [], True),
        (2.5, 3.0, [0], [], False),  # collar of B's start
        (3.0, 3.5, [0, 1], [], False),
        (3.5, 3.75, [0, 1], [], False),
        (7.0, 8.0, [], [], True),
    ]


def test_nothing_at_all() -> None:
    assert rows(decompose(annotation(), annotation())) == []
    assert rows(decompose(annotation(), annotation(), Timeline(), collar=1.0)) == []


def test_boundaries_closer_than_a_microsecond_are_one() -> None:
    elements = decompose(annotation(("A", 0.0, 0.1 + 0.2)), annotation(("x", 0.0, 0.3)))
    assert rows(elements) == [(0.0, 0.3, [0], [0], True)]


def test_shared_time_is_exact() -> None:
    elements = decompose(annotation(("A", 0.0, 36_000.000001)), annotation(("x", 0.0, 36_001.0)))
    assert elements.shared_time().tolist() == [[36_000_000_001]]
