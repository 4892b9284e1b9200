"""Program that reads `__consumer_offsets` through Spark's Kafka connector, in a session with the connector's jars.

python connector_program.py ADDRESS PARTITIONS JARS ANSWERS: write the rows of two batches and of a stream to ANSWERS.
"""

from __future__ import annotations

import sys
from pathlib import Path

from assignor.spark import session as session_module
from assignor.spark.sources import kafka_connector


def main() -> None:
    """Write the rows of two batches and of a stream."""
    address, count, jars, answers = sys.argv[1:]
    partitions = int(count)
    settings = session_module._settings
    paths = ",".join(map(str, sorted(Path(jars).glob("*.jar"))))
    session_module._settings = lambda *given: {**settings(*given), "spark.jars": paths}
    with session_module.session(cores=2, memory="1g") as spark:
        for isolation in ("read_committed", "read_uncommitted"):
            frame = kafka_connector(spark, address, cluster="test", partitions=partitions, isolation=isolation)
            frame.write.parquet(f"{answers}/{isolation}")
        stream = kafka_connector(spark, address, cluster="test", partitions=partitions, stream=True)
        writer = stream.writeStream.format("parquet").option("checkpointLocation", f"{answers}/checkpoint")
        query = writer.trigger(availableNow=True).start(f"{answers}/stream")
        query.awaitTermination()


if __name__ == "__main__":
    main()
