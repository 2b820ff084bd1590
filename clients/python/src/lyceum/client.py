"""A server, and what it can be asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self

from . import documents
from .connection import Connection, Parameter
from .evaluation import Evaluation
from .run import Run
from .server import address_and_token


class Client:
    """A server. Use `connect` to get one.

    What has no method of its own here can be had with `get`, `pages` and `create` at the API's addresses.
    """

    def __init__(self, url: str, token: str) -> None:
        self._connection = Connection(url, token)

    @property
    def url(self) -> str:
        return self._connection.url

    def create_run(
        self,
        preset: str | None = None,
        *,
        config: Mapping[str, Any] | None = None,
        overrides: Mapping[str, Any] | None = None,
        name: str | None = None,
        experiment: str | None = None,
        tags: Sequence[str] = (),
        note: str = "",
    ) -> Run:
        """Starts a run from a preset, or from a config, with `overrides` by dotted path.

        Raises `Invalid` with every fault at once if it cannot be started.
        """
        body = _run_body(preset, config, overrides, name, experiment, tags, note)
        return Run(self._connection, self._connection.create("/api/v1/runs", body))

    def resolve(
        self,
        preset: str | None = None,
        *,
        config: Mapping[str, Any] | None = None,
        overrides: Mapping[str, Any] | None = None,
    ) -> documents.ResolvedRun:
        """The config that `create_run` would start, with every default, and what it will take; creates nothing."""
        body = _run_body(preset, config, overrides, None, None, (), "")
        resolved: documents.ResolvedRun = self._connection.create("/api/v1/runs", body, dry_run=True)
        return resolved

    def run(self, id: str) -> Run:
        """A run by its id."""
        return Run(self._connection, self.get(f"/api/v1/runs/{id}"))

    def runs(self, **filters: Parameter) -> Iterator[Run]:
        """Runs, newest first, such as `state="running"` or `recipe="azr", tag="final"`. `experiment` is an id."""
        return (Run(self._connection, run) for run in self.pages("/api/v1/runs", **filters))

    def create_evaluation(self, spec: Mapping[str, Any], *, seed: int = 0, priority: int = 0) -> Evaluation:
        """Starts an evaluation; docs/EVALUATIONS.md and docs/BENCHMARKS.md have the specs."""
        body = {"spec": dict(spec), "seed": seed, "priority": priority}
        return Evaluation(self._connection, self._connection.create("/api/v1/evaluations", body))

    def evaluation(self, id: str) -> Evaluation:
        """An evaluation by its id."""
        return Evaluation(self._connection, self.get(f"/api/v1/evaluations/{id}"))

    def evaluations(self, **filters: Parameter) -> Iterator[Evaluation]:
        """Evaluations, newest first, such as `run=run.id`."""
        return (Evaluation(self._connection, one) for one in self.pages("/api/v1/evaluations", **filters))

    def presets(self) -> list[documents.Preset]:
        presets: list[documents.Preset] = self.get("/api/v1/presets")["items"]
        return presets

    def recipes(self) -> list[documents.RecipeSummary]:
        recipes: list[documents.RecipeSummary] = self.get("/api/v1/recipes")["items"]
        return recipes

    def experiments(self, **filters: Parameter) -> Iterator[documents.Experiment]:
        return self.pages("/api/v1/experiments", **filters)

    def datasets(self, **filters: Parameter) -> Iterator[documents.Dataset]:
        return self.pages("/api/v1/datasets", **filters)

    def store_reward(self, source: str, *, allow_secrets: bool = False) -> documents.StoredReward:
        """Stores a reward of your own, the text of a Python file with `score(prompt, completion, row)`.

        Imports of datasets name it by its `digest`. Storing it again is harmless. A text that looks like a secret is refused,
        unless `allow_secrets`.
        """
        body = {"source": source, "allow_secrets": allow_secrets}
        stored: documents.StoredReward = self.create("/api/v1/rewards", body)
        return stored

    def remove_reward(self, digest: str) -> None:
        """Removes the text of a stored reward; runs and rows that name it say that it was removed."""
        self._connection.delete(f"/api/v1/rewards/{digest}")

    def workers(self, **filters: Parameter) -> Iterator[documents.Worker]:
        return self.pages("/api/v1/workers", **filters)

    def get(self, path: str, **parameters: Parameter) -> Any:
        """The document at an address such as `/api/v1/workers`."""
        return self._connection.get(path, **parameters)

    def pages(self, path: str, **parameters: Parameter) -> Iterator[Any]:
        """All items of the list at an address."""
        return self._connection.pages(path, **parameters)

    def create(self, path: str, body: dict[str, Any]) -> Any:
        """Posts a document to the address of a list; if the network fails, it is posted again, and counts once.

        Tokens, webhooks and share links are posted only once, since the server does not keep their secrets to repeat them.
        """
        return self._connection.create(path, body)

    def close(self) -> None:
        """Closes its connections."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def connect(url: str | None = None, token: str | None = None) -> Client:
    """The server at `url`, else LYCEUM_URL, else the `lyceum up` on this machine; likewise for the token."""
    return Client(*address_and_token(url, token))


def _run_body(
    preset: str | None,
    config: Mapping[str, Any] | None,
    overrides: Mapping[str, Any] | None,
    name: str | None,
    experiment: str | None,
    tags: Sequence[str],
    note: str,
) -> dict[str, Any]:
    given = {
        "preset": preset,
        "config": config,
        "overrides": overrides,
        "name": name,
        "experiment": experiment,
        "tags": list(tags) or None,
        "note": note or None,
    }
    return {field: value for field, value in given.items() if value is not None}
