package applications;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.streams.internals.generated.SubscriptionInfoData;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.assignment.ProcessId;
import org.apache.kafka.streams.processor.internals.assignment.AssignmentInfo;
import org.apache.kafka.streams.processor.internals.assignment.SubscriptionInfo;
import org.apache.kafka.streams.state.HostInfo;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;

/** User data of Kafka Streams; a task is [subtopology, partition, topology], a partition [topic, id]. */
final class StreamsMessages {
    private static final int NEWEST = 11;

    static ByteBuffer encodeSubscription(JsonNode fields) {
        Map<TaskId, Long> sums = new LinkedHashMap<>();
        fields.get("sums").forEach(each -> sums.put(task(each.get(0)), each.get(1).longValue()));
        Map<String, String> tags = new LinkedHashMap<>();
        fields.get("tags").forEach(each -> tags.put(each.get(0).textValue(), each.get(1).textValue()));
        return new SubscriptionInfo(
            fields.get("version").intValue(),
            fields.get("latest").intValue(),
            new ProcessId(UUID.fromString(fields.get("process").textValue())),
            fields.get("endpoint").textValue(),
            sums,
            (byte) fields.get("unique").intValue(),
            fields.get("error").intValue(),
            tags
        ).encode();
    }

    static ObjectNode decodeSubscription(ByteBuffer bytes) {
        SubscriptionInfo found = SubscriptionInfo.decode(bytes);
        ObjectNode fields = ApplicationOracle.JSON.createObjectNode();
        fields.put("version", found.version()).put("latest", found.latestSupportedVersion());
        if (found.version() > NEWEST) {
            return fields.put("future", true);
        }
        fields.put("process", found.processId().id().toString());
        putTasks(fields.putArray("active"), found.prevTasks());
        putTasks(fields.putArray("standby"), found.standbyTasks());
        ArrayNode sums = fields.putArray("sums");
        found.taskOffsetSums().forEach((task, sum) -> {
            ArrayNode each = sums.addArray();
            putTask(each.addArray(), task);
            each.add(sum);
        });
        fields.put("endpoint", ApplicationOracle.text(found.userEndPoint())).put("error", found.errorCode());
        SubscriptionInfoData data = new SubscriptionInfoData(new ByteBufferAccessor(bytes.rewind()), (short) found.version());
        fields.put("unique", data.uniqueField());
        ArrayNode tags = fields.putArray("tags");
        for (SubscriptionInfoData.ClientTag tag : data.clientTags()) {
            tags.addArray()
                .add(new String(tag.key(), StandardCharsets.UTF_8))
                .add(new String(tag.value(), StandardCharsets.UTF_8));
        }
        return fields;
    }

    static ByteBuffer encodeAssignment(JsonNode fields) {
        List<TaskId> active = new ArrayList<>();
        fields.get("active").forEach(each -> active.add(task(each)));
        Map<TaskId, Set<TopicPartition>> standby = new LinkedHashMap<>();
        fields.get("standby").forEach(each -> standby.put(task(each.get(0)), partitions(each.get(1))));
        AssignmentInfo info = new AssignmentInfo(
            fields.get("version").intValue(),
            fields.get("latest").intValue(),
            active,
            standby,
            hosts(fields.get("hosts")),
            hosts(fields.get("standby_hosts")),
            fields.get("error").intValue()
        );
        info.setNextRebalanceTime(fields.get("next").longValue());
        return info.encode();
    }

    static ObjectNode decodeAssignment(ByteBuffer bytes) {
        AssignmentInfo found = AssignmentInfo.decode(bytes);
        ObjectNode fields = ApplicationOracle.JSON.createObjectNode();
        fields.put("version", found.version()).put("latest", found.commonlySupportedVersion());
        putTasks(fields.putArray("active"), found.activeTasks());
        ArrayNode standby = fields.putArray("standby");
        found.standbyTasks().forEach((task, partitions) -> {
            ArrayNode each = standby.addArray();
            putTask(each.addArray(), task);
            putPartitions(each.addArray(), partitions);
        });
        putHosts(fields.putArray("hosts"), found.partitionsByHost());
        putHosts(fields.putArray("standby_hosts"), found.standbyPartitionByHost());
        return fields.put("error", found.errCode()).put("next", found.nextRebalanceMs());
    }

    private static TaskId task(JsonNode given) {
        return new TaskId(given.get(0).intValue(), given.get(1).intValue(), given.get(2).textValue());
    }

    private static Set<TopicPartition> partitions(JsonNode given) {
        Set<TopicPartition> found = new LinkedHashSet<>();
        given.forEach(each -> found.add(new TopicPartition(each.get(0).textValue(), each.get(1).intValue())));
        return found;
    }

    private static Map<HostInfo, Set<TopicPartition>> hosts(JsonNode given) {
        Map<HostInfo, Set<TopicPartition>> found = new LinkedHashMap<>();
        given.forEach(each -> {
            JsonNode host = each.get(0);
            found.put(new HostInfo(host.get(0).textValue(), host.get(1).intValue()), partitions(each.get(1)));
        });
        return found;
    }

    private static void putTasks(ArrayNode to, Collection<TaskId> tasks) {
        tasks.forEach(task -> putTask(to.addArray(), task));
    }

    private static void putTask(ArrayNode to, TaskId task) {
        to.add(task.subtopology()).add(task.partition()).add(ApplicationOracle.text(task.topologyName()));
    }

    private static void putPartitions(ArrayNode to, Collection<TopicPartition> partitions) {
        partitions.forEach(each -> to.addArray().add(ApplicationOracle.text(each.topic())).add(each.partition()));
    }

    private static void putHosts(ArrayNode to, Map<HostInfo, Set<TopicPartition>> hosts) {
        hosts.forEach((host, partitions) -> {
            ArrayNode each = to.addArray();
            each.addArray().add(ApplicationOracle.text(host.host())).add(host.port());
            putPartitions(each.addArray(), partitions);
        });
    }

    private StreamsMessages() {}
}
