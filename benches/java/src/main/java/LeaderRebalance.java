import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Assignment;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupSubscription;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.RoundRobinAssignor;
import org.apache.kafka.clients.consumer.StickyAssignor;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;

/** A rebalance that the leader of a classic group computes: assign(Cluster, GroupSubscription) is timed. */
final class LeaderRebalance implements TimedRebalance {
    private static final int GENERATION = 5;

    private final String assignor;
    private final Cluster cluster;
    private final GroupSubscription subscriptions;

    LeaderRebalance(
        String assignor, TimedGroup group, Map<String, Integer> members, Map<String, Map<String, List<Integer>>> before
    ) {
        this.assignor = assignor;
        cluster = cluster(group);
        List<String> names = group.names();
        Map<String, Subscription> wanted = new HashMap<>();
        members.forEach((id, number) -> {
            List<TopicPartition> owned = new ArrayList<>();
            before.getOrDefault(id, Map.of()).forEach((topic, ids) -> {
                for (int partition : ids) {
                    owned.add(new TopicPartition(topic, partition));
                }
            });
            boolean hasData = assignor.equals("sticky") && before.containsKey(id);
            ByteBuffer data = hasData ? userData(id, owned) : null;
            boolean claims = assignor.equals("cooperative-sticky");
            int generation = before.containsKey(id) ? GENERATION : -1;
            Optional<String> rack = Optional.ofNullable(group.rackOfMember(number));
            List<String> topics = new ArrayList<>(group.topicsOf(number, names));
            wanted.put(id, new Subscription(topics, data, claims ? owned : List.of(), generation, rack));
        });
        subscriptions = new GroupSubscription(wanted);
    }

    /** Return the user data that a member's consumer sends after it was assigned these partitions. */
    private static ByteBuffer userData(String id, List<TopicPartition> owned) {
        StickyAssignor own = new StickyAssignor();
        own.onAssignment(new Assignment(owned), new ConsumerGroupMetadata("group", GENERATION, id, Optional.empty()));
        return own.subscriptionUserData(Set.of());
    }

    private static Cluster cluster(TimedGroup group) {
        boolean hasRacks = !group.racks().equals("none");
        List<Node> nodes = new ArrayList<>();
        for (int node = 0; node < TimedGroup.RACKS; node++) {
            nodes.add(new Node(node, "node" + node, 9092, hasRacks ? "rack" + node : null));
        }
        List<PartitionInfo> partitions = new ArrayList<>();
        List<String> names = group.names();
        for (int topic = 0; topic < names.size(); topic++) {
            for (int id = 0; id < group.partitions(); id++) {
                Node[] replicas = Arrays.stream(group.racksOfPartition(topic, id)).mapToObj(nodes::get).toArray(Node[]::new);
                replicas = hasRacks ? replicas : new Node[] {nodes.get(0)};
                partitions.add(new PartitionInfo(names.get(topic), id, replicas[0], replicas, replicas));
            }
        }
        return new Cluster("bench", nodes, partitions, Set.of(), Set.of());
    }

    /** Return a new assignor for each call: the sticky ones keep state. */
    private ConsumerPartitionAssignor assignor() {
        switch (assignor) {
            case "roundrobin":
                return new RoundRobinAssignor();
            case "sticky":
                return new StickyAssignor();
            case "cooperative-sticky":
                return new CooperativeStickyAssignor();
            default:
                throw new IllegalArgumentException("unknown assignor: " + assignor);
        }
    }

    @Override
    public void prepare() {
        for (Subscription subscription : subscriptions.groupSubscription().values()) {
            if (subscription.userData() != null) {
                subscription.userData().rewind();
            }
        }
    }

    @Override
    public int assign() {
        return assignor().assign(cluster, subscriptions).groupAssignment().size();
    }

    @Override
    public Map<String, Map<String, List<Integer>>> owned() {
        prepare();
        Map<String, Map<String, List<Integer>>> owned = new HashMap<>();
        assignor().assign(cluster, subscriptions).groupAssignment().forEach((member, assignment) -> {
            Map<String, List<Integer>> topics = new TreeMap<>();
            for (TopicPartition partition : assignment.partitions()) {
                topics.computeIfAbsent(partition.topic(), topic -> new ArrayList<>()).add(partition.partition());
            }
            topics.values().forEach(ids -> ids.sort(null));
            owned.put(member, topics);
        });
        return owned;
    }
}
