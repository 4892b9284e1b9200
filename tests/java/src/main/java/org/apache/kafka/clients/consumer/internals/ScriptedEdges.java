package org.apache.kafka.clients.consumer.internals;

import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.internals.ClusterResourceListeners;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.common.utils.Time;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;

/** Scripted environment of Kafka's member: clock, coordinator lookup, topic names, commits and listener. */
final class ScriptedEdges {
    static final LogContext LOG = new LogContext();

    private ScriptedEdges() {
    }

    /** Clock that the script sets. */
    static final class Clock implements Time {
        long now;

        @Override
        public long milliseconds() {
            return now;
        }

        @Override
        public long nanoseconds() {
            return now * 1_000_000;
        }

        @Override
        public void sleep(long ms) {
            throw new UnsupportedOperationException("nothing here waits");
        }

        @Override
        public void waitObject(Object object, Supplier<Boolean> condition, long deadline) {
            throw new UnsupportedOperationException("nothing here waits");
        }
    }

    /** Lookup of the coordinator; the script sets whether it is known. */
    static final class Coordinator extends CoordinatorRequestManager {
        boolean known;

        Coordinator() {
            super(LOG, 100, 1000, "group");
        }

        @Override
        public Optional<Node> coordinator() {
            return known ? Optional.of(new Node(1, "localhost", 9092)) : Optional.empty();
        }

        @Override
        public void markCoordinatorUnknown(String cause, long now) {
            known = false;
        }
    }

    /** Topic names that the script has set, and a flag for requested updates. */
    static final class Names extends ConsumerMetadata {
        final Map<Uuid, String> known = new HashMap<>();
        boolean asked;

        Names(SubscriptionState subscriptions) {
            super(100, 1000, 60_000, true, false, subscriptions, LOG, new ClusterResourceListeners());
        }

        @Override
        public Map<Uuid, String> topicNames() {
            return known;
        }

        @Override
        public synchronized int requestUpdate(boolean resetEquivalentResponseBackoff) {
            asked = true;
            return 0;
        }
    }

    /** Commits that the script completes, or that fail at their deadline. */
    static final class Commits extends CommitRequestManager {
        private final EffectLog effects;
        private final boolean enabled;
        private final List<CompletableFuture<Void>> futures = new ArrayList<>();
        private final List<Long> deadlines = new ArrayList<>();

        Commits(Clock clock, SubscriptionState subscriptions, ConsumerConfig config, Coordinator coordinator,
                String group, Optional<String> instance, Metrics metrics, Names names, EffectLog effects,
                boolean enabled) {
            super(clock, LOG, subscriptions, config, coordinator, new OffsetCommitCallbackInvoker(null), group,
                instance, 100, 1000, OptionalDouble.of(0), metrics, names);
            this.effects = effects;
            this.enabled = enabled;
        }

        @Override
        public CompletableFuture<Void> maybeAutoCommitSyncBeforeRebalance(long deadline) {
            if (!enabled) {
                return CompletableFuture.completedFuture(null);
            }
            CompletableFuture<Void> commit = new CompletableFuture<>();
            effects.add("commit").put("deadline", deadline);
            futures.add(commit);
            deadlines.add(deadline);
            return commit;
        }

        @Override
        public void resetAutoCommitTimer() {
        }

        CompletableFuture<Void> future(int number) {
            return futures.get(number);
        }

        /** Fail the commits whose deadline has passed. */
        void expire(long now) {
            for (int number = 0; number < futures.size(); number++) {
                if (!futures.get(number).isDone() && now >= deadlines.get(number)) {
                    futures.get(number).completeExceptionally(new TimeoutException("its deadline has passed"));
                }
            }
        }

        /** Return the first deadline of a pending commit, or null. */
        Long deadline() {
            Long first = null;
            for (int number = 0; number < futures.size(); number++) {
                if (!futures.get(number).isDone() && (first == null || deadlines.get(number) < first)) {
                    first = deadlines.get(number);
                }
            }
            return first;
        }
    }

    /** Listener without behaviour: callbacks need one, and the script completes them. */
    static final class Listener implements ConsumerRebalanceListener {
        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
        }

        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
        }
    }
}
