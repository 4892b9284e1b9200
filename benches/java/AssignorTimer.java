package assignors;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Supplier;
import java.util.zip.CRC32;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Assignment;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupSubscription;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.coordinator.group.api.assignor.ConsumerGroupPartitionAssignor;
import org.apache.kafka.coordinator.group.api.assignor.MemberAssignment;
import org.apache.kafka.coordinator.group.modern.GroupSpecImpl;

/**
 * Program that calls Kafka's assignors on commands from standard input, so that its calls can alternate with those of another process.
 * The answer to each line is one line:
 *
 * <pre>
 * group FILE          reads rebalances, a line of JSON each, as AssignorOracle does; returns PARTITIONS CHECKSUM of each answer
 * warm MILLISECONDS   computes all rebalances for this time, at least once; returns the nanoseconds of one round
 * time CALLS          computes all rebalances CALLS times; returns the nanoseconds of all calls
 * </pre>
 */
public final class AssignorTimer {
    private static final ObjectMapper JSON = new ObjectMapper();

    /** Calls with their input objects ready. */
    private final List<Supplier<Map<String, ?>>> calls = new ArrayList<>();

    /** User data of the members, which a call reads to the end. */
    private final List<ByteBuffer> data = new ArrayList<>();

    private final List<String> answers = new ArrayList<>();

    /** Number of members in all answers; its use keeps the compiler from removing calls. */
    private long members;

    private AssignorTimer(Path file) throws IOException {
        for (String line : Files.readAllLines(file)) {
            JsonNode question = JSON.readTree(line);
            String kind = question.get("assignor").textValue();
            if (kind.startsWith("server_")) {
                ServerAssignors.Topics topics = new ServerAssignors.Topics(question.get("topics"));
                GroupSpecImpl group = ServerAssignors.group(question, topics);
                ConsumerGroupPartitionAssignor assignor = ServerAssignors.assignor(kind);
                calls.add(() -> assignor.assign(group, topics).members());
                answers.add(checksum(topics));
            } else {
                Cluster cluster = ClientAssignors.cluster(question);
                GroupSubscription group = new GroupSubscription(ClientAssignors.members(question));
                group.groupSubscription().values().stream().map(Subscription::userData).filter(Objects::nonNull).forEach(data::add);
                // A new assignor for each call: the sticky ones keep state.
                calls.add(() -> ClientAssignors.assignor(kind).assign(cluster, group).groupAssignment());
                answers.add(checksum(null));
            }
        }
    }

    /** Return the number of assigned partitions in the answer of the last call, and a checksum of owners that ignores the order. */
    private String checksum(ServerAssignors.Topics topics) {
        long[] sums = new long[2];
        calls.get(calls.size() - 1).get().forEach((member, assignment) -> {
            if (assignment instanceof Assignment) {
                ((Assignment) assignment).partitions().forEach(each -> add(sums, member, each.topic(), each.partition()));
            } else {
                ((MemberAssignment) assignment).partitions().forEach(
                    (id, partitions) -> partitions.forEach(each -> add(sums, member, topics.name(id), each)));
            }
        });
        return sums[0] + " " + Long.toHexString(sums[1]);
    }

    /** Add an owner; the value is mixed by the last steps of SplitMix64. */
    private static void add(long[] sums, String member, String topic, int partition) {
        long value = crc(member) * 0x9E3779B97F4A7C15L + crc(topic) * 0xC2B2AE3D27D4EB4FL + partition;
        value = (value ^ value >>> 30) * 0xBF58476D1CE4E5B9L;
        value = (value ^ value >>> 27) * 0x94D049BB133111EBL;
        sums[0]++;
        sums[1] += value ^ value >>> 31;
    }

    private static long crc(String text) {
        CRC32 crc = new CRC32();
        crc.update(text.getBytes(StandardCharsets.UTF_8));
        return crc.getValue();
    }

    private long once() {
        data.forEach(ByteBuffer::rewind);
        long start = System.nanoTime();
        for (Supplier<Map<String, ?>> call : calls) {
            members += call.get().size();
        }
        return System.nanoTime() - start;
    }

    private long warm(long milliseconds) {
        long calls = 0;
        long nanoseconds = 0;
        long end = System.nanoTime() + milliseconds * 1_000_000;
        do {
            nanoseconds += once();
            calls++;
        } while (System.nanoTime() < end);
        System.gc();
        return nanoseconds / calls;
    }

    private long time(int calls) {
        long nanoseconds = 0;
        for (int call = 0; call < calls; call++) {
            nanoseconds += once();
        }
        return nanoseconds;
    }

    public static void main(String[] arguments) throws IOException {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        AssignorTimer timer = null;
        long members = 0;
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split(" ", 2);
            if (words[0].equals("group")) {
                members += timer == null ? 0 : timer.members;
                timer = null; // let the collector free the previous group
                timer = new AssignorTimer(Path.of(words[1]));
                System.out.println(String.join(" ", timer.answers));
            } else if (words[0].equals("warm")) {
                System.out.println(timer.warm(Long.parseLong(words[1])));
            } else {
                System.out.println(timer.time(Integer.parseInt(words[1])));
            }
        }
        System.err.println("members assigned: " + (members + (timer == null ? 0 : timer.members)));
    }
}
