package applications;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;

/**
 * Program that encodes and decodes what Kafka Streams and Kafka Connect write, with their own classes.
 *
 * A line of input has the "kind", and "fields" to encode or "bytes" (hexadecimal) to decode. The response has the other one
 * of the two, or the "error".
 */
public final class ApplicationOracle {
    static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.println(answer(JSON.readTree(line)));
        }
    }

    private static ObjectNode answer(JsonNode asked) {
        ObjectNode answer = JSON.createObjectNode();
        try {
            String kind = asked.get("kind").textValue();
            if (asked.has("fields")) {
                ByteBuffer buffer = encode(kind, asked.get("fields"));
                byte[] bytes = new byte[buffer.remaining()];
                buffer.get(bytes);
                answer.put("bytes", HexFormat.of().formatHex(bytes));
            } else {
                ByteBuffer bytes = ByteBuffer.wrap(HexFormat.of().parseHex(asked.get("bytes").textValue()));
                answer.set("fields", decode(kind, bytes));
            }
        } catch (Exception exception) {
            answer.put("error", exception.toString());
        }
        return answer;
    }

    private static ByteBuffer encode(String kind, JsonNode fields) {
        return switch (kind) {
            case "streams_subscription" -> StreamsMessages.encodeSubscription(fields);
            case "streams_assignment" -> StreamsMessages.encodeAssignment(fields);
            case "connect_subscription" -> ConnectMessages.encodeSubscription(fields);
            case "connect_assignment" -> ConnectMessages.encodeAssignment(fields);
            default -> throw new IllegalArgumentException(kind);
        };
    }

    private static ObjectNode decode(String kind, ByteBuffer bytes) {
        return switch (kind) {
            case "streams_subscription" -> StreamsMessages.decodeSubscription(bytes);
            case "streams_assignment" -> StreamsMessages.decodeAssignment(bytes);
            case "connect_subscription" -> ConnectMessages.decodeSubscription(bytes);
            case "connect_assignment" -> ConnectMessages.decodeAssignment(bytes);
            default -> throw new IllegalArgumentException(kind);
        };
    }

    /** Replaces each surrogate without its other half, which UTF-8 cannot have, by U+FFFD. */
    static String text(String text) {
        if (text == null) {
            return null;
        }
        StringBuilder found = new StringBuilder();
        text.codePoints().forEach(point -> found.appendCodePoint(0xd800 <= point && point <= 0xdfff ? 0xfffd : point));
        return found.toString();
    }
}
