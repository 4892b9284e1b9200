import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import java.util.function.Predicate;

/**
 * Program that matches topics by patterns on commands from standard input, so that its calls can alternate with those of another
 * process. The answer to each line is one line:
 *
 * <pre>
 * read ENGINE FILE   reads patterns, an empty line and topics, matches them for two seconds; returns the number of matches
 * time ENGINE CALLS  matches CALLS times; returns the nanoseconds of all calls
 * </pre>
 *
 * ENGINE is java (java.util.regex) or re2j. A call compiles every pattern and lists the topics that fully match it.
 */
public final class PatternTimer {
    private static final long WARM = 2_000_000_000L;

    private final List<String> patterns = new ArrayList<>();
    private final List<String> topics = new ArrayList<>();

    private PatternTimer(Path file) throws IOException {
        List<String> into = patterns;
        for (String line : Files.readAllLines(file, StandardCharsets.UTF_8)) {
            if (line.isEmpty()) {
                into = topics;
            } else {
                into.add(line);
            }
        }
    }

    private static Function<String, Predicate<String>> compiler(String engine) {
        if (engine.equals("java")) {
            return text -> {
                java.util.regex.Pattern pattern = java.util.regex.Pattern.compile(text);
                return topic -> pattern.matcher(topic).matches();
            };
        }
        return text -> {
            com.google.re2j.Pattern pattern = com.google.re2j.Pattern.compile(text);
            return topic -> pattern.matcher(topic).matches();
        };
    }

    private long match(String engine) {
        Function<String, Predicate<String>> compiler = compiler(engine);
        long matches = 0;
        for (String text : patterns) {
            Predicate<String> pattern = compiler.apply(text);
            List<String> found = new ArrayList<>();
            for (String topic : topics) {
                if (pattern.test(topic)) {
                    found.add(topic);
                }
            }
            matches += found.size();
        }
        return matches;
    }

    public static void main(String[] arguments) throws IOException {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PatternTimer timer = null;
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            String[] words = line.split(" ", 3);
            if (words[0].equals("read")) {
                timer = new PatternTimer(Path.of(words[2]));
                long matches = timer.match(words[1]);
                for (long start = System.nanoTime(); System.nanoTime() - start < WARM;) {
                    matches = timer.match(words[1]);
                }
                System.out.println(matches);
            } else {
                int calls = Integer.parseInt(words[2]);
                long matches = 0;
                long start = System.nanoTime();
                for (int call = 0; call < calls; call++) {
                    matches += timer.match(words[1]);
                }
                long nanoseconds = System.nanoTime() - start;
                System.out.println(matches < 0 ? -1 : nanoseconds);
            }
        }
    }
}
