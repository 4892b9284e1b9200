"""Program that writes the input tables of the pipeline from a recorded cluster: `topics`, `members` and `current`."""

from __future__ import annotations

import sys
from pathlib import Path

from assignor.spark import Fleet
from assignor.spark.session import session

HERE = Path(__file__).resolve().parent


def prepare(recording: Path, folder: Path = HERE / "input") -> None:
    """Write the tables as Parquet.

    Args:
        recording: Folder laid out like `data/fleet_webshop`.
        folder: Folder of the tables, which are overwritten.
    """
    with session(app="prepare") as spark:
        fleet = Fleet.from_recording(recording, spark=spark)
        for name in ("topics", "members", "current"):
            getattr(fleet, name).coalesce(1).write.mode("overwrite").parquet((folder / name).as_uri())


if __name__ == "__main__":
    prepare(Path(sys.argv[1]).resolve())
