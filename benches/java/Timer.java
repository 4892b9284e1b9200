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
import java.util.function.IntSupplier;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.zip.CRC32;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Assignment;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupSubscription;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.coordinator.group.api.assignor.MemberAssignment;
import org.apache.kafka.coordinator.group.api.assignor.PartitionAssignor;
import org.apache.kafka.coordinator.group.modern.GroupSpecImpl;

/**
 * Program that calls Kafka's assignors, or a pattern engine, on commands from standard input, so that its calls can alternate with
 * those of another process. The answer to each line is one line:
 *
 * <pre>
 * group FILE          reads rebalances, a line of JSON each, as AssignorOracle does; returns PARTITIONS CHECKSUM of each answer
 * java FILE           reads patterns, an empty line and topics; returns the number of matches of java.util.regex. A call compiles
 *                     every pattern and lists the topics that fully match it.
 * re2j FILE           the same with RE2/J
 * warm MILLISECONDS   makes all calls for this time, at least once; returns the nanoseconds of one round
 * time ROUNDS         makes all calls ROUNDS times; returns the nanoseconds
 * </pre>
 */
public final class Timer {
    private static final ObjectMapper JSON = new ObjectMapper();

    /** Calls with their input objects ready; each returns the size of its answer. */
    private final List<IntSupplier> calls = new ArrayList<>();

    /** User data of the members, which a call reads to the end. */
    private final List<ByteBuffer> data = new ArrayList<>();

    private final List<String> answers = new ArrayList<>();

    /** Sum of the sizes of all answers; its use keeps the compiler from removing calls. */
    private long sizes;

    private void readGroups(Path file) throws IOException {
        for (String line : Files.readAllLines(file)) {
            JsonNode question = JSON.readTree(line);
            String kind = question.get("assignor").textValue();
            if (ServerAssignors.KINDS.contains(kind)) {
                ServerAssignors.Topics topics = new ServerAssignors.Topics(question.get("topics"));
                GroupSpecImpl group = ServerAssignors.group(question, topics);
                PartitionAssignor assignor = ServerAssignors.assignor(kind);
                add(() -> assignor.assign(group, topics).members(), topics);
            } else {
                Cluster cluster = ClientAssignors.cluster(question);
                GroupSubscription group = new GroupSubscription(ClientAssignors.members(question));
                group.groupSubscription().values().stream().map(Subscription::userData).filter(Objects::nonNull).forEach(data::add);
                // A new assignor for each call: the sticky ones keep state.
                add(() -> ClientAssignors.assignor(kind).assign(cluster, group).groupAssignment(), null);
            }
        }
    }

    private void readPatterns(String engine, Path file) throws IOException {
        List<String> lines = Files.readAllLines(file);
        List<String> patterns = lines.subList(0, lines.indexOf(""));
        List<String> topics = lines.subList(patterns.size() + 1, lines.size());
        calls.add(() -> {
            int matches = 0;
            for (String text : patterns) {
                Predicate<String> pattern = engine.equals("java") ? java(text) : re2j(text);
                List<String> found = new ArrayList<>();
                for (String topic : topics) {
                    if (pattern.test(topic)) {
                        found.add(topic);
                    }
                }
                matches += found.size();
            }
            return matches;
        });
        answers.add(Integer.toString(calls.get(0).getAsInt()));
    }

    private static Predicate<String> java(String text) {
        java.util.regex.Pattern pattern = java.util.regex.Pattern.compile(text);
        return topic -> pattern.matcher(topic).matches();
    }

    private static Predicate<String> re2j(String text) {
        com.google.re2j.Pattern pattern = com.google.re2j.Pattern.compile(text);
        return topic -> pattern.matcher(topic).matches();
    }

    /** Add a call and its answer: the number of assigned partitions, and a checksum of owners that ignores the order. */
    private void add(Supplier<Map<String, ?>> call, ServerAssignors.Topics topics) {
        long[] sums = new long[2];
        call.get().forEach((member, assignment) -> {
            if (assignment instanceof Assignment) {
                ((Assignment) assignment).partitions().forEach(each -> count(sums, member, each.topic(), each.partition()));
            } else {
                ((MemberAssignment) assignment).partitions().forEach(
                    (id, partitions) -> partitions.forEach(each -> count(sums, member, topics.name(id), each)));
            }
        });
        answers.add(sums[0] + " " + Long.toHexString(sums[1]));
        calls.add(() -> call.get().size());
    }

    /** Add an owner; the value is mixed by the last steps of SplitMix64. */
    private static void count(long[] sums, String member, String topic, int partition) {
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
        for (IntSupplier call : calls) {
            sizes += call.getAsInt();
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
        Timer timer = null;
        long sizes = 0;
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split(" ", 2);
            if (words[0].equals("warm")) {
                System.out.println(timer.warm(Long.parseLong(words[1])));
            } else if (words[0].equals("time")) {
                System.out.println(timer.time(Integer.parseInt(words[1])));
            } else {
                sizes += timer == null ? 0 : timer.sizes;
                timer = null; // let the collector free the previous input
                timer = new Timer();
                if (words[0].equals("group")) {
                    timer.readGroups(Path.of(words[1]));
                } else {
                    timer.readPatterns(words[0], Path.of(words[1]));
                }
                System.out.println(String.join(" ", timer.answers));
            }
        }
        System.err.println("sum of the sizes of all answers: " + (sizes + (timer == null ? 0 : timer.sizes)));
    }
}
