"""Message differences against the paper's messages in exact rationals."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from diarize.clustering.cap.maxima import CompositionScores
from diarize.clustering.cap.messages import Messages, pass_messages
from diarize.clustering.cap.similarity import Similarity

from ..conftest import unit, unit_mean


def literal_messages(scores, n, iterations, damping):
    """Algorithms 1 and 2 as printed, damped as in appendix D; yields a - abar, b - bbar, h - bbar.

    `scores[i]` maps each set (a tuple) to S(i, c), None for minus infinity.
    """
    every = range(n)
    sets = list(scores[0])

    def damped(old, new):
        return {key: damping * old[key] + (1 - damping) * new[key] for key in new}

    zero = {(i, k): Fraction(0) for i in every for k in every}
    a, a_bar, b, b_bar = (dict(zero) for _ in range(4))
    h = {k: Fraction(0) for k in every}
    q = {(i, c): Fraction(0) for i in every for c in sets}
    for _ in range(iterations):
        new_b, new_b_bar = {}, {}
        for i in every:  # ComputeRhoStats
            total = {c: scores[i][c] + q[i, c] for c in sets if scores[i][c] is not None}
            for k in every:
                r = max((v for c, v in total.items() if k in c), default=None)
                s = max(v for c, v in total.items() if k not in c)
                new_b_bar[i, k] = s - a_bar[i, k]
                new_b[i, k] = new_b_bar[i, k] if r is None else max(r - a[i, k], new_b_bar[i, k])
        new_h = {k: scores[k][(k,)] + q[k, (k,)] - a[k, k] for k in every}
        b, b_bar, h = damped(b, new_b), damped(b_bar, new_b_bar), damped(h, new_h)
        e = {k: sum(b[i, k] for i in every if i != k) for k in every}
        e_bar = {k: sum(b_bar[i, k] for i in every if i != k) for k in every}
        new_a, new_a_bar = {}, {}
        for i in every:  # ComputeAlphaStats
            for k in every:
                if i == k:
                    new_a[i, k], new_a_bar[i, k] = e[k], e_bar[k]
                else:
                    new_a[i, k] = h[k] + e[k] - b[i, k]
                    new_a_bar[i, k] = max(b_bar[k, k] + e_bar[k] - b_bar[i, k], new_a[i, k])
        new_q = {
            (i, c): sum(new_a_bar[i, k] for k in every)
            + sum(new_a[i, k] - new_a_bar[i, k] for k in c)
            for i in every
            for c in sets
        }
        a, a_bar, q = damped(a, new_a), damped(a_bar, new_a_bar), damped(q, new_q)
        yield (
            {key: a[key] - a_bar[key] for key in zero},
            {key: b[key] - b_bar[key] for key in zero},
            {k: h[k] - b_bar[k, k] for k in every},
        )


@pytest.mark.parametrize(("n", "d"), [(4, 1), (4, 2), (5, 2), (5, 3)])
@pytest.mark.parametrize("damping", [0.0, 0.5, 0.65])
def test_differences_are_those_of_the_paper_in_every_iteration(n, d, damping):
    rows = unit(np.random.default_rng(n + d).normal(size=(n, 3)))
    similarity = Similarity(rows, np.ones(n, int), unit_mean, squared=True, set_penalty=0.0)
    compositions = CompositionScores(similarity, d, 2**20) if d > 1 else None
    preference = -0.4
    messages = Messages(similarity.singles, compositions, np.full(n, preference), damping)
    sets = [c for size in range(1, d + 1) for c in combinations(range(n), size)]
    scores = []
    for i in range(n):
        own = {}
        for c in sets:
            if c == (i,):
                own[c] = Fraction(preference)
            elif i in c:
                own[c] = None
            else:
                own[c] = Fraction(float(similarity.of_sets(np.array([c]))[i, 0]))
        scores.append(own)
    for delta, wishes, merits in literal_messages(scores, n, 8, Fraction(damping)):
        messages.iterate()
        for i in range(n):
            assert float(merits[i]) == pytest.approx(messages.merits[i], abs=1e-5)
            for k in range(n):
                assert float(delta[i, k]) == pytest.approx(messages.delta[i, k], abs=1e-5)
                if i != k:
                    assert float(wishes[i, k]) == pytest.approx(messages.wishes[i, k], abs=1e-5)


def two_groups():
    rows = np.concatenate([np.eye(3)[:1] + 0.1 * v for v in np.eye(3)[[0, 0, 1, 2]]])
    rows[1] += 0.05
    rows = np.concatenate([rows, rows[:, ::-1] + 0.01])
    return Similarity(rows, np.ones(8, int), unit_mean, squared=True, set_penalty=0.0)


def test_plain_affinity_propagation_finds_two_groups():
    similarity = two_groups()
    messages = Messages(similarity.singles, None, np.full(8, -1.0), 0.65)
    decision = pass_messages(messages, 200, 15)
    assert decision.converged and decision.feasible
    assert decision.n_iter < 200
    assert len(decision.exemplars) == 2
    assert decision.exemplars[0] < 4 <= decision.exemplars[1]


def test_too_few_iterations_are_not_taken_for_convergence():
    similarity = two_groups()
    messages = Messages(similarity.singles, None, np.full(8, -1.0), 0.65)
    decision = pass_messages(messages, 14, 15)
    assert decision.n_iter == 14
    assert not decision.converged
