package org.apache.kafka.clients.consumer.internals;

import org.apache.kafka.common.TopicPartition;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import java.util.Collection;

/** Log of the effects of an event on Kafka's member, in order: requests, callbacks, commits and errors. */
final class EffectLog {
    static final ObjectMapper JSON = new ObjectMapper();

    private ArrayNode effects = JSON.createArrayNode();
    private int seen;

    /** Clear the log for the next event. */
    void clear() {
        effects = JSON.createArrayNode();
    }

    /** Add an effect, and return it so that the caller can add its fields. */
    ObjectNode add(String kind) {
        seen++;
        return effects.addObject().put("kind", kind);
    }

    /** Return the effects since the event. */
    ArrayNode effects() {
        return effects;
    }

    /** Return the number of effects since the start. */
    int seen() {
        return seen;
    }

    /** Return partitions as pairs, sorted by topic and id. */
    static ArrayNode partitions(Collection<TopicPartition> partitions) {
        ArrayNode sorted = JSON.createArrayNode();
        partitions.stream().sorted(AbstractMembershipManager.TOPIC_PARTITION_COMPARATOR)
            .forEach(partition -> sorted.addArray().add(partition.topic()).add(partition.partition()));
        return sorted;
    }
}
