package assignors;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.coordinator.common.runtime.CoordinatorMetadataImage;
import org.apache.kafka.coordinator.group.api.assignor.MemberAssignment;
import org.apache.kafka.coordinator.group.api.assignor.PartitionAssignor;
import org.apache.kafka.coordinator.group.api.assignor.SubscribedTopicDescriber;
import org.apache.kafka.coordinator.group.api.assignor.SubscriptionType;
import org.apache.kafka.coordinator.group.assignor.RangeAssignor;
import org.apache.kafka.coordinator.group.assignor.SimpleAssignor;
import org.apache.kafka.coordinator.group.assignor.UniformAssignor;
import org.apache.kafka.coordinator.group.modern.Assignment;
import org.apache.kafka.coordinator.group.modern.GroupSpecImpl;
import org.apache.kafka.coordinator.group.modern.MemberSubscriptionAndAssignmentImpl;
import org.apache.kafka.coordinator.group.modern.TopicIds;

/** The assignors of kafka-group-coordinator, each called with the input that TargetAssignmentBuilder passes. */
final class ServerAssignors {
    /** Names of these assignors in questions. */
    static final Set<String> KINDS = Set.of("server_uniform", "server_range", "share_simple");

    private ServerAssignors() { }

    /** The topics of a question: existing topics, and the ids of deleted ones. */
    static final class Topics implements SubscribedTopicDescriber, TopicIds.TopicResolver {
        private final Map<String, Uuid> ids = new HashMap<>();
        private final Map<Uuid, String> names = new HashMap<>();
        private final Map<Uuid, JsonNode> live = new HashMap<>();

        Topics(JsonNode topics) {
            for (JsonNode topic : topics) {
                UUID id = UUID.fromString(topic.get("id").textValue());
                Uuid number = new Uuid(id.getMostSignificantBits(), id.getLeastSignificantBits());
                ids.put(topic.get("name").textValue(), number);
                names.put(number, topic.get("name").textValue());
                if (!topic.path("deleted").asBoolean()) {
                    live.put(number, topic);
                }
            }
        }

        @Override
        public int numPartitions(Uuid id) {
            return live.containsKey(id) ? live.get(id).get("partitions").intValue() : -1;
        }

        /** Return the partitions with initialized share state by topic: those in `assignable`, or all without it. */
        private Map<Uuid, Set<Integer>> assignable() {
            Map<Uuid, Set<Integer>> found = new HashMap<>();
            live.forEach((id, topic) -> {
                Set<Integer> numbers = new HashSet<>();
                topic.path("assignable").forEach(number -> numbers.add(number.intValue()));
                for (int number = 0; number < topic.get("partitions").intValue() && !topic.has("assignable"); number++) {
                    numbers.add(number);
                }
                found.put(id, numbers);
            });
            return found;
        }

        @Override
        public Set<String> racksForPartition(Uuid id, int partition) {
            return Set.of();
        }

        @Override
        public CoordinatorMetadataImage image() {
            throw new UnsupportedOperationException("no image");
        }

        @Override
        public String name(Uuid id) {
            return live.containsKey(id) ? names.get(id) : null;
        }

        @Override
        public Uuid id(String name) {
            Uuid id = ids.get(name);
            return live.containsKey(id) ? id : null;
        }

        @Override
        public void clear() { }
    }

    /** Return a new object of the class. */
    static PartitionAssignor assignor(String kind) {
        return switch (kind) {
            case "server_uniform" -> new UniformAssignor();
            case "server_range" -> new RangeAssignor();
            case "share_simple" -> new SimpleAssignor();
            default -> throw new IllegalArgumentException("unknown assignor: " + kind);
        };
    }

    /** Return the members of a question. */
    static GroupSpecImpl group(JsonNode question, Topics topics) {
        Map<String, MemberSubscriptionAndAssignmentImpl> members = new HashMap<>();
        Map<Uuid, Map<Integer, String>> owners = new HashMap<>();
        Set<Set<String>> subscriptions = new HashSet<>();
        for (JsonNode member : question.get("members")) {
            String name = member.get("member_id").textValue();
            Map<Uuid, List<Integer>> lists = new LinkedHashMap<>();
            for (TopicPartition each : AssignorOracle.partitions(member.get("assigned"))) {
                Uuid id = topics.ids.get(each.topic());
                lists.computeIfAbsent(id, key -> new ArrayList<>()).add(each.partition());
                owners.computeIfAbsent(id, key -> new HashMap<>()).put(each.partition(), name);
            }
            Map<Uuid, Set<Integer>> target = new HashMap<>();
            lists.forEach((id, list) -> target.put(id, new HashSet<>(list)));
            Set<String> subscribed = new HashSet<>(AssignorOracle.texts(member.get("topics")));
            subscriptions.add(subscribed);
            members.put(name, new MemberSubscriptionAndAssignmentImpl(
                Optional.ofNullable(AssignorOracle.text(member, "rack")),
                Optional.ofNullable(AssignorOracle.text(member, "instance_id")),
                new TopicIds(subscribed, topics),
                new Assignment(target)));
        }
        SubscriptionType type = subscriptions.size() > 1 ? SubscriptionType.HETEROGENEOUS : SubscriptionType.HOMOGENEOUS;
        return question.get("assignor").textValue().equals("share_simple")
            ? new GroupSpecImpl(Collections.unmodifiableMap(members), type, owners, Optional.of(topics.assignable()))
            : new GroupSpecImpl(Collections.unmodifiableMap(members), type, owners);
    }

    /** Assign with a new object of the class. */
    static void assign(String kind, JsonNode question, ObjectNode answer) {
        Topics topics = new Topics(question.get("topics"));
        GroupSpecImpl group = group(question, topics);
        ArrayNode order = answer.putArray("member_order");
        group.memberIds().forEach(order::add);
        Map<String, MemberAssignment> found = assignor(kind).assign(group, topics).members();
        ObjectNode expected = answer.putObject("expected");
        for (JsonNode member : question.get("members")) {
            String name = member.get("member_id").textValue();
            ArrayNode list = expected.putArray(name);
            if (found.containsKey(name)) {
                found.get(name).partitions().forEach((id, numbers) ->
                    numbers.forEach(number -> list.addArray().add(topics.names.get(id)).add(number)));
            }
        }
    }
}
