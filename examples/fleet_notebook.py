"""A notebook that asks a fleet of consumer groups three questions; run it as a script, or open it with jupytext.

    python examples/fleet_notebook.py

from the folder that has `data/`. It needs `pip install 'assignor[spark]'` and a Java, or `assignor[spark,java]`.
"""

# %% [markdown]
# # Three questions to a fleet
#
# 1. Which groups have idle members?
# 2. What if the ten slowest groups had two members more?
# 3. What would a rolling restart move, with and without instance ids?
#
# The first question goes to a recorded cluster and to a fleet that is made up; the others go to the one made up, which
# is larger. Nothing on any cluster is changed.

# %%
from contextlib import ExitStack
from pathlib import Path

from assignor.spark import Fleet, Scenario, synthetic_fleet
from assignor.spark.progress import progress
from assignor.spark.session import session

RECORDING = Path("data/fleet_webshop")

# %% [markdown]
# `session` gives the session that there is, as on Databricks or with `SPARK_REMOTE` set, else a quiet local one.

# %%
opened = ExitStack()
spark = opened.enter_context(session(app="three questions"))

# %% [markdown]
# The fleet made up is the same each time. What `Fleet` gives is a DataFrame as any other; a row per group is little, so
# the answers go to pandas. While Spark works a line shows how far it is; a notebook shows one at the end.

# %%
recorded = Fleet.from_recording(RECORDING, spark=spark)
made_up = synthetic_fleet(spark, groups=400, seed=3)
fleet = Fleet(made_up.topics.cache(), made_up.members.cache())

with progress(spark, "making up groups and assigning them", quiet=False):
    balance = fleet.balance().toPandas()
with progress(spark, "replaying the recording and assigning its groups", quiet=False):
    balance_of_recorded = recorded.balance().toPandas()

# %% [markdown]
# ## Which groups have idle members?
#
# A member is idle if it gets no partition. That is as range has it: every topic is laid out on its own, so a group with
# more members than its largest topic has partitions has idle ones, however many topics there are.

# %%
for name, groups in (("recorded", balance_of_recorded), ("made up", balance)):
    idle = groups[groups.idle_members > 0].sort_values(["idle_members", "group_id"], ascending=[False, True])
    print(f"\n{name}: {len(groups)} groups with {groups.members.sum()} members, {len(idle)} groups with idle members")
    if len(idle):
        print(idle[["group_id", "members", "idle_members", "topics", "partitions"]].head(10).to_string(index=False))

# %% [markdown]
# ## What if the ten slowest groups had two members more?
#
# Which group is slow only its lag could tell, and there is no lag in this data. What assignments do tell is how many
# partitions the most loaded member of a group has: the ten groups where that is the most stand for the slowest here.
# Whoever has figures of lag puts the ids of those groups into the scenario instead.

# %%
slowest = balance.sort_values(["most_loaded", "group_id"], ascending=[False, True]).head(10)
two_more = Scenario("two more members", frozenset(slowest.group_id)).add_members(2)
with progress(spark, "adding members", quiet=False):
    after = fleet.what_if(two_more).toPandas()

print("\ntwo members more for the ten groups whose most loaded member has the most partitions")
compared = slowest.merge(after, on=["cluster", "group_id"], suffixes=("", "_then"))
print(
    compared[["group_id", "members", "most_loaded", "most_loaded_then", "idle_members_then", "moved"]].to_string(
        index=False
    )
)

# %% [markdown]
# ## What would a rolling restart move?
#
# Every member restarts, one after another. One with an instance id is back before its session ends, and nothing
# happens. One without leaves, which is a rebalance, and joins under another id, which is one more; `moved` counts the
# partitions that go from one member to another over all of these.

# %%
restarts = [
    Scenario("as_it_is").rolling_restart(),
    Scenario("nobody_has_an_instance_id").rolling_restart(instance_ids=False),
    Scenario("all_have_instance_ids").rolling_restart(instance_ids=True),
]
with progress(spark, "restarting everybody", quiet=False):
    restarted = fleet.what_if(restarts).toPandas()

print("\na rolling restart of the whole fleet")
print(restarted.groupby("scenario")[["rebalances", "moved"]].sum().reset_index().to_string(index=False))

print("\nwhere it moves the most as it is")
most = restarted[restarted.scenario == "as_it_is"].sort_values(["moved", "group_id"], ascending=[False, True]).head(5)
print(most[["group_id", "members", "partitions", "rebalances", "moved"]].to_string(index=False))

# %%
opened.close()
