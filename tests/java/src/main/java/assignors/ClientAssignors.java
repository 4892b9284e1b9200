package assignors;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Assignment;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupSubscription;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.RangeAssignor;
import org.apache.kafka.clients.consumer.RoundRobinAssignor;
import org.apache.kafka.clients.consumer.StickyAssignor;
import org.apache.kafka.clients.consumer.internals.AbstractStickyAssignor;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;

/** The assignors of kafka-clients, each called through `assign(Cluster, GroupSubscription)`. */
final class ClientAssignors {
    private ClientAssignors() { }

    /** Assign with a new object of the class, or with one that has answered the case in the field `after`. */
    static void assign(String kind, JsonNode question, ObjectNode answer) {
        Map<String, Subscription> members = members(question);
        ArrayNode order = answer.putArray("member_order");
        members.keySet().forEach(order::add);
        ConsumerPartitionAssignor assignor = assignor(kind);
        if (question.has("after")) {
            JsonNode before = question.get("after");
            assignor.assign(cluster(before), new GroupSubscription(members(before)));
        }
        Map<String, Assignment> found =
            assignor.assign(cluster(question), new GroupSubscription(members)).groupAssignment();
        ObjectNode expected = answer.putObject("expected");
        found.forEach((member, assignment) -> {
            ArrayNode list = expected.putArray(member);
            assignment.partitions().forEach(each -> list.addArray().add(each.topic()).add(each.partition()));
        });
        if (assignor instanceof AbstractStickyAssignor) {
            boolean isGeneral = ((AbstractStickyAssignor) assignor).partitionsTransferringOwnership() == null;
            answer.put("path", isGeneral ? "general" : "constrained");
        }
    }

    /** Return the user data that a member sends after its assignments, or null, and the version of the assignor. */
    static ObjectNode userData(JsonNode question) {
        ConsumerPartitionAssignor assignor = assignor(question.get("assignor").textValue());
        for (JsonNode given : question.get("assignments")) {
            ConsumerGroupMetadata group = new ConsumerGroupMetadata(
                "group", given.get("generation").intValue(), "member", Optional.empty());
            assignor.onAssignment(new Assignment(AssignorOracle.partitions(given.get("partitions"))), group);
        }
        ByteBuffer data = assignor.subscriptionUserData(Set.of());
        ObjectNode answer = AssignorOracle.JSON.createObjectNode().put("version", assignor.version());
        return answer.put("user_data", data == null ? null : HexFormat.of().formatHex(data.array()));
    }

    static ConsumerPartitionAssignor assignor(String kind) {
        return switch (kind) {
            case "range" -> new RangeAssignor();
            case "roundrobin" -> new RoundRobinAssignor();
            case "sticky" -> new StickyAssignor();
            case "cooperative_sticky", "cooperative-sticky" -> new CooperativeStickyAssignor();
            default -> throw new IllegalArgumentException("unknown assignor: " + kind);
        };
    }

    static Map<String, Subscription> members(JsonNode question) {
        Map<String, Subscription> members = new HashMap<>();
        for (JsonNode member : question.get("members")) {
            members.put(member.get("member_id").textValue(), subscription(member));
        }
        return members;
    }

    private static Subscription subscription(JsonNode member) {
        String data = AssignorOracle.text(member, "user_data");
        Subscription subscription = new Subscription(
            AssignorOracle.texts(member.get("topics")),
            data == null ? null : ByteBuffer.wrap(HexFormat.of().parseHex(data)),
            AssignorOracle.partitions(member.path("owned")),
            member.path("generation").asInt(-1),
            Optional.ofNullable(AssignorOracle.text(member, "rack")).filter(rack -> !rack.isEmpty()));
        subscription.setGroupInstanceId(Optional.ofNullable(AssignorOracle.text(member, "instance_id")));
        return subscription;
    }

    /** Return the cluster. A rack has one broker, or several if a partition has several replicas on the rack. */
    static Cluster cluster(JsonNode question) {
        Map<String, Node> brokers = new HashMap<>();
        List<PartitionInfo> partitions = new ArrayList<>();
        question.get("topics").fields().forEachRemaining(topic -> {
            JsonNode racks = question.path("replica_racks").path(topic.getKey());
            for (int id = 0; id < topic.getValue().intValue(); id++) {
                List<Node> replicas = new ArrayList<>();
                for (JsonNode rack : racks.path(id)) {
                    String name = replicas.size() + " on " + rack;
                    replicas.add(brokers.computeIfAbsent(name, key ->
                        new Node(brokers.size(), "broker", 9092, rack.isNull() ? null : rack.textValue())));
                }
                Node[] nodes = replicas.toArray(new Node[0]);
                partitions.add(new PartitionInfo(topic.getKey(), id, nodes.length == 0 ? null : nodes[0], nodes, nodes));
            }
        });
        return new Cluster("cluster", brokers.values(), partitions, Set.of(), Set.of());
    }
}
