package org.apache.kafka.clients.consumer;

import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Assignment;
import org.apache.kafka.common.TopicPartition;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * Program that encodes the user data of a member's subscription with Kafka's own assignors.
 *
 * A line of input has in "assignor" the name "sticky" or "cooperative-sticky", and in "assignments" the successive
 * assignments of the member, each with a list of "partitions" ([topic, partition]) and a "generation". The response has in
 * "user_data" the bytes after the last assignment as hex, or null, and in "version" the version of the assignor.
 */
public final class UserDataOracle {
    private static final ObjectMapper JSON = new ObjectMapper();

    private UserDataOracle() {
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.println(answer(JSON.readTree(line)));
        }
    }

    private static ObjectNode answer(JsonNode asked) {
        ConsumerPartitionAssignor assignor =
            asked.get("assignor").asText().equals("sticky") ? new StickyAssignor() : new CooperativeStickyAssignor();
        for (JsonNode assignment : asked.get("assignments")) {
            List<TopicPartition> partitions = new ArrayList<>();
            for (JsonNode partition : assignment.get("partitions")) {
                partitions.add(new TopicPartition(partition.get(0).asText(), partition.get(1).asInt()));
            }
            int generation = assignment.get("generation").asInt();
            assignor.onAssignment(new Assignment(partitions), new ConsumerGroupMetadata("g", generation, "m", Optional.empty()));
        }
        ByteBuffer data = assignor.subscriptionUserData(Set.of());
        ObjectNode answer = JSON.createObjectNode();
        if (data == null) {
            answer.putNull("user_data");
        } else {
            byte[] bytes = new byte[data.remaining()];
            data.get(bytes);
            answer.put("user_data", HexFormat.of().formatHex(bytes));
        }
        return answer.put("version", assignor.version());
    }
}
