package org.apache.kafka.clients.consumer.internals;

import org.apache.kafka.clients.consumer.internals.events.BackgroundEventHandler;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.utils.Time;

import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeSet;

/**
 * Kafka's member that logs two internal events: a transition that its table rejects, because callers may swallow the error,
 * and a repeated acknowledgement of an assignment. It also keeps the partitions that it is reconciling and those that the
 * application owns, until it joins again, leaves or is fenced.
 */
final class WatchedMember extends ConsumerMembershipManager {
    /** Target assignment of the coordinator, which is private in Kafka's member. */
    private static final Field TARGET = targetField();

    private final EffectLog effects;
    private final ScriptedEdges.Names names;
    private LocalAssignment acknowledged = LocalAssignment.NONE;
    private Map<Uuid, SortedSet<Integer>> taking = Map.of();
    private Map<Uuid, SortedSet<Integer>> taken = Map.of();

    WatchedMember(String group, Optional<String> instance, Optional<String> rack, int rebalanceTimeout,
                  Optional<String> assignor, SubscriptionState subscriptions, CommitRequestManager commits,
                  ScriptedEdges.Names names, BackgroundEventHandler application, Time time, Metrics metrics,
                  boolean autoCommit, EffectLog effects) {
        super(group, instance, rack, rebalanceTimeout, assignor, subscriptions, commits, names, ScriptedEdges.LOG,
            application, time, metrics, autoCommit);
        this.effects = effects;
        this.names = names;
    }

    @Override
    public void applyAssignment(Set<TopicPartition> assigned, SortedSet<TopicPartition> added) {
        taken = taking;
        super.applyAssignment(assigned, added);
    }

    /** Return the partitions that a heartbeat may report: owned, targeted or being reconciled. */
    Map<Uuid, SortedSet<Integer>> claimable() {
        List<Map<Uuid, SortedSet<Integer>>> parts = new ArrayList<>(List.of(taken, target()));
        if (state() == MemberState.RECONCILING) {
            parts.add(taking);
        }
        Map<Uuid, SortedSet<Integer>> all = new HashMap<>();
        for (Map<Uuid, SortedSet<Integer>> part : parts) {
            part.forEach((id, ids) -> all.computeIfAbsent(id, topic -> new TreeSet<>()).addAll(ids));
        }
        return all;
    }

    private Map<Uuid, SortedSet<Integer>> target() {
        try {
            return ((LocalAssignment) TARGET.get(this)).partitions;
        } catch (IllegalAccessException error) {
            throw new IllegalStateException(error);
        }
    }

    @Override
    void markReconciliationInProgress() {
        super.markReconciliationInProgress();
        taking = new HashMap<>(target());
        taking.keySet().retainAll(names.known.keySet());
    }

    @Override
    void markReconciliationCompleted() {
        super.markReconciliationCompleted();
        taking = Map.of();
    }

    @Override
    protected void transitionTo(MemberState next) {
        MemberState before = state();
        if (next == MemberState.JOINING || next == MemberState.FENCED || next == MemberState.LEAVING) {
            taking = Map.of();
            taken = Map.of();
        }
        if (next == MemberState.ACKNOWLEDGING) {
            if (!reconciliationInProgress() && currentAssignment().equals(acknowledged)) {
                effects.add("again");
            }
            acknowledged = currentAssignment();
        }
        try {
            super.transitionTo(next);
        } catch (IllegalStateException error) {
            effects.add("refused").put("from", before.name()).put("to", next.name());
            throw error;
        }
    }

    private static Field targetField() {
        try {
            Field field = AbstractMembershipManager.class.getDeclaredField("currentTargetAssignment");
            field.setAccessible(true);
            return field;
        } catch (NoSuchFieldException error) {
            throw new ExceptionInInitializerError(error);
        }
    }
}
