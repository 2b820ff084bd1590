"""A run: its state, its rows as pandas frames, its files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, cast

from . import documents
from .connection import Parameter
from .execution import Execution
from .frames import frame_of

if TYPE_CHECKING:
    import pandas

ExportFormat = Literal["parquet", "jsonl", "tensorboard", "wandb"]
Table = Literal[
    "problems",
    "attempts",
    "matchups",
    "metrics",
    "members",
    "ratings",
    "births",
    "geometry",
    "geometry_pairs",
    "deaths",
    "evaluations",
    "benchmarks",
    "row_answers",
    "samplers",
    "held_out",
    "results",
]


class Run(Execution):
    """A run on a server. `document` has all its fields; `refresh` renews them."""

    kind = "run"
    path = "runs"

    @property
    def document(self) -> documents.RunDetail:
        """The run with its resolved config. Runs from a list are asked for in full when this is first read."""
        if "config" not in self._document:
            self.refresh()
        return cast(documents.RunDetail, self._document)

    @property
    def name(self) -> str:
        return str(self._document["name"])

    @property
    def config(self) -> dict[str, Any]:
        """The resolved config, with every default."""
        return self.document["config"]

    @property
    def page(self) -> str:
        """The address of its page."""
        return f"{self._connection.url}/runs/{self.id}"

    def pause(self) -> Self:
        """No further work starts; what is in progress ends."""
        self._connection.act(self._address("pause"))
        return self.refresh()

    def resume(self) -> Self:
        self._connection.act(self._address("resume"))
        return self.refresh()

    def fork(self, step: int, overrides: Mapping[str, Any] | None = None, name: str | None = None) -> Run:
        """A new run that shares this run's past before `step`, with `overrides` by dotted path."""
        body: dict[str, Any] = {"step": step, "overrides": dict(overrides or {})}
        if name is not None:
            body["name"] = name
        return Run(self._connection, self._connection.create(self._address("fork"), body))

    def update(self, **changes: Any) -> Self:
        """Changes `name`, `note`, `tags`, `experiment`, `priority` or `max_concurrent`."""
        self._connection.patch(self._address(), changes)
        return self.refresh()

    def delete(self) -> None:
        """Deletes an ended run and all its rows."""
        self._connection.delete(self._address())

    def metrics(self) -> pandas.DataFrame:
        """A row for each step, with `member_id` empty, and one for each member in it; a column for each metric."""
        return self.table("metrics")

    def problems(self) -> pandas.DataFrame:
        """Every problem that was proposed, in full."""
        return self.table("problems")

    def attempts(self) -> pandas.DataFrame:
        """Every answer with verdict and reward."""
        return self.table("attempts")

    def table(self, name: Table) -> pandas.DataFrame:
        """A whole table of the run, as its export has it."""
        with self._connection.download(f"/runs/{self.id}/export/{name}.parquet") as file:
            return frame_of(file)

    def find_problems(self, **filters: Parameter) -> Iterator[documents.Problem]:
        """Problems that match, such as `valid=True, solve_rate_max=0, full=True`; filters as in the API."""
        return self._connection.pages(self._address("problems"), **filters)

    def members(self, **filters: Parameter) -> Iterator[documents.Member]:
        """Members, such as `alive=True, role="student"`."""
        return self._connection.pages(self._address("members"), **filters)

    def geometry(self, step: int | None = None) -> documents.Geometry:
        """Norms and effective ranks of members' updates, and the cosines of those of a step, by default the newest."""
        return cast(documents.Geometry, self._connection.get(self._address("geometry"), step=step))

    def list_steps(self, **filters: Parameter) -> Iterator[documents.Step]:
        return self._connection.pages(self._address("steps"), **filters)

    def benchmarks(self, **filters: Parameter) -> Iterator[documents.ResultWithCurve]:
        """Results of members on suites."""
        return self._connection.pages(self._address("benchmarks"), **filters)

    def results(self) -> list[documents.RunResult]:
        """Its results on every suite after every measured step, with the difference from the base on the same rows."""
        items: list[documents.RunResult] = self._connection.get(self._address("results"))["items"]
        return items

    def export(self, into: str | Path, format: ExportFormat = "parquet") -> Path:
        """Downloads the run into a new folder below `into` and returns it.

        `parquet` and `jsonl` have all tables, and Hugging Face's `datasets` loads them; `tensorboard` and `wandb` have the
        curves.
        """
        return self._connection.unpack(f"/runs/{self.id}/export.{format}.zip", into)

    def adapter(self, member: str, into: str | Path, version: int | None = None) -> Path:
        """Downloads a member's weights, by default the newest, as a PEFT folder below `into`; returns it.

        `member` is an id. `members()` lists them.
        """
        return self._connection.unpack(f"/runs/{self.id}/members/{member}/adapter.zip", into, version=version)
