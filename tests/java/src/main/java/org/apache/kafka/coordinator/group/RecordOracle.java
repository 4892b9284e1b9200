package org.apache.kafka.coordinator.group;

import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.MessageUtil;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRecord;
import org.apache.kafka.coordinator.group.generated.CoordinatorRecordJsonConverters;
import org.apache.kafka.server.common.ApiMessageAndVersion;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;

/**
 * Program that decodes and encodes records of __consumer_offsets with Kafka's own serde and JSON converters.
 *
 * A line of input has the encoded form of a record in "bytes". The response has in "read" the JSON that Kafka decodes from
 * it, or in "error" the exception if Kafka cannot decode it. If the input also has the record's type, version, key and value
 * as JSON, the response has in "made" the bytes that Kafka encodes from this JSON, in "versions" the value encoded at each
 * version, and in "rewritten" the bytes that Kafka encodes from the decoded record.
 */
public final class RecordOracle {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final GroupCoordinatorRecordSerde SERDE = new GroupCoordinatorRecordSerde();

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.println(answer(JSON.readTree(line)));
        }
    }

    private static ObjectNode answer(JsonNode asked) {
        ObjectNode answer = JSON.createObjectNode();
        CoordinatorRecord read;
        try {
            read = SERDE.deserialize(buffer(asked.get("bytes").get(0)), buffer(asked.get("bytes").get(1)));
        } catch (RuntimeException exception) {
            return answer.put("error", exception.toString());
        }
        answer.set("read", json(read));
        if (asked.has("type")) {
            CoordinatorRecord made = made(asked);
            answer.set("made", bytes(made));
            answer.set("versions", everyVersion(made));
            answer.set("rewritten", bytes(read));
        }
        return answer;
    }

    private static CoordinatorRecord made(JsonNode asked) {
        short type = (short) asked.get("type").intValue();
        ApiMessage key = CoordinatorRecordJsonConverters.readRecordKeyFromJson(asked.get("key"), type);
        if (asked.get("value").isNull()) {
            return CoordinatorRecord.tombstone(key);
        }
        short version = (short) asked.get("version").intValue();
        ApiMessage value = CoordinatorRecordJsonConverters.readRecordValueFromJson(asked.get("value"), type, version);
        return CoordinatorRecord.record(key, new ApiMessageAndVersion(value, version));
    }

    private static ArrayNode everyVersion(CoordinatorRecord record) {
        ArrayNode versions = JSON.createArrayNode();
        if (record.value() != null) {
            ApiMessage value = record.value().message();
            for (short version = value.lowestSupportedVersion(); version <= value.highestSupportedVersion(); version++) {
                versions.add(hex(MessageUtil.toVersionPrefixedBytes(version, value)));
            }
        }
        return versions;
    }

    private static ArrayNode bytes(CoordinatorRecord record) {
        return JSON.createArrayNode().add(hex(SERDE.serializeKey(record))).add(hex(SERDE.serializeValue(record)));
    }

    private static ArrayNode json(CoordinatorRecord record) {
        ArrayNode both = JSON.createArrayNode().add(CoordinatorRecordJsonConverters.writeRecordKeyAsJson(record.key()));
        if (record.value() == null) {
            return both.addNull();
        }
        ApiMessageAndVersion value = record.value();
        return both.add(CoordinatorRecordJsonConverters.writeRecordValueAsJson(value.message(), value.version()));
    }

    private static String hex(byte[] bytes) {
        return bytes == null ? null : HexFormat.of().formatHex(bytes);
    }

    private static ByteBuffer buffer(JsonNode hex) {
        return hex.isNull() ? null : ByteBuffer.wrap(HexFormat.of().parseHex(hex.textValue()));
    }
}
