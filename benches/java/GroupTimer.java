package org.apache.kafka.coordinator.group;

import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor;
import org.apache.kafka.clients.consumer.internals.ConsumerProtocol;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.message.HeartbeatRequestData;
import org.apache.kafka.common.message.JoinGroupRequestData;
import org.apache.kafka.common.message.JoinGroupResponseData;
import org.apache.kafka.common.message.SyncGroupRequestData;
import org.apache.kafka.common.message.SyncGroupResponseData;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.kafka.common.utils.internals.LogContext;
import org.apache.kafka.coordinator.common.runtime.CoordinatorExecutor;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRecord;
import org.apache.kafka.coordinator.common.runtime.CoordinatorResult;
import org.apache.kafka.coordinator.common.runtime.CoordinatorTimer;
import org.apache.kafka.coordinator.group.metrics.GroupCoordinatorMetrics;
import org.apache.kafka.coordinator.group.modern.share.ShareGroupConfig;
import org.apache.kafka.server.authorizer.AuthorizableRequestContext;
import org.apache.kafka.server.util.timer.SystemTimer;
import org.apache.kafka.server.util.timer.TimerTask;
import org.apache.kafka.timeline.SnapshotRegistry;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Proxy;
import java.net.InetAddress;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/**
 * Times Kafka's group coordinator: {@code GroupTimer MEMBERS TOPICS PARTITIONS RUN}.
 *
 * The coordinator's class is called directly, one request after the other, without network, threads or log. Its records are
 * serialized and count as stored immediately. Timers are in the timing wheel that a broker uses. Each line of input is a
 * round: a full rebalance and a heartbeat of every member. The answer has the nanoseconds of the joins, the syncs and the
 * heartbeats.
 */
public final class GroupTimer {
    private static final int SESSION_MS = 300_000;
    private static final GroupCoordinatorRecordSerde SERDE = new GroupCoordinatorRecordSerde();

    private final Timers timers = new Timers();
    private final GroupMetadataManager manager;
    private final List<byte[]> subscriptions = new ArrayList<>();
    private final List<byte[]> assignments = new ArrayList<>();
    private final String[] ids;
    private int leader = 0;
    private int generation = 0;
    private long written = 0;

    private GroupTimer(int members, int topics, int partitions, int run) {
        ids = new String[members];
        for (int member = 0; member < members; member++) {
            List<String> names = new ArrayList<>();
            List<TopicPartition> given = new ArrayList<>();
            for (int topic = member / run * topics; topic < (member / run + 1) * topics; topic++) {
                names.add("topic" + topic);
                given.add(new TopicPartition("topic" + topic, member % partitions));
            }
            subscriptions.add(ConsumerProtocol.serializeSubscription(new ConsumerPartitionAssignor.Subscription(names)).array());
            assignments.add(ConsumerProtocol.serializeAssignment(new ConsumerPartitionAssignor.Assignment(given)).array());
        }
        LogContext logs = new LogContext();
        SnapshotRegistry snapshots = new SnapshotRegistry(logs);
        ConfigDef definition = new ConfigDef(GroupCoordinatorConfig.CONFIG_DEF);
        ShareGroupConfig.CONFIG_DEF.configKeys().values().forEach(definition::define);
        AbstractConfig settings = new AbstractConfig(definition, Map.of("group.initial.rebalance.delay.ms", "0"), false);
        GroupCoordinatorConfig config = new GroupCoordinatorConfig(settings);
        manager = new GroupMetadataManager.Builder()
            .withLogContext(logs)
            .withSnapshotRegistry(snapshots)
            .withTimer(timers)
            .withExecutor(noExecutor())
            .withConfig(config)
            .withGroupConfigManager(new GroupConfigManager(config, new ShareGroupConfig(settings)))
            .withGroupCoordinatorMetricsShard(new GroupCoordinatorMetrics().newMetricsShard(snapshots, new TopicPartition("t", 0)))
            .build();
    }

    public static void main(String[] arguments) throws Exception {
        int[] sizes = new int[4];
        for (int i = 0; i < sizes.length; i++) sizes[i] = Integer.parseInt(arguments[i]);
        GroupTimer group = new GroupTimer(sizes[0], sizes[1], sizes[2], sizes[3]);
        group.found();
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        while (lines.readLine() != null) {
            System.out.println(group.rejoin(true) + " " + group.sync() + " " + group.beat());
        }
        System.exit(0);
    }

    /** Let the first member form a generation alone, so that no request waits for a timer, then let the others join. */
    private void found() {
        for (int member = 0; member < ids.length; member++) {
            CompletableFuture<JoinGroupResponseData> answer = join(request(member));
            require(Errors.MEMBER_ID_REQUIRED, answer.join().errorCode());
            ids[member] = answer.join().memberId();
            if (member == 0) joined(List.of(join(request(member))));
        }
        rejoin(false);
        sync();
    }

    private long rejoin(boolean leaderFirst) {
        List<JoinGroupRequestData> requests = new ArrayList<>();
        if (leaderFirst) requests.add(request(leader));
        for (int member = 0; member < ids.length; member++) if (member != leader) requests.add(request(member));
        if (!leaderFirst) requests.add(request(leader));
        List<CompletableFuture<JoinGroupResponseData>> answers = new ArrayList<>();
        long start = System.nanoTime();
        for (JoinGroupRequestData request : requests) answers.add(join(request));
        long spent = System.nanoTime() - start;
        joined(answers);
        return spent;
    }

    private long sync() {
        List<SyncGroupRequestData> requests = new ArrayList<>();
        for (int member = 0; member < ids.length; member++) {
            if (member != leader) requests.add(syncRequest(member, List.of()));
        }
        List<SyncGroupRequestData.SyncGroupRequestAssignment> given = new ArrayList<>();
        for (int member = 0; member < ids.length; member++) {
            given.add(new SyncGroupRequestData.SyncGroupRequestAssignment()
                .setMemberId(ids[member]).setAssignment(assignments.get(member)));
        }
        requests.add(syncRequest(leader, given));
        List<CompletableFuture<SyncGroupResponseData>> answers = new ArrayList<>();
        long before = written;
        long start = System.nanoTime();
        for (SyncGroupRequestData request : requests) {
            CompletableFuture<SyncGroupResponseData> answer = new CompletableFuture<>();
            write(manager.classicGroupSync(new Context(ApiKeys.SYNC_GROUP), request, answer));
            answers.add(answer);
        }
        long spent = System.nanoTime() - start;
        for (CompletableFuture<SyncGroupResponseData> answer : answers) {
            require(Errors.NONE, answer.join().errorCode());
            if (answer.join().assignment().length == 0) throw new IllegalStateException("no assignment");
        }
        if (written - before < ids.length) throw new IllegalStateException("the record does not contain all members");
        return spent;
    }

    private long beat() {
        List<HeartbeatRequestData> requests = new ArrayList<>();
        for (String id : ids) {
            requests.add(new HeartbeatRequestData().setGroupId("group-0").setMemberId(id).setGenerationId(generation));
        }
        Context context = new Context(ApiKeys.HEARTBEAT);
        int errors = 0;
        long start = System.nanoTime();
        for (HeartbeatRequestData request : requests) {
            errors += manager.classicGroupHeartbeat(context, request).response().errorCode();
        }
        long spent = System.nanoTime() - start;
        require(Errors.NONE, (short) errors);
        return spent;
    }

    private JoinGroupRequestData request(int member) {
        JoinGroupRequestData.JoinGroupRequestProtocolCollection offered = new JoinGroupRequestData.JoinGroupRequestProtocolCollection();
        offered.add(new JoinGroupRequestData.JoinGroupRequestProtocol().setName("range").setMetadata(subscriptions.get(member)));
        return new JoinGroupRequestData()
            .setGroupId("group-0")
            .setMemberId(ids[member] == null ? "" : ids[member])
            .setProtocolType("consumer")
            .setSessionTimeoutMs(SESSION_MS)
            .setRebalanceTimeoutMs(SESSION_MS)
            .setProtocols(offered);
    }

    private SyncGroupRequestData syncRequest(int member, List<SyncGroupRequestData.SyncGroupRequestAssignment> given) {
        return new SyncGroupRequestData()
            .setGroupId("group-0").setMemberId(ids[member]).setGenerationId(generation)
            .setProtocolType("consumer").setProtocolName("range").setAssignments(given);
    }

    private CompletableFuture<JoinGroupResponseData> join(JoinGroupRequestData request) {
        CompletableFuture<JoinGroupResponseData> answer = new CompletableFuture<>();
        write(manager.classicGroupJoin(new Context(ApiKeys.JOIN_GROUP), request, answer, true));
        timers.runDue();
        return answer;
    }

    private void joined(List<CompletableFuture<JoinGroupResponseData>> answers) {
        int leaders = 0;
        for (CompletableFuture<JoinGroupResponseData> answer : answers) {
            JoinGroupResponseData response = answer.join();
            require(Errors.NONE, response.errorCode());
            generation = response.generationId();
            if (!response.members().isEmpty()) {
                leaders++;
                leader = Arrays.asList(ids).indexOf(response.memberId());
                if (response.members().size() != answers.size()) throw new IllegalStateException("the response does not contain all members");
            }
        }
        if (leaders != 1) throw new IllegalStateException("the responses name " + leaders + " leaders, expected 1");
    }

    /** Process a result like a broker, without storing it. */
    private void write(CoordinatorResult<?, CoordinatorRecord> result) {
        for (CoordinatorRecord record : result.records()) {
            written += SERDE.serializeKey(record).length;
            written += SERDE.serializeValue(record).length;
        }
        if (result.appendFuture() != null) result.appendFuture().complete(null);
    }

    private static void require(Errors wanted, short error) {
        if (Errors.forCode(error) != wanted) throw new IllegalStateException("the response has error " + Errors.forCode(error) + ", expected " + wanted);
    }

    private record Context(ApiKeys api) implements AuthorizableRequestContext {
        @Override public String listenerName() { return "PLAINTEXT"; }
        @Override public SecurityProtocol securityProtocol() { return SecurityProtocol.PLAINTEXT; }
        @Override public KafkaPrincipal principal() { return KafkaPrincipal.ANONYMOUS; }
        @Override public InetAddress clientAddress() { return InetAddress.getLoopbackAddress(); }
        @Override public int requestType() { return api.id; }
        @Override public int requestVersion() { return api.latestVersion(); }
        @Override public String clientId() { return "bench"; }
        @Override public int correlationId() { return 0; }
    }

    /** Timers in a broker's timing wheel; timers without a delay run after the request. */
    private final class Timers implements CoordinatorTimer<CoordinatorRecord> {
        private final SystemTimer wheel = new SystemTimer("bench");
        private final Map<String, TimerTask> tasks = new HashMap<>();
        private final ArrayDeque<TimeoutOperation<CoordinatorRecord>> due = new ArrayDeque<>();

        @Override
        public void schedule(String key, long delay, TimeUnit unit, boolean retry, TimeoutOperation<CoordinatorRecord> operation) {
            schedule(key, delay, unit, retry, 500, operation);
        }

        @Override
        public void schedule(
            String key, long delay, TimeUnit unit, boolean retry, long backoff, TimeoutOperation<CoordinatorRecord> operation
        ) {
            if (delay == 0) {
                due.add(operation);
                return;
            }
            TimerTask task = new TimerTask(unit.toMillis(delay)) {
                @Override public void run() {
                    throw new IllegalStateException("a timer expired; no timer may expire while the coordinator is timed");
                }
            };
            TimerTask before = tasks.put(key, task);
            if (before != null) before.cancel();
            wheel.add(task);
        }

        @Override
        public void scheduleIfAbsent(String key, long delay, TimeUnit unit, boolean retry, TimeoutOperation<CoordinatorRecord> operation) {
            if (!tasks.containsKey(key)) schedule(key, delay, unit, retry, 500, operation);
        }

        @Override
        public void cancel(String key) {
            TimerTask task = tasks.remove(key);
            if (task != null) task.cancel();
        }

        @Override
        public boolean isScheduled(String key) {
            return tasks.containsKey(key);
        }

        private void runDue() {
            while (!due.isEmpty()) write(due.poll().generateRecords());
        }
    }

    /** Return an executor that always fails, because no background work is expected. */
    @SuppressWarnings("unchecked")
    private static CoordinatorExecutor<CoordinatorRecord> noExecutor() {
        Class<?>[] types = {CoordinatorExecutor.class};
        return (CoordinatorExecutor<CoordinatorRecord>) Proxy.newProxyInstance(GroupTimer.class.getClassLoader(), types, (a, b, c) -> {
            throw new IllegalStateException("no background work is expected");
        });
    }
}
