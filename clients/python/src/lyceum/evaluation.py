"""An evaluation of frozen versions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from . import documents
from .connection import Parameter
from .execution import Execution


class Evaluation(Execution):
    """An evaluation on a server. `document` has all its fields; `refresh` renews them."""

    kind = "evaluation"
    path = "evaluations"

    @property
    def document(self) -> documents.Evaluation:
        return cast(documents.Evaluation, self._document)

    @property
    def result(self) -> dict[str, Any] | None:
        """Its result; `None` until it has completed, and for benchmarks, whose scores are `results()`."""
        return self.document.get("result")

    def results(self, **filters: Parameter) -> Iterator[documents.BenchmarkResult]:
        """The scores of a benchmark, by subject and suite."""
        return self._connection.pages(self._address("results"), **filters)

    def samples(self, **filters: Parameter) -> Iterator[documents.BenchmarkSample]:
        """The answers of a benchmark, such as `suite="seedling-io", correct=False`."""
        return self._connection.pages(self._address("samples"), **filters)
