package streams;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.kafka.coordinator.group.streams.assignor.AssignmentMemberSpec;
import org.apache.kafka.coordinator.group.streams.assignor.GroupSpecImpl;
import org.apache.kafka.coordinator.group.streams.assignor.MemberAssignment;
import org.apache.kafka.coordinator.group.streams.assignor.StickyTaskAssignor;
import org.apache.kafka.coordinator.group.streams.assignor.TopologyDescriber;

/**
 * Program with the broker's own assignor of streams groups, StickyTaskAssignor of the 4.3.1 jars: it reads questions as lines of JSON,
 * and writes the answer to each as a line.
 *
 * <p>A question is a case of the kind `assignors` whose assignor is `streams_sticky`, without an answer. The answer has the field
 * `expected`, or `error` with the class and the message of the exception, and the fields `member_order` and `process_order`.
 */
public final class StreamsOracle {
    private static final ObjectMapper JSON = new ObjectMapper();

    private StreamsOracle() { }

    public static void main(String[] arguments) throws Exception {
        BufferedReader questions = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream answers = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        String line;
        while ((line = questions.readLine()) != null) {
            answers.println(JSON.writeValueAsString(answer(JSON.readTree(line))));
            answers.flush();
        }
    }

    private static ObjectNode answer(JsonNode question) {
        Map<String, AssignmentMemberSpec> members = new HashMap<>();
        question.get("members").forEach(member -> members.put(member.get("member_id").textValue(), member(member)));
        ObjectNode answer = JSON.createObjectNode();
        members.keySet().forEach(answer.putArray("member_order")::add);
        addProcessOrder(members, answer.putArray("process_order"));
        Map<String, String> settings = Map.of("num.standby.replicas", question.get("standby_replicas").asText());
        try {
            Map<String, MemberAssignment> found = new StickyTaskAssignor()
                .assign(new GroupSpecImpl(Collections.unmodifiableMap(members), settings), new Topology(question.get("topology")))
                .members();
            ObjectNode expected = answer.putObject("expected");
            question.get("members").forEach(member -> {
                String name = member.get("member_id").textValue();
                ObjectNode tasks = expected.putObject(name);
                addTasks(found.get(name).activeTasks(), tasks.putArray("active"));
                addTasks(found.get(name).standbyTasks(), tasks.putArray("standby"));
                addTasks(found.get(name).warmupTasks(), tasks.putArray("warmup"));
            });
        } catch (RuntimeException raised) {
            answer.putArray("error").add(raised.getClass().getName()).add(raised.getMessage());
        }
        return answer;
    }

    /** The subtopologies of a question. */
    private static final class Topology implements TopologyDescriber {
        private final Map<String, JsonNode> subtopologies = new LinkedHashMap<>();

        Topology(JsonNode topology) {
            topology.forEach(each -> subtopologies.put(each.get("subtopology").textValue(), each));
        }

        @Override
        public List<String> subtopologies() {
            return List.copyOf(subtopologies.keySet());
        }

        @Override
        public int maxNumInputPartitions(String subtopology) {
            return subtopologies.get(subtopology).get("tasks").intValue();
        }

        @Override
        public boolean isStateful(String subtopology) {
            return subtopologies.get(subtopology).get("stateful").booleanValue();
        }
    }

    /** Return a member with its previous target, as the broker passes it: without task offsets. */
    private static AssignmentMemberSpec member(JsonNode member) {
        Map<String, String> tags = new HashMap<>();
        member.path("client_tags").fields().forEachRemaining(tag -> tags.put(tag.getKey(), tag.getValue().textValue()));
        return new AssignmentMemberSpec(
            Optional.ofNullable(member.path("instance_id").textValue()),
            Optional.empty(),
            tasks(member.get("active")),
            tasks(member.get("standby")),
            tasks(member.get("warmup")),
            member.get("process_id").textValue(),
            tags,
            Map.of(),
            Map.of());
    }

    private static Map<String, Set<Integer>> tasks(JsonNode list) {
        Map<String, Set<Integer>> found = new HashMap<>();
        list.forEach(task ->
            found.computeIfAbsent(task.get(0).textValue(), key -> new HashSet<>()).add(task.get(1).intValue()));
        return found;
    }

    private static void addTasks(Map<String, Set<Integer>> tasks, ArrayNode list) {
        tasks.forEach((subtopology, numbers) -> numbers.forEach(number -> list.addArray().add(subtopology).add(number)));
    }

    /** Add the tables of the class that decide ties: its processes, and the members of each, in table order. */
    private static void addProcessOrder(Map<String, AssignmentMemberSpec> members, ArrayNode list) {
        Map<String, Map<String, AssignmentMemberSpec>> processes = new HashMap<>(members.size());
        members.forEach((name, member) -> {
            processes.putIfAbsent(member.processId(), new HashMap<>());
            processes.get(member.processId()).put(name, member);
        });
        processes.forEach((process, of) -> {
            ArrayNode names = list.addArray().add(process).addArray();
            of.keySet().forEach(names::add);
        });
    }
}
