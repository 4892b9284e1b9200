package recorded;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Collection;
import java.util.Properties;
import java.util.TreeSet;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.TaskMetadata;
import org.apache.kafka.streams.ThreadMetadata;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Repartitioned;

/**
 * An instance of a stateful Streams application with three subtopologies.
 *
 * <p>Subtopology 0 copies `views` to a repartition topic, 1 counts what it has there, 2 counts `orders`. A line of JSON
 * is one command: `start` with settings and the names of the topics, `say`, and `leave`, which closes the instance and
 * leaves the group. The answer to each has the state of the instance, and the tasks that each of its threads says it
 * owns. At the end of the input the program stops without leaving the group.
 */
public final class StreamsApplication {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Duration LIMIT = Duration.ofSeconds(30);

    private KafkaStreams streams;

    private StreamsApplication() { }

    public static void main(String[] arguments) throws Exception {
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream answers = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        StreamsApplication application = new StreamsApplication();
        String line;
        while ((line = commands.readLine()) != null) {
            JsonNode command = JSON.readTree(line);
            switch (command.get("do").textValue()) {
                case "start" -> application.start(command);
                case "say" -> { }
                case "leave" -> application.streams.close(
                    new KafkaStreams.CloseOptions().leaveGroup(true).timeout(LIMIT));
                default -> throw new IllegalArgumentException("unknown command: " + command);
            }
            answers.println(JSON.writeValueAsString(application.state()));
            answers.flush();
        }
        Runtime.getRuntime().halt(0);
    }

    private void start(JsonNode command) {
        Properties settings = new Properties();
        settings.put("default.key.serde", Serdes.ByteArraySerde.class.getName());
        settings.put("default.value.serde", Serdes.ByteArraySerde.class.getName());
        command.get("settings").fields().forEachRemaining(
            setting -> settings.put(setting.getKey(), setting.getValue().textValue()));
        StreamsBuilder builder = new StreamsBuilder();
        builder.<byte[], byte[]>stream(command.get("views").textValue())
            .filter((key, value) -> value != null)
            .selectKey((key, value) -> value)
            .repartition(Repartitioned.<byte[], byte[]>as("by-page")
                .withNumberOfPartitions(command.get("repartitioned").intValue()))
            .groupByKey()
            .count(Materialized.as("views-by-page"));
        builder.<byte[], byte[]>stream(command.get("orders").textValue())
            .groupByKey()
            .count(Materialized.as("orders-by-customer"));
        streams = new KafkaStreams(builder.build(), settings);
        streams.start();
    }

    private ObjectNode state() {
        ObjectNode state = JSON.createObjectNode();
        state.put("state", streams.state().name());
        ObjectNode threads = state.putObject("threads");
        for (ThreadMetadata thread : streams.metadataForLocalThreads()) {
            ObjectNode tasks = threads.putObject(thread.consumerClientId());
            tasks.put("state", thread.threadState());
            put(tasks.putArray("active"), thread.activeTasks());
            put(tasks.putArray("standby"), thread.standbyTasks());
        }
        return state;
    }

    private static void put(ArrayNode names, Collection<TaskMetadata> tasks) {
        TreeSet<String> sorted = new TreeSet<>();
        tasks.forEach(task -> sorted.add(task.taskId().toString()));
        sorted.forEach(names::add);
    }
}
