"""Rows as pandas frames, and files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import lyceum


def test_metrics_have_a_column_for_each_metric(filled: lyceum.Run) -> None:
    metrics = filled.metrics()
    assert {"step", "member_id", "reward", "solve_rate"} <= set(metrics.columns)
    of_run = metrics[metrics["member_id"].isna()]
    assert of_run["reward"].tolist() == [0.5] and of_run["solve_rate"].isna().all()
    assert metrics[metrics["member_id"].notna()]["reward"].tolist() == [0.25]


def test_problems_and_attempts_are_whole(filled: lyceum.Run) -> None:
    problems, attempts = filled.problems(), filled.attempts()
    assert (len(problems), len(attempts)) == (6, 12)
    assert set(attempts["problem_id"]) == set(problems["id"])
    assert problems["created_at"].dt.tz is not None, "times are times, with a zone"
    assert problems["valid"].dtype == bool


def test_a_table_without_rows_keeps_its_columns(filled: lyceum.Run) -> None:
    deaths = filled.table("deaths")
    assert len(deaths) == 0 and "member" in deaths.columns


def test_problems_that_match(filled: lyceum.Run) -> None:
    frame = filled.problems()
    found = {problem["id"] for problem in filled.find_problems(valid=True, limit=1)}
    assert found == set(frame[frame["valid"]]["id"]) and 0 < len(found) < 6


def test_an_export_is_a_folder_of_tables(filled: lyceum.Run, tmp_path: Path) -> None:
    folder = filled.export(tmp_path / "new", format="jsonl")
    lines = (folder / "data/attempts/train-00000-of-00001.jsonl").read_text().splitlines()
    assert len(lines) == 12 and all(json.loads(line)["problem_id"] for line in lines)
    with pytest.raises(lyceum.LyceumError, match="exists"):
        filled.export(tmp_path / "new", format="jsonl")
    assert [path.name for path in (tmp_path / "new").iterdir()] == [folder.name], "nothing partial is left"


def test_weights_that_are_gone_are_refused(filled: lyceum.Run, tmp_path: Path) -> None:
    member = next(filled.members())
    with pytest.raises(lyceum.NotFound):
        filled.adapter(member["id"], tmp_path, version=99)
    assert list(tmp_path.iterdir()) == []
