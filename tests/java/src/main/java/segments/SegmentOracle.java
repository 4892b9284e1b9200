package segments;

import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.record.internal.CompressionType;
import org.apache.kafka.common.record.internal.ControlRecordType;
import org.apache.kafka.common.record.internal.FileRecords;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MemoryRecordsBuilder;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.record.internal.RecordBatch;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HexFormat;

/**
 * Program that reads log segments with the class that brokers and kafka-dump-log use, and writes them with Kafka's builder.
 *
 * A line of input has either "read", the path of a segment, or "write", the path of a new one, with the "magic" number of its
 * format, a "codec", an "appended" time or null, and "batches": lists of records as offset, timestamp, key and value. The
 * response to "read" has the number of "batches", "end_offset" and "records"; keys and values are in hexadecimal digits.
 */
public final class SegmentOracle {
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            JsonNode asked = JSON.readTree(line);
            out.println(asked.has("read") ? read(new File(asked.get("read").textValue())) : write(asked));
        }
    }

    private static ObjectNode read(File file) throws IOException {
        ObjectNode answer = JSON.createObjectNode();
        ArrayNode records = answer.putArray("records");
        int batches = 0;
        try (FileRecords segment = FileRecords.open(file, false)) {
            for (RecordBatch batch : segment.batches()) {
                batch.ensureValid();
                batches++;
                answer.put("end_offset", batch.nextOffset());
                for (Record record : batch) {
                    ArrayNode row = records.addArray().add(record.offset()).add(record.timestamp());
                    row.add(digits(record.key())).add(digits(record.value())).add(batch.partitionLeaderEpoch());
                    row.add(batch.producerId()).add(batch.isTransactional());
                    row.add(batch.isControlBatch() ? ControlRecordType.parseTypeId(record.key()) : null);
                }
            }
        }
        return answer.put("batches", batches);
    }

    private static ObjectNode write(JsonNode asked) throws IOException {
        byte magic = (byte) asked.get("magic").intValue();
        Compression codec = Compression.of(CompressionType.forName(asked.get("codec").textValue())).build();
        JsonNode appended = asked.get("appended");
        TimestampType kind = appended.isNull() ? TimestampType.CREATE_TIME : TimestampType.LOG_APPEND_TIME;
        ByteBuffer buffer = ByteBuffer.allocate(1 << 24);
        for (JsonNode batch : asked.get("batches")) {
            long base = batch.get(0).get(0).longValue();
            long time = appended.isNull() ? RecordBatch.NO_TIMESTAMP : appended.longValue();
            MemoryRecordsBuilder builder =
                MemoryRecords.builder(ByteBuffer.allocate(1 << 16), magic, codec, kind, base, time);
            for (JsonNode each : batch) {
                byte[] key = bytes(each.get(2));
                builder.appendWithOffset(each.get(0).longValue(), each.get(1).longValue(), key, bytes(each.get(3)));
            }
            buffer.put(builder.build().buffer());
        }
        buffer.flip();
        byte[] data = new byte[buffer.remaining()];
        buffer.get(data);
        Files.write(Path.of(asked.get("write").textValue()), data);
        return JSON.createObjectNode();
    }

    private static String digits(ByteBuffer buffer) {
        if (buffer == null) {
            return null;
        }
        byte[] data = new byte[buffer.remaining()];
        buffer.duplicate().get(data);
        return HexFormat.of().formatHex(data);
    }

    private static byte[] bytes(JsonNode digits) {
        return digits.isNull() ? null : HexFormat.of().parseHex(digits.textValue());
    }
}
