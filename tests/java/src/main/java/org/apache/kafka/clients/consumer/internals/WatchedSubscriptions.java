package org.apache.kafka.clients.consumer.internals;

import org.apache.kafka.common.TopicPartition;

import java.util.LinkedHashSet;
import java.util.Set;

/** Kafka's SubscriptionState that logs partitions whose fetching stops because they are about to be revoked. */
final class WatchedSubscriptions extends SubscriptionState {
    final Set<TopicPartition> givenUp = new LinkedHashSet<>();

    WatchedSubscriptions() {
        super(ScriptedEdges.LOG, AutoOffsetResetStrategy.EARLIEST);
    }

    @Override
    public synchronized void markPendingRevocation(Set<TopicPartition> partitions) {
        super.markPendingRevocation(partitions);
        givenUp.addAll(partitions);
    }
}
