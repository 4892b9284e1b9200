import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Assignment;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupSubscription;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.clients.consumer.RangeAssignor;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;

/**
 * Program that calls Kafka's RangeAssignor on commands from standard input, so that its calls can alternate with those of another
 * process. The answer to each line is one line:
 *
 * <pre>
 * group REPLICAS SIZE,SIZE,... FROM-TO:FROM-TO,...   builds a group and assigns it once; returns PARTITIONS CHECKSUM.
 *     SIZE is the number of partitions of topic0, topic1, ... FROM-TO:FROM-TO is a run of members and the run of topics that they
 *     subscribe to, both without their end. With REPLICAS 0 there are no racks; otherwise partition p has replicas on racks
 *     p mod 3, p + 1 mod 3, ..., and member m is on rack m mod 3.
 * warm MILLISECONDS   assigns for this time; returns the nanoseconds of one call
 * time CALLS          assigns CALLS times; returns the nanoseconds of all calls
 * </pre>
 *
 * The timed call is assign(Cluster, GroupSubscription), which a leading consumer makes. Its input objects are created before the call.
 */
public final class RangeTimer {
    private static final int RACKS = 3;

    private final Cluster cluster;
    private final GroupSubscription subscriptions;
    private final RangeAssignor assignor = new RangeAssignor();

    /** Number of members in all answers; its use keeps the compiler from removing calls. */
    private long members;

    private RangeTimer(int replicas, String sizes, String buckets) {
        List<Node> nodes = new ArrayList<>();
        for (int node = 0; node < RACKS; node++) {
            nodes.add(new Node(node, "node" + node, 9092, replicas == 0 ? null : "rack" + node));
        }
        List<PartitionInfo> partitions = new ArrayList<>();
        List<String> topics = new ArrayList<>();
        for (String size : sizes.split(",")) {
            String topic = "topic" + topics.size();
            topics.add(topic);
            for (int id = 0; id < Integer.parseInt(size); id++) {
                Node[] copies = new Node[Math.max(1, replicas)];
                for (int copy = 0; copy < copies.length; copy++) {
                    copies[copy] = nodes.get((id + copy) % RACKS);
                }
                partitions.add(new PartitionInfo(topic, id, copies[0], copies, copies));
            }
        }
        cluster = new Cluster("bench", nodes, partitions, Set.of(), Set.of());
        Map<String, Subscription> wanted = new HashMap<>();
        for (String bucket : buckets.split(",")) {
            String[] sides = bucket.split(":");
            int[] some = run(sides[0]);
            int[] theirs = run(sides[1]);
            for (int member = some[0]; member < some[1]; member++) {
                Optional<String> rack = replicas == 0 ? Optional.empty() : Optional.of("rack" + member % RACKS);
                List<String> names = new ArrayList<>(topics.subList(theirs[0], theirs[1]));
                wanted.put("member" + member, new Subscription(names, null, List.of(), -1, rack));
            }
        }
        subscriptions = new GroupSubscription(wanted);
    }

    private static int[] run(String text) {
        String[] ends = text.split("-");
        return new int[] {Integer.parseInt(ends[0]), Integer.parseInt(ends[1])};
    }

    private Map<String, Assignment> assign() {
        Map<String, Assignment> assignment = assignor.assign(cluster, subscriptions).groupAssignment();
        members += assignment.size();
        return assignment;
    }

    /** Return the number of assigned partitions and the checksum of their owners. */
    private OwnerChecksum answer() {
        OwnerChecksum checksum = new OwnerChecksum();
        assign().forEach((member, assignment) -> {
            for (TopicPartition owned : assignment.partitions()) {
                checksum.add(member, owned.topic(), List.of(owned.partition()));
            }
        });
        return checksum;
    }

    private long warm(long milliseconds) {
        long calls = 0;
        long start = System.nanoTime();
        long now;
        do {
            assign();
            calls++;
            now = System.nanoTime();
        } while (now - start < milliseconds * 1_000_000);
        return (now - start) / calls;
    }

    private long time(int calls) {
        long start = System.nanoTime();
        for (int call = 0; call < calls; call++) {
            assign();
        }
        return System.nanoTime() - start;
    }

    public static void main(String[] arguments) throws IOException {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        RangeTimer group = null;
        long members = 0;
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split(" ");
            String answer;
            if (words[0].equals("group")) {
                members += group == null ? 0 : group.members;
                group = null; // let the collector free the previous group
                group = new RangeTimer(Integer.parseInt(words[1]), words[2], words[3]);
                answer = group.answer().toString();
            } else if (words[0].equals("warm")) {
                answer = Long.toString(group.warm(Long.parseLong(words[1])));
                System.gc();
            } else {
                answer = Long.toString(group.time(Integer.parseInt(words[1])));
            }
            System.out.println(answer);
        }
        System.err.println("members assigned: " + (members + (group == null ? 0 : group.members)));
    }
}
