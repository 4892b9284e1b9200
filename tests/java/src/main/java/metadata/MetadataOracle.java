package metadata;

import org.apache.kafka.common.metadata.MetadataJsonConverters;
import org.apache.kafka.common.metadata.MetadataRecordType;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.metadata.MetadataRecordSerde;
import org.apache.kafka.server.common.ApiMessageAndVersion;

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
 * Program that encodes and decodes records of __cluster_metadata with Kafka's own serde and JSON converters.
 *
 * A line of input with "type", "version" and "data" has the fields of a record as JSON; the response has the "bytes" that
 * Kafka encodes. For a line with "bytes", the response has the type, version and data that Kafka decodes, or the "error".
 * For the line {}, the response has the highest version of each type.
 */
public final class MetadataOracle {
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.println(answer(JSON.readTree(line)));
        }
    }

    private static ObjectNode answer(JsonNode asked) {
        if (asked.has("bytes")) {
            return decoded(HexFormat.of().parseHex(asked.get("bytes").textValue()));
        }
        ObjectNode answer = JSON.createObjectNode();
        if (!asked.has("type")) {
            for (MetadataRecordType type : MetadataRecordType.values()) {
                answer.put(Short.toString(type.id()), type.highestSupportedVersion());
            }
            return answer;
        }
        short type = asked.get("type").shortValue();
        short version = asked.get("version").shortValue();
        ApiMessage message = MetadataJsonConverters.readJson(asked.get("data"), type, version);
        ApiMessageAndVersion record = new ApiMessageAndVersion(message, version);
        ObjectSerializationCache cache = new ObjectSerializationCache();
        ByteBuffer buffer = ByteBuffer.allocate(MetadataRecordSerde.INSTANCE.recordSize(record, cache));
        MetadataRecordSerde.INSTANCE.write(record, cache, new ByteBufferAccessor(buffer));
        return answer.put("bytes", HexFormat.of().formatHex(buffer.array()));
    }

    private static ObjectNode decoded(byte[] bytes) {
        ObjectNode answer = JSON.createObjectNode();
        try {
            ByteBufferAccessor readable = new ByteBufferAccessor(ByteBuffer.wrap(bytes));
            ApiMessageAndVersion record = MetadataRecordSerde.INSTANCE.read(readable, bytes.length);
            answer.put("type", record.message().apiKey()).put("version", record.version());
            answer.set("data", MetadataJsonConverters.writeJson(record.message(), record.version()));
        } catch (RuntimeException exception) {
            answer.put("error", exception.toString());
        }
        return answer;
    }
}
