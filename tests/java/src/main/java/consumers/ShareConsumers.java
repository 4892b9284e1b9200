package consumers;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Field;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeSet;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.consumer.internals.SubscriptionState;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Share consumers of Kafka's Java client, each polled in a thread of its own.
 *
 * <p>A line of JSON is one command: `join` with settings and topics starts a consumer under a name; `subscribe` gives it
 * other topics; `leave` closes it; `say` does nothing. The answer lists for each consumer the partitions that it owns, and
 * the last error, if any. The client has no method for its partitions, so they are read from its private fields. At the
 * end of the input the program stops without leaving the groups.
 */
public final class ShareConsumers {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Duration SHORT = Duration.ofMillis(200);

    private final Map<String, Polled> consumers = new LinkedHashMap<>();

    private ShareConsumers() { }

    public static void main(String[] arguments) throws Exception {
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream answers = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        ShareConsumers program = new ShareConsumers();
        String line;
        while ((line = commands.readLine()) != null) {
            program.handle(JSON.readTree(line));
            answers.println(JSON.writeValueAsString(program.state()));
            answers.flush();
        }
        Runtime.getRuntime().halt(0);
    }

    private void handle(JsonNode command) throws Exception {
        String name = command.path("name").asText();
        switch (command.get("do").textValue()) {
            case "join" -> {
                Properties settings = new Properties();
                settings.put("client.id", name);
                settings.put("key.deserializer", ByteArrayDeserializer.class.getName());
                settings.put("value.deserializer", ByteArrayDeserializer.class.getName());
                command.get("settings").fields().forEachRemaining(
                    setting -> settings.put(setting.getKey(), setting.getValue().textValue()));
                Polled polled = new Polled(settings, texts(command.get("topics")));
                consumers.put(name, polled);
                polled.start();
            }
            case "subscribe" -> consumers.get(name).topics = texts(command.get("topics"));
            case "leave" -> {
                Polled polled = consumers.remove(name);
                polled.isStopped = true;
                polled.join();
            }
            case "say" -> { }
            default -> throw new IllegalArgumentException("unknown command: " + command);
        }
    }

    private ObjectNode state() throws ReflectiveOperationException {
        ObjectNode state = JSON.createObjectNode();
        for (Map.Entry<String, Polled> entry : consumers.entrySet()) {
            ObjectNode member = state.putObject(entry.getKey());
            member.put("error", entry.getValue().error);
            ArrayNode partitions = member.putArray("partitions");
            TreeSet<String> sorted = new TreeSet<>();
            entry.getValue().subscriptions.assignedPartitions().forEach(each -> sorted.add(each.toString()));
            sorted.forEach(partitions::add);
        }
        return state;
    }

    private static List<String> texts(JsonNode list) {
        List<String> found = new ArrayList<>();
        list.forEach(each -> found.add(each.textValue()));
        return found;
    }

    /** A consumer and the thread that polls it. */
    private static final class Polled extends Thread {
        final SubscriptionState subscriptions;
        volatile List<String> topics;
        volatile boolean isStopped;
        volatile String error;
        private final KafkaShareConsumer<byte[], byte[]> consumer;
        private List<String> subscribed;

        Polled(Properties settings, List<String> topics) throws ReflectiveOperationException {
            consumer = new KafkaShareConsumer<>(settings);
            subscriptions = (SubscriptionState) field(field(consumer, "delegate"), "subscriptions");
            this.topics = topics;
        }

        private static Object field(Object owner, String name) throws ReflectiveOperationException {
            Field field = owner.getClass().getDeclaredField(name);
            field.setAccessible(true);
            return field.get(owner);
        }

        @Override
        public void run() {
            try (consumer) {
                while (!isStopped) {
                    if (topics != subscribed) {
                        subscribed = topics;
                        consumer.subscribe(subscribed);
                    }
                    consumer.poll(SHORT);
                }
            } catch (RuntimeException problem) {
                error = problem.toString();
            }
        }
    }
}
