import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Topics and members of a timed group; benches/workloads.py describes them.
 *
 * @param subscription HOMOGENEOUS, FIFTHS (member m subscribes to fifth m mod 5 of the topics) or HALF (members of odd numbers
 *     subscribe to the first half of the topics)
 * @param racks none, two (partition p is on racks p mod 3 and p + 1 mod 3, member m on rack m mod 3) or far (few partitions are on
 *     the rack of a member)
 */
record TimedGroup(String subscription, String racks, int members, int topics, int partitions) {
    static final int RACKS = 3;
    private static final int FIFTHS = 5;

    /** Return the names of the topics. */
    List<String> names() {
        List<String> names = new ArrayList<>();
        for (int topic = 0; topic < topics; topic++) {
            names.add("topic" + topic);
        }
        return names;
    }

    /** Return the topics to which a member subscribes. */
    List<String> topicsOf(int member, List<String> names) {
        switch (subscription) {
            case "HOMOGENEOUS":
                return names;
            case "HALF":
                return member % 2 == 0 ? names : names.subList(0, (topics + 1) / 2);
            case "FIFTHS":
                int step = (topics + FIFTHS - 1) / FIFTHS;
                int first = Math.min(topics, member % FIFTHS * step);
                return names.subList(first, Math.min(topics, first + step));
            default:
                throw new IllegalArgumentException("unknown subscription: " + subscription);
        }
    }

    /** Return the racks of the replicas of a partition; empty without racks. */
    int[] racksOfPartition(int topic, int id) {
        switch (racks) {
            case "none":
                return new int[0];
            case "two":
                return new int[] {id % RACKS, (id + 1) % RACKS};
            case "far":
                return new int[] {id == 0 && topic % 10 == 0 ? 0 : 1, 2};
            default:
                throw new IllegalArgumentException("unknown racks: " + racks);
        }
    }

    /** Return the rack of a member; null without racks. */
    String rackOfMember(int member) {
        if (racks.equals("none")) {
            return null;
        }
        return "rack" + (racks.equals("two") ? member % RACKS : member == 0 ? 1 : 0);
    }

    /**
     * Return the members of each rebalance of an event, ids with numbers, in the order in which the group lists them.
     *
     * <p>The first rebalance starts without owners; every later rebalance starts from the previous answer. For all events except
     * {@code first}, the first rebalance is not timed: it gives the members the partitions that they own.
     *
     * @param event first, join (one more member), leave (one fewer) or rolling (members leave and return with a new id, one after
     *     another)
     * @param restarts number of members that restart in a rolling restart
     */
    List<Map<String, Integer>> rebalances(String event, int restarts) {
        Map<String, Integer> current = new LinkedHashMap<>();
        for (int member = 0; member < members; member++) {
            current.put("member" + member, member);
        }
        List<Map<String, Integer>> rebalances = new ArrayList<>(List.of(current));
        if (event.equals("join")) {
            rebalances.add(changed(current, null, "member" + members, members));
        } else if (event.equals("leave")) {
            rebalances.add(changed(current, "member" + members / 2, null, 0));
        } else if (event.equals("rolling")) {
            for (int restart = 0; restart < restarts; restart++) {
                int member = restart * (members / restarts);
                current = changed(current, "member" + member, null, 0);
                rebalances.add(current);
                current = changed(current, null, "member" + member + "-again", member);
                rebalances.add(current);
            }
        } else if (!event.equals("first")) {
            throw new IllegalArgumentException("unknown event: " + event);
        }
        return rebalances;
    }

    private static Map<String, Integer> changed(Map<String, Integer> members, String gone, String added, int number) {
        Map<String, Integer> changed = new LinkedHashMap<>(members);
        if (gone != null) {
            changed.remove(gone);
        }
        if (added != null) {
            changed.put(added, number);
        }
        return changed;
    }
}
