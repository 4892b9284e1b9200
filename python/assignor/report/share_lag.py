"""Start offsets of share groups in the lag of a recording: they take the place of committed offsets.

The start offset of a partition is that of the first record that the group has neither acknowledged nor given up.
Records after it count as lag, including those that are acknowledged out of order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignor.cluster.folder import open_dataset, parquet_error
from assignor.dependencies import dependency
from assignor.errors import WrongTypeError
from assignor.lag import SHARE_OFFSETS

with dependency("pyarrow"):
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

if TYPE_CHECKING:
    from pathlib import Path

    from assignor.cluster.folder import Recording

NO_SHARE_OFFSETS = (
    "the lag of share groups is not known: their start offsets are in __share_group_state, not in __consumer_offsets, "
    "and there is no share_offsets.parquet"
)
"""What a report on a recording with share groups and without their start offsets lacks."""


def with_share_groups(
    recording: Recording, part: Path, committed: pa.Table, owners: pa.Table
) -> tuple[pa.Table, pa.Table]:
    """Return committed offsets and owners with the start offsets of share groups as their committed offsets.

    Share groups are left out if the recording has no start offsets: their lag is not known.

    Args:
        recording: The recording.
        part: Folder with the table `groups`.
        committed: The columns group_id, topic, partition and committed.
        owners: The columns group_id, topic, partition and member_id.

    Raises:
        IllegalArgumentError: The start offsets cannot be read as Parquet.
        WrongTypeError: A column of the start offsets is of another type.
    """
    rows = pq.read_table(part / "groups", columns=["group_id", "kind"])
    shared = rows["group_id"].filter(pc.equal(rows["kind"], "share")).combine_chunks()
    if not len(shared):
        return committed, owners
    others = committed.filter(pc.invert(pc.is_in(committed["group_id"], shared)))
    if not recording.share_offsets.exists():
        return others, owners.filter(pc.invert(pc.is_in(owners["group_id"], shared)))
    starts = _read(recording.share_offsets)
    starts = starts.filter(pc.is_in(starts["group_id"], shared)).rename_columns(committed.schema.names)
    return pa.concat_tables([others, starts]), owners


def _read(path: Path) -> pa.Table:
    try:
        return open_dataset(path).to_table(columns=SHARE_OFFSETS.names).cast(SHARE_OFFSETS).drop_null()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        described = ", ".join(f"{field.name} {field.type}" for field in SHARE_OFFSETS)
        raise WrongTypeError(f"{path} must have the columns {described}: {' '.join(str(error).split())}") from error
    except (pa.ArrowException, OSError) as error:
        raise parquet_error(path, error) from error
