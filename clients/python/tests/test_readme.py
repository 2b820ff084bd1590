"""What the README shows is what happens."""

from __future__ import annotations

import re
from pathlib import Path

import pytest


def test_the_quick_start_runs_as_it_stands(capsys: pytest.CaptureFixture[str]) -> None:
    readme = (Path(__file__).parent.parent / "README.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    names: dict[str, object] = {}
    exec(compile(blocks[0], "README.md", "exec"), names)
    said = capsys.readouterr().out
    assert "completed, step 3 of 3" in said
    assert "of 18 problems were attempted and never solved" in said
