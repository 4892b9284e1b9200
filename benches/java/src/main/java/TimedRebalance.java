import java.util.List;
import java.util.Map;

/** A rebalance whose input is complete: one call of an assignor. */
interface TimedRebalance {
    /** Restore what a call consumes; not timed. */
    default void prepare() {
    }

    /** Call the assignor; return the number of members in its answer. */
    int assign();

    /** Call the assignor; return per member and topic the ids that the member owns, ascending. */
    Map<String, Map<String, List<Integer>>> owned();
}
