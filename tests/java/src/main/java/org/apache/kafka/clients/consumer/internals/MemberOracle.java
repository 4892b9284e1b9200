package org.apache.kafka.clients.consumer.internals;

import org.apache.kafka.clients.ClientResponse;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.SubscriptionPattern;
import org.apache.kafka.clients.consumer.internals.events.BackgroundEvent;
import org.apache.kafka.clients.consumer.internals.events.BackgroundEventHandler;
import org.apache.kafka.clients.consumer.internals.events.ConsumerRebalanceListenerCallbackCompletedEvent;
import org.apache.kafka.clients.consumer.internals.events.ErrorEvent;
import org.apache.kafka.clients.consumer.internals.events.PartitionsAssignedEvent;
import org.apache.kafka.clients.consumer.internals.events.PartitionsRemovedEvent;
import org.apache.kafka.clients.consumer.internals.metrics.AsyncConsumerMetrics;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.internals.ClusterResourceListeners;
import org.apache.kafka.common.message.ConsumerGroupHeartbeatRequestData;
import org.apache.kafka.common.message.ConsumerGroupHeartbeatResponseData;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.ConsumerGroupHeartbeatRequest;
import org.apache.kafka.common.requests.ConsumerGroupHeartbeatResponse;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.common.utils.Timer;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Field;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Set;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.Supplier;

/**
 * Lives a member's life with Kafka's own classes, and says after every event what they did.
 *
 * A line of input is one life: {"options": {...}, "events": [...]}; the line that answers it is the list of what
 * followed from each event. ConsumerMembershipManager, ConsumerHeartbeatRequestManager and SubscriptionState are the
 * real ones. Only the edges are made here: the clock, the coordinator's lookup, the commit, the names of topics, and
 * the application thread, which makes an assignment effective at once and ends a callback when the script says so.
 * Requests, callbacks and commits are numbered from 0 in the order in which they appear.
 */
public final class MemberOracle {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final LogContext LOG = new LogContext();
    private static final Map<Integer, ConsumerConfig> CONFIGS = new HashMap<>();

    /** What the coordinator wants the member to own, which Kafka's member keeps to itself. */
    private static final Field TARGET = target();

    /** Bounds the rounds of the network loop after one event: a member that never comes to rest is cut off. */
    private static final int ROUNDS = 12;

    private final Clock clock = new Clock();
    private final Metrics metrics = new Metrics();
    private final WatchedSubscriptions subscriptions = new WatchedSubscriptions();
    private final Coordinator coordinator = new Coordinator();
    private final Names names = new Names();
    private final HeartbeatRequestState timing;
    private final Timer pollTimer;
    private final WatchedMember member;
    private final ConsumerHeartbeatRequestManager heartbeats;
    private final boolean autoCommit;

    private final List<NetworkClientDelegate.UnsentRequest> requests = new ArrayList<>();
    private final List<BackgroundEvent> callbacks = new ArrayList<>();
    private final List<CompletableFuture<Void>> commits = new ArrayList<>();
    private final List<Long> commitDeadlines = new ArrayList<>();

    private ArrayNode effects = JSON.createArrayNode();
    private int seen;
    private Optional<Integer> committingEpoch = Optional.empty();

    private MemberOracle(JsonNode options) {
        String group = options.get("group").asText();
        int maxPollInterval = options.get("rebalance_timeout_ms").asInt();
        long backoff = options.get("retry_backoff_ms").asLong();
        long backoffMax = options.get("retry_backoff_max_ms").asLong();
        Optional<String> instance = text(options, "instance_id");
        autoCommit = options.get("auto_commit").asBoolean();
        ConsumerConfig config = CONFIGS.computeIfAbsent(maxPollInterval, MemberOracle::config);
        BackgroundEventHandler application = new Application();
        Commits commitManager = new Commits(config, group, instance);
        member = new WatchedMember(group, instance, text(options, "rack_id"), maxPollInterval,
            text(options, "server_assignor"), commitManager, application);
        member.registerStateListener(new MemberStateListener() {
            @Override
            public void onMemberEpochUpdated(Optional<Integer> epoch, String memberId) {
                committingEpoch = epoch;
            }
        });
        timing = new HeartbeatRequestState(LOG, clock, 0, backoff, backoffMax, 0);
        pollTimer = clock.timer(maxPollInterval);
        heartbeats = new ConsumerHeartbeatRequestManager(LOG, pollTimer, config, coordinator, member,
            new ConsumerHeartbeatRequestManager.HeartbeatState(subscriptions, member, maxPollInterval),
            timing, application, metrics);
    }

    public static void main(String[] args) throws Exception {
        PrintStream answers = System.out;
        System.setOut(System.err); // whatever logs must not write between the answers
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            JsonNode life = JSON.readTree(line);
            MemberOracle oracle = new MemberOracle(life.get("options"));
            ArrayNode steps = JSON.createArrayNode();
            for (JsonNode event : life.get("events")) {
                steps.add(oracle.step(event));
            }
            oracle.metrics.close();
            answers.println(JSON.writeValueAsString(steps));
            answers.flush();
        }
    }

    private ObjectNode step(JsonNode event) {
        clock.now = event.get("at").asLong();
        effects = JSON.createArrayNode();
        names.asked = false;
        guarded(() -> take(event));
        for (int number = 0; number < commits.size(); number++) {
            if (!commits.get(number).isDone() && clock.now >= commitDeadlines.get(number)) {
                commits.get(number).completeExceptionally(new TimeoutException("its deadline has passed"));
            }
        }
        int rounds = 0;
        String before;
        do {
            before = glance();
            guarded(this::networkLoop);
            rounds++;
        } while (!before.equals(glance()) && rounds < ROUNDS);

        ObjectNode step = JSON.createObjectNode();
        step.put("state", member.state().name());
        step.put("epoch", member.memberEpoch());
        step.set("assignment", partitions(subscriptions.assignedPartitions()));
        subscriptions.givenUp.retainAll(subscriptions.assignedPartitions());
        step.set("given_up", partitions(subscriptions.givenUp));
        step.put("committing_epoch", committingEpoch.orElse(null));
        step.set("effects", effects);
        step.put("metadata", names.asked);
        step.put("coordinator", coordinator.known);
        step.put("in_flight", timing.requestInFlight());
        long interval = timing.timeToNextHeartbeatMs(clock.now);
        step.put("heartbeat_in", Math.max(interval, timing.remainingBackoffMs(clock.now)));
        pollTimer.update(clock.now);
        step.put("poll_in", pollTimer.remainingMs());
        step.put("commit_at", commitDeadline());
        step.put("restless", rounds == ROUNDS);
        return step;
    }

    /** The first deadline of a commit that has not ended, or null. */
    private Long commitDeadline() {
        Long first = null;
        for (int number = 0; number < commits.size(); number++) {
            if (!commits.get(number).isDone() && (first == null || commitDeadlines.get(number) < first)) {
                first = commitDeadlines.get(number);
            }
        }
        return first;
    }

    private void networkLoop() {
        for (NetworkClientDelegate.UnsentRequest request : heartbeats.poll(clock.now).unsentRequests) {
            ObjectNode shown = effect("heartbeat");
            shown.set("request", fields(request));
            shown.set("given", given());
            requests.add(request);
        }
        member.poll(clock.now);
    }

    private String glance() {
        return member.state() + " " + member.memberEpoch() + " " + seen + " " + subscriptions.assignedPartitionsList()
            + " " + member.currentAssignment() + " " + coordinator.known;
    }

    private void take(JsonNode event) {
        switch (event.get("type").asText()) {
            case "subscribe":
                if (event.get("pattern").isNull()) {
                    Set<String> topics = new LinkedHashSet<>();
                    event.get("topics").forEach(topic -> topics.add(topic.asText()));
                    subscriptions.subscribe(topics, Optional.of(new Listener()));
                } else {
                    SubscriptionPattern pattern = new SubscriptionPattern(event.get("pattern").asText());
                    subscriptions.subscribe(pattern, Optional.of(new Listener()));
                }
                member.onSubscriptionUpdated();
                break;
            case "leave":
                member.leaveGroup().whenComplete((nothing, error) -> effect("left"));
                break;
            case "poll":
                member.maybeReconcile(true);
                member.onConsumerPoll();
                heartbeats.resetPollTimer(clock.now);
                break;
            case "tick":
                break;
            case "response":
                respond(requests.get(event.get("heartbeat").asInt()), event);
                break;
            case "transport":
                boolean retriable = event.get("retriable").asBoolean();
                requests.get(event.get("heartbeat").asInt()).handler().onFailure(clock.now,
                    retriable ? new TimeoutException("timed out") : new KafkaException("broken"));
                break;
            case "coordinator":
                coordinator.known = event.get("known").asBoolean();
                break;
            case "metadata":
                event.get("names").properties().forEach(
                    name -> names.known.put(uuid(name.getKey()), name.getValue().asText()));
                break;
            case "commit":
                end(commits.get(event.get("commit").asInt()), event.get("failed").asBoolean());
                break;
            case "callback":
                callBack(callbacks.get(event.get("callback").asInt()), event.get("failed").asBoolean());
                break;
            default:
                throw new IllegalArgumentException("no event has the type " + event.get("type"));
        }
    }

    private void respond(NetworkClientDelegate.UnsentRequest request, JsonNode event) {
        ConsumerGroupHeartbeatResponseData data = new ConsumerGroupHeartbeatResponseData()
            .setErrorCode((short) event.get("error").asInt())
            .setErrorMessage(event.get("message").isNull() ? null : event.get("message").asText())
            .setMemberId(member.memberId())
            .setMemberEpoch(event.get("epoch").asInt())
            .setHeartbeatIntervalMs(event.get("interval").asInt());
        if (!event.get("assignment").isNull()) {
            var assignment = new ConsumerGroupHeartbeatResponseData.Assignment();
            event.get("assignment").properties().forEach(topic -> {
                List<Integer> ids = new ArrayList<>();
                topic.getValue().forEach(id -> ids.add(id.asInt()));
                assignment.topicPartitions().add(new ConsumerGroupHeartbeatResponseData.TopicPartitions()
                    .setTopicId(uuid(topic.getKey())).setPartitions(ids));
            });
            data.setAssignment(assignment);
        }
        request.handler().onComplete(new ClientResponse(null, null, "0", clock.now, clock.now, false, null, null,
            new ConsumerGroupHeartbeatResponse(data)));
    }

    private void callBack(BackgroundEvent event, boolean failed) {
        ConsumerRebalanceListenerMethodName method;
        CompletableFuture<Void> future;
        if (event instanceof PartitionsAssignedEvent) {
            method = ConsumerRebalanceListenerMethodName.ON_PARTITIONS_ASSIGNED;
            future = ((PartitionsAssignedEvent) event).future();
        } else {
            method = ((PartitionsRemovedEvent) event).methodName();
            future = ((PartitionsRemovedEvent) event).future();
        }
        Optional<KafkaException> error =
            failed ? Optional.of(new KafkaException("the callback failed")) : Optional.empty();
        member.consumerRebalanceListenerCallbackCompleted(
            new ConsumerRebalanceListenerCallbackCompletedEvent(method, future, error));
    }

    private void guarded(Runnable part) {
        try {
            part.run();
        } catch (RuntimeException error) {
            effect("threw").put("class", error.getClass().getSimpleName()).put("message", error.getMessage());
        }
    }

    private ObjectNode effect(String kind) {
        seen++;
        return effects.addObject().put("kind", kind);
    }

    private static void end(CompletableFuture<Void> future, boolean failed) {
        if (failed) {
            future.completeExceptionally(new KafkaException("the commit failed"));
        } else {
            future.complete(null);
        }
    }

    /** What a request says, with null for what it leaves out; the id that the member made for itself is no news. */
    private ObjectNode fields(NetworkClientDelegate.UnsentRequest request) {
        ConsumerGroupHeartbeatRequestData data =
            ((ConsumerGroupHeartbeatRequest) request.requestBuilder().build()).data();
        ObjectNode fields = JSON.createObjectNode();
        fields.put("group_id", data.groupId());
        fields.put("own_member_id", data.memberId().equals(member.memberId()));
        fields.put("member_epoch", data.memberEpoch());
        fields.put("instance_id", data.instanceId());
        fields.put("rack_id", data.rackId());
        fields.put("rebalance_timeout_ms", data.rebalanceTimeoutMs());
        fields.set("subscribed_topic_names", data.subscribedTopicNames() == null ? null
            : JSON.valueToTree(data.subscribedTopicNames().stream().sorted().toArray()));
        fields.put("subscribed_topic_regex", data.subscribedTopicRegex());
        fields.put("server_assignor", data.serverAssignor());
        if (data.topicPartitions() == null) {
            fields.putNull("topic_partitions");
        } else {
            SortedMap<String, Object> owned = new TreeMap<>();
            data.topicPartitions().forEach(
                topic -> owned.put(hex(topic.topicId()), topic.partitions().stream().sorted().toArray()));
            fields.set("topic_partitions", JSON.valueToTree(owned));
        }
        return fields;
    }

    /** What the application has, what the coordinator wants, and what is being taken. */
    private ObjectNode given() {
        SortedMap<String, SortedSet<Integer>> all = new TreeMap<>();
        List<Map<Uuid, SortedSet<Integer>>> parts = new ArrayList<>();
        parts.add(member.taken);
        parts.add(member.target());
        if (member.state() == MemberState.RECONCILING) {
            parts.add(member.taking);
        }
        for (Map<Uuid, SortedSet<Integer>> part : parts) {
            part.forEach((id, ids) -> all.computeIfAbsent(hex(id), topic -> new TreeSet<>()).addAll(ids));
        }
        return JSON.valueToTree(all);
    }

    private static ArrayNode partitions(Collection<TopicPartition> partitions) {
        ArrayNode sorted = JSON.createArrayNode();
        partitions.stream().sorted(AbstractMembershipManager.TOPIC_PARTITION_COMPARATOR)
            .forEach(partition -> sorted.addArray().add(partition.topic()).add(partition.partition()));
        return sorted;
    }

    private static Field target() {
        try {
            Field field = AbstractMembershipManager.class.getDeclaredField("currentTargetAssignment");
            field.setAccessible(true);
            return field;
        } catch (NoSuchFieldException error) {
            throw new ExceptionInInitializerError(error);
        }
    }

    private static Uuid uuid(String text) {
        java.util.UUID id = java.util.UUID.fromString(text);
        return new Uuid(id.getMostSignificantBits(), id.getLeastSignificantBits());
    }

    private static String hex(Uuid id) {
        return new java.util.UUID(id.getMostSignificantBits(), id.getLeastSignificantBits()).toString();
    }

    private static Optional<String> text(JsonNode options, String name) {
        return options.get(name).isNull() ? Optional.empty() : Optional.of(options.get(name).asText());
    }

    private static ConsumerConfig config(int maxPollInterval) {
        Map<String, Object> settings = new LinkedHashMap<>();
        settings.put("bootstrap.servers", "localhost:9092");
        settings.put("group.id", "group");
        settings.put("group.protocol", "consumer");
        settings.put("key.deserializer", ByteArrayDeserializer.class);
        settings.put("value.deserializer", ByteArrayDeserializer.class);
        settings.put("max.poll.interval.ms", maxPollInterval);
        return new ConsumerConfig(settings);
    }

    /** The script's time. */
    private static final class Clock implements Time {
        private long now;

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

    /** The lookup of the coordinator, which is known or not as the script says. */
    private static final class Coordinator extends CoordinatorRequestManager {
        private boolean known;

        private Coordinator() {
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

    /** The names of topics that the script has told, and whether an update was asked for. */
    private final class Names extends ConsumerMetadata {
        private final Map<Uuid, String> known = new HashMap<>();
        private boolean asked;

        private Names() {
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

    /** Commits that end when the script says so, or at their deadline. */
    private final class Commits extends CommitRequestManager {
        private Commits(ConsumerConfig config, String group, Optional<String> instance) {
            super(clock, LOG, subscriptions, config, coordinator, new OffsetCommitCallbackInvoker(null), group,
                instance, 100, 1000, OptionalDouble.of(0), metrics, names);
        }

        @Override
        public CompletableFuture<Void> maybeAutoCommitSyncBeforeRebalance(long deadline) {
            if (!autoCommit) {
                return CompletableFuture.completedFuture(null);
            }
            CompletableFuture<Void> commit = new CompletableFuture<>();
            effect("commit").put("deadline", deadline);
            commits.add(commit);
            commitDeadlines.add(deadline);
            return commit;
        }

        @Override
        public void resetAutoCommitTimer() {
        }
    }

    /** The application thread: makes an assignment effective at once; its callbacks are left to the script. */
    private final class Application extends BackgroundEventHandler {
        private Application() {
            super(new LinkedBlockingQueue<>(), clock, new AsyncConsumerMetrics(metrics, "consumer-metrics"));
        }

        @Override
        public void add(BackgroundEvent event) {
            if (event instanceof ErrorEvent) {
                RuntimeException error = ((ErrorEvent) event).error();
                Errors known = Errors.forException(error);
                effect("error").put("code", known.code()).put("name", known.name())
                    .put("class", error.getClass().getSimpleName());
            } else if (event instanceof PartitionsRemovedEvent) {
                PartitionsRemovedEvent removed = (PartitionsRemovedEvent) event;
                boolean lost = removed.methodName() == ConsumerRebalanceListenerMethodName.ON_PARTITIONS_LOST;
                effect(lost ? "lost" : "revoked").set("partitions", partitions(removed.partitions()));
                callbacks.add(event);
            } else if (event instanceof PartitionsAssignedEvent) {
                PartitionsAssignedEvent assigned = (PartitionsAssignedEvent) event;
                ObjectNode shown = effect("assigned");
                shown.set("partitions", partitions(assigned.addedPartitions()));
                shown.set("assignment", partitions(assigned.assignedPartitions()));
                callbacks.add(event);
                member.taken = member.taking;
                member.applyAssignment(assigned.assignedPartitions(), assigned.addedPartitions());
            } else {
                effect("threw").put("class", event.getClass().getSimpleName()).put("message", "not expected");
            }
        }
    }

    /** Kafka's own, and which of its partitions nothing is fetched from any more, as they are about to be given up. */
    private static final class WatchedSubscriptions extends SubscriptionState {
        private final Set<TopicPartition> givenUp = new LinkedHashSet<>();

        private WatchedSubscriptions() {
            super(LOG, AutoOffsetResetStrategy.EARLIEST);
        }

        @Override
        public synchronized void markPendingRevocation(Set<TopicPartition> partitions) {
            super.markPendingRevocation(partitions);
            givenUp.addAll(partitions);
        }
    }

    /**
     * Kafka's member. Noted is what nothing else shows: a transition that its table refuses, since whoever asked for it
     * may swallow the error; that what is acknowledged already is about to be acknowledged again; and which partitions
     * it is taking, or the application has, in this life.
     */
    private final class WatchedMember extends ConsumerMembershipManager {
        private LocalAssignment acknowledged = LocalAssignment.NONE;
        private Map<Uuid, SortedSet<Integer>> taking = Map.of();
        private Map<Uuid, SortedSet<Integer>> taken = Map.of();

        private WatchedMember(String group, Optional<String> instance, Optional<String> rack, int rebalanceTimeout,
                              Optional<String> assignor, CommitRequestManager commits,
                              BackgroundEventHandler application) {
            super(group, instance, rack, rebalanceTimeout, assignor, MemberOracle.this.subscriptions, commits, names,
                LOG, application, clock, metrics, MemberOracle.this.autoCommit);
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
                    effect("again");
                }
                acknowledged = currentAssignment();
            }
            try {
                super.transitionTo(next);
            } catch (IllegalStateException error) {
                effect("refused").put("from", before.name()).put("to", next.name());
                throw error;
            }
        }
    }

    /** A listener has to be there for callbacks to be asked for; the script answers for it. */
    private static final class Listener implements ConsumerRebalanceListener {
        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
        }

        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
        }
    }
}
