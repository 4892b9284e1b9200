import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.coordinator.common.runtime.CoordinatorMetadataImage;
import org.apache.kafka.coordinator.group.api.assignor.ConsumerGroupPartitionAssignor;
import org.apache.kafka.coordinator.group.api.assignor.MemberAssignment;
import org.apache.kafka.coordinator.group.api.assignor.SubscribedTopicDescriber;
import org.apache.kafka.coordinator.group.api.assignor.SubscriptionType;
import org.apache.kafka.coordinator.group.assignor.RangeAssignor;
import org.apache.kafka.coordinator.group.assignor.UniformAssignor;
import org.apache.kafka.coordinator.group.modern.Assignment;
import org.apache.kafka.coordinator.group.modern.GroupSpecImpl;
import org.apache.kafka.coordinator.group.modern.MemberSubscriptionAndAssignmentImpl;
import org.apache.kafka.coordinator.group.modern.TopicIds;

/** A rebalance that the broker computes (KIP-848): assign(GroupSpec, SubscribedTopicDescriber) is timed. */
final class BrokerRebalance implements TimedRebalance {
    private final ConsumerGroupPartitionAssignor assignor;
    private final GroupSpecImpl spec;
    private final Topics topics;

    BrokerRebalance(
        String assignor, TimedGroup group, Map<String, Integer> members, Map<String, Map<String, List<Integer>>> before
    ) {
        this.assignor = assignor.equals("uniform") ? new UniformAssignor() : new RangeAssignor();
        topics = new Topics(group);
        List<String> names = group.names();
        Map<String, MemberSubscriptionAndAssignmentImpl> wanted = new HashMap<>();
        Map<Uuid, Map<Integer, String>> owners = new HashMap<>();
        members.forEach((id, number) -> {
            Map<Uuid, Set<Integer>> owned = new HashMap<>();
            before.getOrDefault(id, Map.of()).forEach((topic, ids) -> {
                owned.put(topics.id(topic), new HashSet<>(ids));
                Map<Integer, String> ofTopic = owners.computeIfAbsent(topics.id(topic), key -> new HashMap<>());
                ids.forEach(partition -> ofTopic.put(partition, id));
            });
            Optional<String> rack = Optional.ofNullable(group.rackOfMember(number));
            TopicIds ids = new TopicIds(new HashSet<>(group.topicsOf(number, names)), topics);
            wanted.put(id, new MemberSubscriptionAndAssignmentImpl(rack, Optional.empty(), ids, new Assignment(owned)));
        });
        boolean isHomogeneous = group.subscription().equals("HOMOGENEOUS");
        SubscriptionType type = isHomogeneous ? SubscriptionType.HOMOGENEOUS : SubscriptionType.HETEROGENEOUS;
        spec = new GroupSpecImpl(Collections.unmodifiableMap(wanted), type, owners);
    }

    private Map<String, MemberAssignment> answer() {
        return assignor.assign(spec, topics).members();
    }

    @Override
    public int assign() {
        return answer().size();
    }

    @Override
    public Map<String, Map<String, List<Integer>>> owned() {
        Map<String, Map<String, List<Integer>>> owned = new HashMap<>();
        answer().forEach((member, assignment) -> {
            Map<String, List<Integer>> byTopic = new TreeMap<>();
            assignment.partitions().forEach((id, partitions) -> {
                List<Integer> ids = new ArrayList<>(partitions);
                ids.sort(null);
                byTopic.put(topics.name(id), ids);
            });
            owned.put(member, byTopic);
        });
        return owned;
    }

    /** Topics as in the broker's metadata; the id of topic t is mix(2t + 1), mix(2t + 2). */
    private static final class Topics implements TopicIds.TopicResolver, SubscribedTopicDescriber {
        private final Map<String, Uuid> ids = new HashMap<>();
        private final Map<Uuid, String> names = new HashMap<>();
        private final Map<Uuid, List<Set<String>>> racks = new HashMap<>();

        private Topics(TimedGroup group) {
            for (int topic = 0; topic < group.topics(); topic++) {
                Uuid id = new Uuid(OwnerChecksum.mix(2L * topic + 1), OwnerChecksum.mix(2L * topic + 2));
                ids.put("topic" + topic, id);
                names.put(id, "topic" + topic);
                List<Set<String>> ofTopic = new ArrayList<>();
                for (int partition = 0; partition < group.partitions(); partition++) {
                    Set<String> ofPartition = new HashSet<>();
                    for (int rack : group.racksOfPartition(topic, partition)) {
                        ofPartition.add("rack" + rack);
                    }
                    ofTopic.add(ofPartition);
                }
                racks.put(id, ofTopic);
            }
        }

        @Override
        public CoordinatorMetadataImage image() {
            return null;
        }

        @Override
        public String name(Uuid id) {
            return names.get(id);
        }

        @Override
        public Uuid id(String name) {
            return ids.get(name);
        }

        @Override
        public void clear() {
        }

        @Override
        public int numPartitions(Uuid id) {
            return racks.containsKey(id) ? racks.get(id).size() : -1;
        }

        @Override
        public Set<String> racksForPartition(Uuid id, int partition) {
            return racks.get(id).get(partition);
        }
    }
}
