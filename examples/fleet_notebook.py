"""Notebook that answers three questions about a fleet of consumer groups. Run it as a script or open it with jupytext.

Run `python examples/fleet_notebook.py` in the folder that contains `data/`. It needs the extra `spark`, and Java 17 or
newer or the extra `java`.
"""

# %% [markdown]
# # Three questions about a fleet
#
# 1. Which groups have idle members?
# 2. What if the ten slowest groups had two more members?
# 3. How many partitions would a rolling restart move, with and without instance ids?
#
# The first question is answered for a recorded cluster and for a larger synthetic fleet, the others for the synthetic
# fleet. The notebook changes nothing on a cluster.

# %%
from contextlib import ExitStack
from pathlib import Path

from assignor.spark import Fleet, Scenario, synthetic_fleet
from assignor.spark.progress import progress
from assignor.spark.session import session

RECORDING = Path("data/fleet_webshop")

# %% [markdown]
# `session` returns the active session, as on Databricks or with `SPARK_REMOTE` set, or starts a quiet local one.

# %%
opened = ExitStack()
spark = opened.enter_context(session(app="three questions"))

# %% [markdown]
# The synthetic fleet is the same in each run. The methods of `Fleet` return DataFrames. The answers have one row per
# group, which is small enough for pandas. `progress` shows the progress of Spark on a terminal. In a notebook it writes
# one line with the elapsed time after the block.

# %%
recorded = Fleet.from_recording(RECORDING, spark=spark)
synthetic = synthetic_fleet(spark, groups=400, seed=3)
fleet = Fleet(synthetic.topics.cache(), synthetic.members.cache())

with progress(spark, "generating and assigning groups", quiet=False):
    balance = fleet.balance().toPandas()
with progress(spark, "replaying the recording and assigning its groups", quiet=False):
    balance_of_recorded = recorded.balance().toPandas()

# %% [markdown]
# ## Which groups have idle members?
#
# A member is idle if it owns no partition. Range assigns each topic separately, so a group has idle members if it has
# more members than its largest topic has partitions, even if it subscribes to many topics.

# %%
for name, groups in (("recorded", balance_of_recorded), ("synthetic", balance)):
    idle = groups[groups.idle_members > 0].sort_values(["idle_members", "group_id"], ascending=[False, True])
    print(f"\n{name}: {len(groups)} groups with {groups.members.sum()} members, {len(idle)} groups with idle members")
    if len(idle):
        print(idle[["group_id", "members", "idle_members", "topics", "partitions"]].head(10).to_string(index=False))

# %% [markdown]
# ## What if the ten slowest groups had two more members?
#
# This data has no lag. Instead, the slowest groups are taken to be those whose most loaded member owns the most
# partitions. If you have lag figures, put the ids of the slowest groups into the scenario.

# %%
slowest = balance.sort_values(["most_loaded", "group_id"], ascending=[False, True]).head(10)
two_more = Scenario("two more members", frozenset(slowest.group_id)).add_members(2)
with progress(spark, "adding members", quiet=False):
    after = fleet.what_if(two_more).toPandas()

print("\ntwo more members for the ten groups whose most loaded member owns the most partitions")
compared = slowest.merge(after, on=["cluster", "group_id"], suffixes=("", "_then"))
print(
    compared[["group_id", "members", "most_loaded", "most_loaded_then", "idle_members_then", "moved"]].to_string(
        index=False
    )
)

# %% [markdown]
# ## How many partitions would a rolling restart move?
#
# All members restart, one after another. A member with an instance id returns before its session expires, so its group
# does not rebalance. A member without one leaves and joins again with a new member id, which costs two rebalances.
# `moved` counts the partitions that change their owner in all rebalances.

# %%
restarts = [
    Scenario("present_instance_ids").rolling_restart(),
    Scenario("no_instance_ids").rolling_restart(instance_ids=False),
    Scenario("all_have_instance_ids").rolling_restart(instance_ids=True),
]
with progress(spark, "restarting all members", quiet=False):
    restarted = fleet.what_if(restarts).toPandas()

print("\na rolling restart of the whole fleet")
print(restarted.groupby("scenario")[["rebalances", "moved"]].sum().reset_index().to_string(index=False))

print("\ngroups in which it moves the most partitions")
most = (
    restarted[restarted.scenario == "present_instance_ids"]
    .sort_values(["moved", "group_id"], ascending=[False, True])
    .head(5)
)
print(most[["group_id", "members", "partitions", "rebalances", "moved"]].to_string(index=False))

# %%
opened.close()
