package org.apache.kafka.clients.consumer.internals;

import org.apache.kafka.clients.ClientResponse;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.SubscriptionPattern;
import org.apache.kafka.clients.consumer.internals.events.BackgroundEvent;
import org.apache.kafka.clients.consumer.internals.events.BackgroundEventHandler;
import org.apache.kafka.clients.consumer.internals.events.ConsumerRebalanceListenerCallbackCompletedEvent;
import org.apache.kafka.clients.consumer.internals.events.ErrorEvent;
import org.apache.kafka.clients.consumer.internals.events.PartitionsAssignedEvent;
import org.apache.kafka.clients.consumer.internals.events.PartitionsRemovedEvent;
import org.apache.kafka.clients.consumer.internals.metrics.AsyncConsumerMetrics;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.message.ConsumerGroupHeartbeatRequestData;
import org.apache.kafka.common.message.ConsumerGroupHeartbeatResponseData;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.ConsumerGroupHeartbeatRequest;
import org.apache.kafka.common.requests.ConsumerGroupHeartbeatResponse;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.utils.Timer;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.BooleanNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;

/**
 * Program that runs a member with Kafka's own classes, and reports the effects of each event.
 *
 * A line of input is {"options": {...}}, which starts a new member and gets the response true, or an event, which gets its
 * effects as the response. ConsumerMembershipManager, ConsumerHeartbeatRequestManager and SubscriptionState are Kafka's.
 * Only their environment is scripted: the clock, the lookup of the coordinator, commits, topic names, and the application
 * thread, which makes an assignment effective immediately and completes a callback when the script says so.
 * Requests, callbacks and commits are numbered from 0 in the order in which they appear.
 */
public final class MemberOracle {
    private static final ObjectMapper JSON = EffectLog.JSON;
    private static final Map<Integer, ConsumerConfig> CONFIGS = new HashMap<>();

    /** Largest number of rounds of the network loop after one event, for a member that never becomes idle. */
    private static final int ROUNDS = 12;

    private final EffectLog effects = new EffectLog();
    private final ScriptedEdges.Clock clock = new ScriptedEdges.Clock();
    private final ScriptedEdges.Coordinator coordinator = new ScriptedEdges.Coordinator();
    private final WatchedSubscriptions subscriptions = new WatchedSubscriptions();
    private final ScriptedEdges.Names names = new ScriptedEdges.Names(subscriptions);
    private final ScriptedEdges.Commits commits;
    private final Metrics metrics = new Metrics();
    private final HeartbeatRequestState timing;
    private final Timer pollTimer;
    private final WatchedMember member;
    private final ConsumerHeartbeatRequestManager heartbeats;

    private final List<NetworkClientDelegate.UnsentRequest> requests = new ArrayList<>();
    private final List<BackgroundEvent> callbacks = new ArrayList<>();
    private Optional<Integer> committingEpoch = Optional.empty();

    private MemberOracle(JsonNode options) {
        String group = options.get("group").asText();
        int maxPollInterval = options.get("rebalance_timeout_ms").asInt();
        long backoff = options.get("retry_backoff_ms").asLong();
        long backoffMax = options.get("retry_backoff_max_ms").asLong();
        Optional<String> instance = text(options, "instance_id");
        boolean autoCommit = options.get("auto_commit").asBoolean();
        ConsumerConfig config = CONFIGS.computeIfAbsent(maxPollInterval, MemberOracle::config);
        BackgroundEventHandler application = new Application();
        commits = new ScriptedEdges.Commits(clock, subscriptions, config, coordinator, group, instance, metrics, names,
            effects, autoCommit);
        member = new WatchedMember(group, instance, text(options, "rack_id"), maxPollInterval,
            text(options, "server_assignor"), subscriptions, commits, names, application, clock, metrics, autoCommit,
            effects);
        member.registerStateListener(new MemberStateListener() {
            @Override
            public void onMemberEpochUpdated(Optional<Integer> epoch, String memberId) {
                committingEpoch = epoch;
            }
        });
        timing = new HeartbeatRequestState(ScriptedEdges.LOG, clock, 0, backoff, backoffMax, 0);
        pollTimer = clock.timer(maxPollInterval);
        heartbeats = new ConsumerHeartbeatRequestManager(ScriptedEdges.LOG, pollTimer, config, coordinator, member,
            new ConsumerHeartbeatRequestManager.HeartbeatState(subscriptions, member, maxPollInterval),
            timing, application, metrics);
    }

    public static void main(String[] args) throws Exception {
        PrintStream answers = System.out;
        System.setOut(System.err); // log output must not be written between the answers
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        MemberOracle oracle = null;
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            JsonNode question = JSON.readTree(line);
            JsonNode answer = BooleanNode.TRUE;
            if (question.has("options")) {
                if (oracle != null) {
                    oracle.metrics.close();
                }
                oracle = new MemberOracle(question.get("options"));
            } else {
                answer = oracle.step(question);
            }
            answers.println(JSON.writeValueAsString(answer));
            answers.flush();
        }
    }

    private ObjectNode step(JsonNode event) {
        clock.now = event.get("at").asLong();
        effects.clear();
        names.asked = false;
        guarded(() -> take(event));
        commits.expire(clock.now);
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
        step.set("assignment", EffectLog.partitions(subscriptions.assignedPartitions()));
        subscriptions.givenUp.retainAll(subscriptions.assignedPartitions());
        step.set("given_up", EffectLog.partitions(subscriptions.givenUp));
        step.put("committing_epoch", committingEpoch.orElse(null));
        step.set("effects", effects.effects());
        step.put("metadata", names.asked);
        step.put("coordinator", coordinator.known);
        step.put("in_flight", timing.requestInFlight());
        long interval = timing.timeToNextHeartbeatMs(clock.now);
        step.put("heartbeat_in", Math.max(interval, timing.remainingBackoffMs(clock.now)));
        pollTimer.update(clock.now);
        step.put("poll_in", pollTimer.remainingMs());
        step.put("commit_at", commits.deadline());
        step.put("restless", rounds == ROUNDS);
        return step;
    }

    private void networkLoop() {
        for (NetworkClientDelegate.UnsentRequest request : heartbeats.poll(clock.now).unsentRequests) {
            ObjectNode shown = effects.add("heartbeat");
            shown.set("request", fields(request));
            SortedMap<String, SortedSet<Integer>> given = new TreeMap<>();
            member.claimable().forEach((id, ids) -> given.put(hex(id), ids));
            shown.set("given", JSON.valueToTree(given));
            requests.add(request);
        }
        member.poll(clock.now);
    }

    private String glance() {
        return member.state() + " " + member.memberEpoch() + " " + effects.seen() + " " + coordinator.known
            + " " + subscriptions.assignedPartitionsList() + " " + member.currentAssignment();
    }

    private void take(JsonNode event) {
        switch (event.get("type").asText()) {
            case "subscribe":
                if (event.get("pattern").isNull()) {
                    Set<String> topics = new LinkedHashSet<>();
                    event.get("topics").forEach(topic -> topics.add(topic.asText()));
                    subscriptions.subscribe(topics, Optional.of(new ScriptedEdges.Listener()));
                } else {
                    SubscriptionPattern pattern = new SubscriptionPattern(event.get("pattern").asText());
                    subscriptions.subscribe(pattern, Optional.of(new ScriptedEdges.Listener()));
                }
                member.onSubscriptionUpdated();
                break;
            case "leave":
                member.leaveGroup().whenComplete((nothing, error) -> effects.add("left"));
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
                end(commits.future(event.get("commit").asInt()), event.get("failed").asBoolean());
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
            effects.add("threw").put("class", error.getClass().getSimpleName()).put("message", error.getMessage());
        }
    }

    private static void end(CompletableFuture<Void> future, boolean failed) {
        if (failed) {
            future.completeExceptionally(new KafkaException("the commit failed"));
        } else {
            future.complete(null);
        }
    }

    /** Return the fields of a request, with null for absent ones; the id that the member generated is left out. */
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

    /** Application thread: makes an assignment effective immediately; the script completes its callbacks. */
    private final class Application extends BackgroundEventHandler {
        private Application() {
            super(new LinkedBlockingQueue<>(), clock, new AsyncConsumerMetrics(metrics, "consumer-metrics"));
        }

        @Override
        public void add(BackgroundEvent event) {
            if (event instanceof ErrorEvent) {
                RuntimeException error = ((ErrorEvent) event).error();
                Errors known = Errors.forException(error);
                effects.add("error").put("code", known.code()).put("name", known.name())
                    .put("class", error.getClass().getSimpleName());
            } else if (event instanceof PartitionsRemovedEvent) {
                PartitionsRemovedEvent removed = (PartitionsRemovedEvent) event;
                boolean lost = removed.methodName() == ConsumerRebalanceListenerMethodName.ON_PARTITIONS_LOST;
                effects.add(lost ? "lost" : "revoked").set("partitions", EffectLog.partitions(removed.partitions()));
                callbacks.add(event);
            } else if (event instanceof PartitionsAssignedEvent) {
                PartitionsAssignedEvent assigned = (PartitionsAssignedEvent) event;
                ObjectNode shown = effects.add("assigned");
                shown.set("partitions", EffectLog.partitions(assigned.addedPartitions()));
                shown.set("assignment", EffectLog.partitions(assigned.assignedPartitions()));
                callbacks.add(event);
                member.applyAssignment(assigned.assignedPartitions(), assigned.addedPartitions());
            } else {
                effects.add("threw").put("class", event.getClass().getSimpleName()).put("message", "not expected");
            }
        }
    }
}
