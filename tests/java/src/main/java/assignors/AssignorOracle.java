package assignors;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.kafka.common.TopicPartition;

/**
 * Program with Kafka's own assignors: it reads questions as lines of JSON, and writes the answer to each as a line.
 *
 * <p>A question is a case in the format of the vectors of the kind `assignors`, without an answer. The answer has the
 * field `expected`, or `error` with the class and the message of the exception, and the fields `member_order` and, for
 * sticky assignors, `path`. The partitions of a member are in Kafka's order; for an assignor of the broker, that is the
 * order in which the record of the target assignment lists them. If an assignor does not end within `limit_ms`
 * milliseconds, the error is `endless`; its thread continues, so start another process after that. A question with the field `assignments` asks for the user data of a
 * member, and for the version of the assignor, after these assignments, each with `partitions` and a `generation`.
 */
public final class AssignorOracle {
    static final ObjectMapper JSON = new ObjectMapper();

    private static final int LIMIT_MS = 10_000;
    private static final ExecutorService THREAD = Executors.newSingleThreadExecutor(work -> {
        Thread thread = new Thread(work);
        thread.setDaemon(true);
        return thread;
    });

    private AssignorOracle() { }

    public static void main(String[] arguments) throws Exception {
        BufferedReader questions = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream answers = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        String line;
        while ((line = questions.readLine()) != null) {
            answers.println(JSON.writeValueAsString(answer(JSON.readTree(line))));
            answers.flush();
        }
    }

    private static ObjectNode answer(JsonNode question) throws InterruptedException {
        if (question.has("assignments")) {
            return ClientAssignors.userData(question);
        }
        ObjectNode answer = JSON.createObjectNode();
        String kind = question.get("assignor").textValue();
        Future<?> answered = THREAD.submit(() -> {
            if (ServerAssignors.KINDS.contains(kind)) {
                ServerAssignors.assign(kind, question, answer);
            } else {
                ClientAssignors.assign(kind, question, answer);
            }
        });
        int limit = question.path("limit_ms").asInt(LIMIT_MS);
        try {
            answered.get(limit, TimeUnit.MILLISECONDS);
        } catch (ExecutionException raised) {
            Throwable cause = raised.getCause();
            answer.putArray("error").add(cause.getClass().getName()).add(cause.getMessage());
        } catch (TimeoutException never) {
            ObjectNode endless = JSON.createObjectNode();
            endless.putArray("error").add("endless").add("no answer in " + limit + " ms");
            return endless;
        }
        return answer;
    }

    /** Return the text of a field, or null if it is absent or null. */
    static String text(JsonNode record, String field) {
        JsonNode found = record.path(field);
        return found.isTextual() ? found.textValue() : null;
    }

    /** Return the texts of a list; equal texts are one object, as in a process that reads few distinct names. */
    static List<String> texts(JsonNode list) {
        List<String> found = new ArrayList<>();
        list.forEach(each -> found.add(each.textValue().intern()));
        return found;
    }

    /** Return the partitions of a list of topics and numbers; none if there is no list. */
    static List<TopicPartition> partitions(JsonNode list) {
        List<TopicPartition> found = new ArrayList<>();
        list.forEach(each -> found.add(new TopicPartition(each.get(0).textValue().intern(), each.get(1).intValue())));
        return found;
    }
}
