import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Program that calls Kafka's assignors on commands from standard input, so that its calls can alternate with those of another process.
 * The answer to each line is one line:
 *
 * <pre>
 * group ASSIGNOR SUBSCRIPTION RACKS MEMBERS TOPICS PARTITIONS EVENT RESTARTS
 *     builds the rebalances of an event, see TimedGroup; returns PARTITIONS CHECKSUM of each timed rebalance.
 *     ASSIGNOR is roundrobin, sticky, cooperative-sticky, uniform or server-range.
 * warm MILLISECONDS   computes all timed rebalances for this time, at least once; returns the nanoseconds of one round
 * time CALLS          computes all timed rebalances CALLS times; returns the nanoseconds of all calls
 * </pre>
 */
public final class AssignorTimer {
    private final List<TimedRebalance> timed = new ArrayList<>();
    private final List<String> answers = new ArrayList<>();

    /** Number of members in all answers; its use keeps the compiler from removing calls. */
    private long members;

    private AssignorTimer(String[] words) {
        String assignor = words[1];
        int[] sizes = {Integer.parseInt(words[4]), Integer.parseInt(words[5]), Integer.parseInt(words[6])};
        TimedGroup group = new TimedGroup(words[2], words[3], sizes[0], sizes[1], sizes[2]);
        boolean isBroker = assignor.equals("uniform") || assignor.equals("server-range");
        Map<String, Map<String, List<Integer>>> owned = Map.of();
        List<Map<String, Integer>> rebalances = group.rebalances(words[7], Integer.parseInt(words[8]));
        for (Map<String, Integer> current : rebalances) {
            TimedRebalance rebalance = isBroker
                ? new BrokerRebalance(assignor, group, current, owned)
                : new LeaderRebalance(assignor, group, current, owned);
            owned = rebalance.owned();
            if (rebalances.size() == 1 || current != rebalances.get(0)) {
                timed.add(rebalance);
                OwnerChecksum checksum = new OwnerChecksum();
                owned.forEach((member, topics) -> topics.forEach((topic, ids) -> checksum.add(member, topic, ids)));
                answers.add(checksum.toString());
            }
        }
    }

    private long once() {
        long nanoseconds = 0;
        for (TimedRebalance rebalance : timed) {
            rebalance.prepare();
            long start = System.nanoTime();
            members += rebalance.assign();
            nanoseconds += System.nanoTime() - start;
        }
        return nanoseconds;
    }

    private long warm(long milliseconds) {
        long calls = 0;
        long nanoseconds = 0;
        long end = System.nanoTime() + milliseconds * 1_000_000;
        do {
            nanoseconds += once();
            calls++;
        } while (System.nanoTime() < end);
        return nanoseconds / calls;
    }

    private long time(int calls) {
        long nanoseconds = 0;
        for (int call = 0; call < calls; call++) {
            nanoseconds += once();
        }
        return nanoseconds;
    }

    public static void main(String[] arguments) throws IOException {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        AssignorTimer timer = null;
        long members = 0;
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split(" ");
            String answer;
            if (words[0].equals("group")) {
                members += timer == null ? 0 : timer.members;
                timer = null; // let the collector free the previous group
                timer = new AssignorTimer(words);
                answer = String.join(" ", timer.answers);
            } else if (words[0].equals("warm")) {
                answer = Long.toString(timer.warm(Long.parseLong(words[1])));
                System.gc();
            } else {
                answer = Long.toString(timer.time(Integer.parseInt(words[1])));
            }
            System.out.println(answer);
        }
        System.err.println("members assigned: " + (members + (timer == null ? 0 : timer.members)));
    }
}
