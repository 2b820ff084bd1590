"""Evaluations."""

from __future__ import annotations

import pytest

import lyceum


def test_an_evaluation_is_started_found_and_cancelled(lab: lyceum.Client, filled: lyceum.Run) -> None:
    spec = {"type": "benchmark", "suites": ["gsm8k"], "run": filled.id}
    evaluation = lab.create_evaluation(spec, seed=3)
    assert evaluation.document["spec"]["type"] == "benchmark"
    assert evaluation.id in [one.id for one in lab.evaluations(run=filled.id)]
    assert filled.results() == [], "nothing has been measured yet"
    assert (evaluation.result, evaluation.cancel().state) == (None, "cancelled")


def test_a_spec_that_is_not_valid_names_the_field(lab: lyceum.Client) -> None:
    with pytest.raises(lyceum.Invalid) as raised:
        lab.create_evaluation({"type": "frozen"})
    assert any(fault.place.startswith("/spec") for fault in raised.value.faults), str(raised.value)
