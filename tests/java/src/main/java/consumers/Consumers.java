package consumers;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Consumers of Kafka's Java client in groups of the classic protocol, all of them polled in one thread.
 *
 * <p>A line of JSON is one command: `join` with an address, a group, an assignor, topics and, optionally, more settings
 * starts a consumer under a name; `subscribe` gives it other topics; `leave` closes it, by default within 30 seconds;
 * `poll` polls all of them once. The answer lists for each consumer its member id, its generation, its partitions, and
 * the last error of a poll, if any.
 */
public final class Consumers {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Duration SHORT = Duration.ofMillis(5);
    private static final Duration AT_THE_END = Duration.ofSeconds(1);

    private final Map<String, KafkaConsumer<byte[], byte[]>> consumers = new LinkedHashMap<>();
    private final Map<String, String> errors = new HashMap<>();

    private Consumers() { }

    public static void main(String[] arguments) throws Exception {
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream answers = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        Consumers consumers = new Consumers();
        String line;
        while ((line = commands.readLine()) != null) {
            consumers.handle(JSON.readTree(line));
            answers.println(JSON.writeValueAsString(consumers.state()));
            answers.flush();
        }
        consumers.consumers.values().forEach(consumer -> consumer.close(AT_THE_END));
    }

    private void handle(JsonNode command) {
        String name = command.path("name").asText();
        switch (command.get("do").textValue()) {
            case "join" -> {
                Properties settings = new Properties();
                settings.put("bootstrap.servers", command.get("address").textValue());
                settings.put("group.id", command.get("group").textValue());
                settings.put("client.id", name);
                settings.put("group.protocol", "classic");
                settings.put("partition.assignment.strategy", command.get("assignor").textValue());
                settings.put("enable.auto.commit", "false");
                settings.put("heartbeat.interval.ms", "200");
                settings.put("metadata.max.age.ms", "1000");
                settings.put("key.deserializer", ByteArrayDeserializer.class.getName());
                settings.put("value.deserializer", ByteArrayDeserializer.class.getName());
                command.path("settings").fields().forEachRemaining(
                    setting -> settings.put(setting.getKey(), setting.getValue().textValue()));
                KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(settings);
                consumer.subscribe(texts(command.get("topics")));
                consumers.put(name, consumer);
            }
            case "subscribe" -> consumers.get(name).subscribe(texts(command.get("topics")));
            case "leave" -> consumers.remove(name).close(Duration.ofMillis(command.path("limit_ms").asLong(30_000)));
            case "poll" -> consumers.forEach(this::poll);
            default -> throw new IllegalArgumentException("unknown command: " + command);
        }
    }

    private void poll(String name, KafkaConsumer<byte[], byte[]> consumer) {
        try {
            consumer.poll(SHORT);
        } catch (RuntimeException error) {
            errors.put(name, error.toString());
        }
    }

    private ObjectNode state() {
        ObjectNode state = JSON.createObjectNode();
        consumers.forEach((name, consumer) -> {
            ObjectNode member = state.putObject(name);
            member.put("member_id", consumer.groupMetadata().memberId());
            member.put("generation", consumer.groupMetadata().generationId());
            member.put("error", errors.get(name));
            ArrayNode partitions = member.putArray("partitions");
            consumer.assignment().forEach(each -> partitions.addArray().add(each.topic()).add(each.partition()));
        });
        return state;
    }

    private static List<String> texts(JsonNode list) {
        List<String> found = new ArrayList<>();
        list.forEach(each -> found.add(each.textValue()));
        return found;
    }
}
