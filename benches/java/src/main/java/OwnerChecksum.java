import java.nio.charset.StandardCharsets;
import java.util.zip.CRC32;

/** Number of assigned partitions, and a checksum of their owners that does not depend on their order. */
final class OwnerChecksum {
    private long partitions;
    private long checksum;

    /** Add the partitions of a member in one topic. */
    void add(String member, String topic, Iterable<Integer> ids) {
        long first = crc(member) * 0x9E3779B97F4A7C15L + crc(topic) * 0xC2B2AE3D27D4EB4FL;
        for (int id : ids) {
            partitions++;
            checksum += mix(first + id);
        }
    }

    @Override
    public String toString() {
        return partitions + " " + Long.toHexString(checksum);
    }

    private static long crc(String text) {
        CRC32 crc = new CRC32();
        crc.update(text.getBytes(StandardCharsets.UTF_8));
        return crc.getValue();
    }

    /** Return a value mixed by the last steps of SplitMix64. */
    static long mix(long value) {
        value = (value ^ value >>> 30) * 0xBF58476D1CE4E5B9L;
        value = (value ^ value >>> 27) * 0x94D049BB133111EBL;
        return value ^ value >>> 31;
    }
}
