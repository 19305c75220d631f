import dev.flow.Flow;
import dev.flow.TestOutcome;
import java.util.List;

/** What `fuzz-cli` records: a little of everything that a trace can have. */
public class Fuzzed {
    int total;

    static int depth(int left) {
        return left == 0 ? 0 : 1 + depth(left - 1);
    }

    int add(int number, String text, Object[] more) {
        total += number + text.length() + more.length;
        return total;
    }

    void fail(int number) {
        if (number % 3 == 0) throw new IllegalStateException("number " + number);
    }

    static long loop(int times) {
        long sum = 0;
        for (int at = 0; at < times; at++) {
            sum += at % 7 == 0 ? depth(at % 5) : at;
        }
        return sum;
    }

    static void rounds(int count) {
        Fuzzed one = new Fuzzed();
        for (int round = 0; round < count; round++) {
            one.add(round, "text " + round, new Object[] {round, null});
            loop(round % 20);
            try {
                one.fail(round);
            } catch (IllegalStateException expected) {
                depth(3);
            }
        }
    }

    /** Arguments: how many rounds, and what follows: {@code snapshot}, or {@code wait} to be killed. */
    public static void main(String[] words) throws Exception {
        int count = Integer.parseInt(words[0]);
        String test = "[engine:fuzz]/[class:Fuzzed]/[method:first()]";
        Flow.testStarted(test, "first");
        rounds(5);
        Flow.testEnded(test, TestOutcome.PASSED, "");
        Flow.note("a note");
        Thread[] threads = new Thread[3];
        for (int at = 0; at < threads.length; at++) {
            threads[at] = new Thread(() -> rounds(count), "worker " + at);
            threads[at].start();
        }
        rounds(count);
        for (Thread thread : threads) thread.join();
        for (int at = 0; at < 20; at++) {
            Thread ended = new Thread(() -> rounds(1), "short " + at);
            ended.start();
            ended.join();
        }
        List<String> further = List.of(words).subList(1, words.length);
        if (further.contains("snapshot")) Flow.snapshot("fuzz");
        System.out.println("done");
        if (further.contains("wait")) Thread.sleep(600_000);
    }
}
