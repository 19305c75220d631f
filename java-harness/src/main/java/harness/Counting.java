package harness;

import java.util.concurrent.locks.LockSupport;

/**
 * Threads that count, so that any part of what they did shows where it belongs.
 *
 * <p>Argument: the number of threads, named {@code counter-0}, {@code counter-1}, …. Each calls {@code round} again and
 * again, in bursts. The rounds are numbered from 0; each calls {@code d0} to {@code df}, one for each of the seven hexadecimal digits of its number,
 * the highest first. The program ends when something ends it from outside.
 */
public final class Counting implements Runnable {
    private static final int DIGITS = 7;
    private static final int BURST = 16;
    private static final long PAUSE_NS = 500_000;
    private static int sum;

    private Counting() {}

    public static void main(String[] args) {
        for (int i = 0; i < Integer.parseInt(args[0]); i++) {
            new Thread(new Counting(), "counter-" + i).start();
        }
    }

    @Override
    public void run() {
        for (int i = 0; i < 1 << 4 * DIGITS; i++) {
            round(i);
            if (i % BURST == BURST - 1) {
                // Otherwise the trace would be larger than a test can read.
                LockSupport.parkNanos(PAUSE_NS);
            }
        }
    }

    private static void round(int number) {
        for (int shift = 4 * (DIGITS - 1); shift >= 0; shift -= 4) {
            switch (number >> shift & 15) {
                case 0: d0(); break;
                case 1: d1(); break;
                case 2: d2(); break;
                case 3: d3(); break;
                case 4: d4(); break;
                case 5: d5(); break;
                case 6: d6(); break;
                case 7: d7(); break;
                case 8: d8(); break;
                case 9: d9(); break;
                case 10: da(); break;
                case 11: db(); break;
                case 12: dc(); break;
                case 13: dd(); break;
                case 14: de(); break;
                default: df();
            }
        }
    }

    private static void d0() { sum++; }
    private static void d1() { sum++; }
    private static void d2() { sum++; }
    private static void d3() { sum++; }
    private static void d4() { sum++; }
    private static void d5() { sum++; }
    private static void d6() { sum++; }
    private static void d7() { sum++; }
    private static void d8() { sum++; }
    private static void d9() { sum++; }
    private static void da() { sum++; }
    private static void db() { sum++; }
    private static void dc() { sum++; }
    private static void dd() { sum++; }
    private static void de() { sum++; }
    private static void df() { sum++; }
}
