"""Tables as pandas frames; pandas is an optional dependency."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

from .errors import LyceumError

if TYPE_CHECKING:
    import pandas


def frame_of(parquet: BinaryIO) -> pandas.DataFrame:
    """A frame of a Parquet file. Tables without rows keep their columns."""
    try:
        import pandas
        import pyarrow  # type: ignore[import-untyped]  # noqa: F401
    except ImportError as error:
        raise LyceumError("frames need pandas and pyarrow: pip install 'lyceum[pandas]'") from error
    return pandas.read_parquet(parquet)
