"""Id of the cluster of a recording: in `cluster.json`, and in each Parquet file that `assignor record` writes.

Records of several clusters have the same partitions and offsets, so files of two clusters in one folder are an error.
Files without an id are accepted: other programs write them, and so did earlier versions.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from assignor.dependencies import dependency
from assignor.errors import IllegalArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

CLUSTER_FILE = "cluster.json"
"""Name of the file with the id of the cluster."""

CLUSTER_KEY = b"assignor.cluster_id"
"""Key of the id in the metadata of a Parquet file."""


def read_cluster_id(folder: Path) -> str | None:
    """Return the id in the cluster file of a folder; None if there is no such file.

    Raises:
        IllegalArgumentError: The file has no id.
    """
    path = folder / CLUSTER_FILE
    if not path.exists():
        return None
    try:
        return str(json.loads(path.read_text(encoding="utf-8"))["cluster_id"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise IllegalArgumentError(f'{path} must be a JSON object with "cluster_id"') from error


def check_one_cluster(folder: Path, tables: Iterable[Path]) -> None:
    """Check that the files of a recording are of one cluster, as far as they name it.

    Args:
        folder: The folder of the recording.
        tables: Existing Parquet files, and folders of Parquet files.

    Raises:
        IllegalArgumentError: Two files are of different clusters.
    """
    known = read_cluster_id(folder)
    first = folder / CLUSTER_FILE
    for path in (file for table in tables for file in _files(table)):
        found = _stored_id(path)
        if found is None:
            continue
        if not known:
            known, first = found, path
        if found != known:
            raise IllegalArgumentError(
                f"{path} is of the cluster {found}, but {first} is of the cluster {known}: put the files of each "
                "cluster into its own folder"
            )


def _files(table: Path) -> Iterator[Path]:
    if not table.is_dir():
        yield table
        return
    yield from sorted(path for path in table.rglob("*.parquet") if not path.name.startswith((".", "_")))


def _stored_id(path: Path) -> str | None:
    with dependency("pyarrow"):
        import pyarrow as pa
        import pyarrow.parquet as pq

    try:
        found = (pq.read_metadata(path).metadata or {}).get(CLUSTER_KEY)
    except (pa.ArrowException, OSError):
        return None  # the reader of the file reports what is wrong with it
    return found.decode(errors="replace") if found else None
