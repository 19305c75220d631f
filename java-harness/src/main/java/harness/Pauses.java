package harness;

import dev.flow.Flow;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/**
 * Calls, pauses and resumes at random, at any depth. Prints the calls of {@code step}, {@code Made} and {@code leaf}
 * that must be in the trace of the main thread: one per line, indented by two blanks for each depth. Meanwhile, threads
 * call {@code first}, which calls {@code second}, which calls {@code third}. Arguments: SEED CALLS THREADS.
 *
 * <p>A pause begins with the first event that is not recorded: a call, or an exit by exception. Then all frames count
 * as left.
 */
public final class Pauses {
    private static final int MAX_DEPTH = 12;

    private final Random random;
    private final List<String> expected = new ArrayList<>();
    private int callsLeft;
    private boolean paused;
    /** Grows with each pause that a call has noticed. */
    private int epoch;
    private boolean noticed = true;
    private static volatile boolean done;

    private Pauses(long seed, int calls) {
        random = new Random(seed);
        callsLeft = calls;
    }

    /** The depth of a call in the trace, if it is recorded. */
    private static final class Place {
        final int epoch;
        final int depth;

        Place(int epoch, int depth) {
            this.epoch = epoch;
            this.depth = depth;
        }
    }

    /** A class whose constructor passes the result of a call to that of its superclass. */
    private static class Base {
        Base(int ignored) {}
    }

    private static final class Made extends Base {
        Made(Pauses pauses, Place caller) {
            super(pauses.arguments(caller, "harness.Pauses$Made.<init>"));
        }
    }

    public static void main(String[] args) throws Exception {
        long seed = args.length > 0 ? Long.parseLong(args[0]) : 1;
        int calls = args.length > 1 ? Integer.parseInt(args[1]) : 2000;
        Thread[] threads = new Thread[args.length > 2 ? Integer.parseInt(args[2]) : 0];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = new Thread(() -> {
                while (!done) {
                    first();
                }
                // Recording was resumed before that.
                first();
            }, "busy " + i);
            threads[i].start();
        }
        Pauses pauses = new Pauses(seed, calls);
        while (pauses.callsLeft > 0) {
            pauses.act(null);
        }
        Flow.resume();
        done = true;
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.println(String.join("\n", pauses.expected));
    }

    /** Acts at random, in a call at this place. */
    private void act(Place here) {
        for (int times = random.nextInt(4); times >= 0 && callsLeft > 0; times--) {
            switch (random.nextInt(here != null && here.depth > MAX_DEPTH ? 4 : 9)) {
                case 0:
                    Flow.pause();
                    if (!paused) {
                        paused = true;
                        noticed = false;
                    }
                    break;
                case 1:
                case 2:
                    Flow.resume();
                    paused = false;
                    break;
                case 3:
                    leaf(enter(here, "harness.Pauses.leaf"));
                    break;
                case 4:
                    try {
                        step(here, true);
                    } catch (IllegalStateException thrown) {
                        // The call has been left.
                    }
                    break;
                case 5:
                    new Made(this, here);
                    break;
                default:
                    step(here, false);
            }
        }
    }

    private void step(Place caller, boolean fails) {
        act(enter(caller, "harness.Pauses.step"));
        if (fails) {
            notice();
            throw new IllegalStateException();
        }
    }

    private int leaf(Place here) {
        return here == null ? 0 : here.depth;
    }

    private int arguments(Place caller, String constructor) {
        act(enter(caller, constructor));
        // There are probes around the call of the other constructor.
        notice();
        return 0;
    }

    /** Makes a call. Returns its place in the trace, and adds it to the expected lines. */
    private Place enter(Place caller, String method) {
        callsLeft--;
        notice();
        if (paused) {
            return null;
        }
        int depth = caller != null && caller.epoch == epoch ? caller.depth + 1 : 0;
        expected.add("  ".repeat(depth) + method);
        return new Place(epoch, depth);
    }

    /** A probe checks whether it may record. Probes of returns do not check. */
    private void notice() {
        if (paused && !noticed) {
            epoch++;
        }
        noticed = true;
    }

    static void first() {
        second();
        second();
    }

    static void second() {
        third();
    }

    static void third() {
        Thread.onSpinWait();
    }
}
