package harness;

import java.io.IOException;

/**
 * Calls native code of {@code tests/support/natives.c}, of which the first argument is the library.
 *
 * <p>{@code poll N} computes and then waits in {@code poll} for 30 ms, N times, and prints how often the wait ended early.
 * {@code once} prints {@code ready}, does so once, for 3 s, reads a line, and exits with 5. {@code stack MS BYTES ALTERNATE}
 * runs for MS ms of processor time on a stack of BYTES bytes, and prints how many bytes beside it have changed.
 */
public final class NativeCalls {
    private static final int WAIT_MS = 30;
    private static final int LONG_WAIT_MS = 3000;

    private NativeCalls() {}

    public static void main(String[] args) throws IOException {
        System.load(args[0]);
        switch (args[1]) {
            case "poll":
                System.out.println(early(Integer.parseInt(args[2])));
                break;
            case "once":
                System.out.println("ready");
                System.out.println(poll(LONG_WAIT_MS));
                System.in.read();
                System.exit(5);
                break;
            default:
                int bytes = Integer.parseInt(args[3]);
                int alternate = Integer.parseInt(args[4]);
                System.out.println(onStack(Integer.parseInt(args[2]), bytes, alternate));
        }
    }

    private static int early(int count) {
        int early = 0;
        double sum = 0;
        for (int i = 0; i < count; i++) {
            sum += compute(i);
            early += poll(WAIT_MS) == 0 ? 0 : 1;
        }
        return sum < 0 ? -1 : early;
    }

    private static double compute(int seed) {
        double sum = 0;
        for (int i = 0; i < 200_000; i++) {
            sum += Math.sqrt(i + seed);
        }
        return sum;
    }

    private static native int poll(int ms);

    private static native int onStack(int ms, int bytes, int alternate);
}
