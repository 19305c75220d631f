import dev.flow.Flow;
import dev.flow.TestOutcome;
import java.util.List;

/** What `fuzz-cli` and `compare-output` record: a little of everything that a trace can have. */
public class Recorded {
    int total;

    /** A constructor that calls another one, which may throw. */
    static class Part extends Base {
        Part(int number) {
            super(number);
            depth(1);
        }
    }

    static class Base {
        Base(int number) {
            if (number % 5 == 0) throw new IllegalArgumentException("part " + number);
        }
    }

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
        Recorded one = new Recorded();
        for (int round = 0; round < count; round++) {
            one.add(round, "text " + round, new Object[] {round, null});
            loop(round % 20);
            try {
                one.fail(round);
            } catch (IllegalStateException expected) {
                depth(3);
            }
            try {
                new Part(round);
            } catch (IllegalArgumentException expected) {
                depth(2);
            }
        }
    }

    static void test(String name, int count, TestOutcome outcome, String reason) {
        String test = "[engine:fuzz]/[class:Recorded]/[method:" + name + "()]";
        Flow.testStarted(test, name);
        rounds(count);
        Flow.testEnded(test, outcome, reason);
    }

    /** Starts a virtual thread, where there are some. */
    static Thread startVirtual(Runnable task) {
        try {
            return (Thread) Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, task);
        } catch (ReflectiveOperationException none) {
            return null;
        }
    }

    /**
     * Arguments: how many rounds, and what follows: {@code attach}, to wait in the beginning until its standard input ends;
     * {@code snapshot}; or {@code wait} to be killed.
     */
    public static void main(String[] words) throws Exception {
        int count = Integer.parseInt(words[0]);
        List<String> further = List.of(words).subList(1, words.length);
        if (further.contains("attach")) {
            System.out.println("ready");
            // Until it ends.
            while (System.in.read() >= 0) {}
        }
        test("first", 5, TestOutcome.PASSED, "");
        test("second", 8, TestOutcome.FAILED, "expected 1, but was 2");
        Flow.note("a note");
        Flow.pause();
        rounds(2);
        Flow.resume();
        Thread[] threads = new Thread[3];
        for (int at = 0; at < threads.length; at++) {
            threads[at] = new Thread(() -> rounds(Math.min(count, 60_000)), "worker " + at);
            threads[at].start();
        }
        Thread virtual = startVirtual(() -> rounds(2));
        rounds(count);
        for (Thread thread : threads) thread.join();
        if (virtual != null) virtual.join();
        for (int at = 0; at < 20; at++) {
            Thread ended = new Thread(() -> rounds(1), "short " + at);
            ended.start();
            ended.join();
        }
        if (further.contains("snapshot")) Flow.snapshot("fuzz");
        System.out.println("done");
        if (further.contains("wait")) Thread.sleep(600_000);
    }
}
