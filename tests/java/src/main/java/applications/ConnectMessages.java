package applications;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import org.apache.kafka.connect.runtime.distributed.ConnectProtocol;
import org.apache.kafka.connect.runtime.distributed.ExtendedAssignment;
import org.apache.kafka.connect.runtime.distributed.ExtendedWorkerState;
import org.apache.kafka.connect.runtime.distributed.IncrementalCooperativeConnectProtocol;
import org.apache.kafka.connect.util.ConnectorTaskId;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;

/** Messages of Kafka Connect, as the protocol of their version writes and reads them; a task is [connector, number]. */
final class ConnectMessages {
    static ByteBuffer encodeSubscription(JsonNode fields) {
        int version = fields.get("version").intValue();
        String url = fields.get("url").textValue();
        long offset = fields.get("offset").longValue();
        if (version == 0) {
            return ConnectProtocol.serializeMetadata(new ConnectProtocol.WorkerState(url, offset));
        }
        JsonNode owned = fields.get("owned");
        ExtendedAssignment assignment = owned.isNull() ? null : extended(owned);
        return IncrementalCooperativeConnectProtocol.serializeMetadata(
            new ExtendedWorkerState(url, offset, assignment), version == 2
        );
    }

    static ByteBuffer encodeAssignment(JsonNode fields) {
        int version = fields.get("version").intValue();
        return version == 0
            ? ConnectProtocol.serializeAssignment(extended(fields))
            : IncrementalCooperativeConnectProtocol.serializeAssignment(extended(fields), version == 2);
    }

    static ObjectNode decodeSubscription(ByteBuffer bytes) {
        short version = bytes.duplicate().getShort();
        ObjectNode fields = ApplicationOracle.JSON.createObjectNode().put("version", version);
        if (version == 0) {
            ConnectProtocol.WorkerState found = ConnectProtocol.deserializeMetadata(bytes);
            fields.put("url", found.url()).put("offset", found.offset()).putNull("owned");
            return fields;
        }
        ExtendedWorkerState found = IncrementalCooperativeConnectProtocol.deserializeMetadata(bytes);
        fields.put("url", found.url()).put("offset", found.offset());
        ExtendedAssignment owned = found.assignment();
        if (owned == ExtendedAssignment.empty()) {
            fields.putNull("owned");
        } else {
            fields.set("owned", extendedFields(owned));
        }
        return fields;
    }

    static ObjectNode decodeAssignment(ByteBuffer bytes) {
        short version = bytes.duplicate().getShort();
        if (version != 0) {
            return extendedFields(IncrementalCooperativeConnectProtocol.deserializeAssignment(bytes));
        }
        ObjectNode fields = fields(version, ConnectProtocol.deserializeAssignment(bytes));
        fields.putArray("revoked_connectors");
        fields.putArray("revoked_tasks");
        return fields.put("delay", 0);
    }

    private static ExtendedAssignment extended(JsonNode fields) {
        return new ExtendedAssignment(
            fields.get("version").shortValue(),
            fields.get("error").shortValue(),
            fields.get("leader").textValue(),
            fields.get("leader_url").textValue(),
            fields.get("offset").longValue(),
            names(fields.get("connectors")),
            tasks(fields.get("tasks")),
            names(fields.get("revoked_connectors")),
            tasks(fields.get("revoked_tasks")),
            fields.get("delay").intValue()
        );
    }

    private static ObjectNode extendedFields(ExtendedAssignment found) {
        ObjectNode fields = fields(found.version(), found);
        found.revokedConnectors().forEach(fields.putArray("revoked_connectors")::add);
        putTasks(fields.putArray("revoked_tasks"), found.revokedTasks());
        return fields.put("delay", found.delay());
    }

    private static ObjectNode fields(short version, ConnectProtocol.Assignment found) {
        ObjectNode fields = ApplicationOracle.JSON.createObjectNode().put("version", version);
        fields.put("error", found.error()).put("leader", found.leader()).put("leader_url", found.leaderUrl());
        fields.put("offset", found.offset());
        found.connectors().forEach(fields.putArray("connectors")::add);
        putTasks(fields.putArray("tasks"), found.tasks());
        return fields;
    }

    private static List<String> names(JsonNode given) {
        List<String> found = new ArrayList<>();
        given.forEach(each -> found.add(each.textValue()));
        return found;
    }

    private static List<ConnectorTaskId> tasks(JsonNode given) {
        List<ConnectorTaskId> found = new ArrayList<>();
        given.forEach(each -> found.add(new ConnectorTaskId(each.get(0).textValue(), each.get(1).intValue())));
        return found;
    }

    private static void putTasks(ArrayNode to, Collection<ConnectorTaskId> tasks) {
        tasks.forEach(each -> to.addArray().add(each.connector()).add(each.task()));
    }

    private ConnectMessages() {}
}
