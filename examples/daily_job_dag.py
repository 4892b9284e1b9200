"""Airflow DAG that runs the daily job of `daily_job.py` for each cluster, half an hour after midnight (UTC).

A task fails if the job ends with an error, or with exit code 3 because a limit is passed. To run a day again, clear its
task. Copy both files into the folder of DAGs, and change the names below. A task needs `spark-submit`, Java, and the
environment of the job.
"""

from __future__ import annotations

import datetime
import shlex
from pathlib import Path

from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG

RECORDINGS = {"eu": "/data/recordings/eu", "us": "/data/recordings/us"}
"""Folder of the recording of each cluster."""

TABLES = "/data/tables"
LIMITS = ("storm=0", "unowned=0", "two_owners=0")
JOB = Path(__file__).with_name("daily_job.py")

with DAG(
    "consumer_groups",
    schedule="30 0 * * *",
    start_date=datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC),
    catchup=False,
    max_active_runs=1,  # a day is compared with the day before, so the days of a cluster run in order
    default_args={"retries": 0},  # a passed limit stays passed
):
    job, tables = shlex.quote(str(JOB)), shlex.quote(TABLES)
    for cluster, recording in RECORDINGS.items():
        limits = " ".join(f"--limit {limit}" for limit in LIMITS)
        BashOperator(
            task_id=f"daily_job_{cluster}",
            bash_command=(
                f"spark-submit {job} --day {{{{ (data_interval_end - macros.timedelta(days=1)) | ds }}}} "
                f"--cluster {cluster} --recording {shlex.quote(recording)} --tables {tables} {limits}"
            ),
        )
