package org.apache.kafka.clients.consumer.internals;

import org.apache.kafka.common.TopicPartition;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import java.util.Collection;

/** What Kafka's member asked for since an event, in order: requests, callbacks, commits, errors and the like. */
final class EffectLog {
    static final ObjectMapper JSON = new ObjectMapper();

    private ArrayNode effects = JSON.createArrayNode();
    private int seen;

    /** Begins anew, for the next event. */
    void clear() {
        effects = JSON.createArrayNode();
    }

    /** Adds an effect, whose fields the caller puts. */
    ObjectNode add(String kind) {
        seen++;
        return effects.addObject().put("kind", kind);
    }

    /** All since the event. */
    ArrayNode effects() {
        return effects;
    }

    /** How many there were in the whole life. */
    int seen() {
        return seen;
    }

    /** Partitions as pairs, sorted by topic and id. */
    static ArrayNode partitions(Collection<TopicPartition> partitions) {
        ArrayNode sorted = JSON.createArrayNode();
        partitions.stream().sorted(AbstractMembershipManager.TOPIC_PARTITION_COMPARATOR)
            .forEach(partition -> sorted.addArray().add(partition.topic()).add(partition.partition()));
        return sorted;
    }
}
