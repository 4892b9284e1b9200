package org.apache.kafka.clients.consumer.internals;

import org.apache.kafka.common.TopicPartition;

import java.util.LinkedHashSet;
import java.util.Set;

/** Kafka's own, and which of its partitions nothing is fetched from any more, as they are about to be given up. */
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
