package harness;

import dev.flow.Flow;
import dev.flow.TestOutcome;
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.CyclicBarrier;

/** Tests that reach the same lines: one after the other, beside a thread without a test, and at the same time. */
public final class Tested {
    private final int base;
    private int sum;

    private Tested(int base) {
        int twice = base + base;
        this.base = twice - base;
    }

    /** Lines that are reached together, and lines after something that may throw. */
    private int work(int rounds) {
        int even = 0;
        int odd = 0;
        for (int i = 0; i < rounds; i++) {
            if ((i + base) % 2 == 0) {
                even += i;
                even ^= 1;
            } else {
                odd += half(i);
            }
        }
        try {
            odd += 10 / rounds;
            even++;
        } catch (ArithmeticException zero) {
            odd = -1;
        } finally {
            sum++;
        }
        synchronized (this) {
            sum += even;
        }
        return odd;
    }

    private static int half(int number) {
        int half = number / 2;
        return half;
    }

    private static void test(String name, Runnable body) {
        Flow.testStarted(name, null);
        try {
            body.run();
        } finally {
            Flow.testEnded(name, TestOutcome.PASSED, null);
        }
    }

    private static Thread started(Runnable body) {
        Thread thread = new Thread(body);
        thread.start();
        return thread;
    }

    public static void main(String[] args) throws Exception {
        Tested outside = new Tested(0);
        outside.work(1);
        test("none", () -> new Tested(0).work(0));
        test("even", () -> new Tested(0).work(1));
        test("many", () -> new Tested(1).work(20_000));
        test("even again", () -> new Tested(2).work(1));
        test("beside", () -> {
            Thread helper = started(() -> new Tested(1).work(5_000));
            join(helper);
            new Tested(0).work(1);
        });
        CyclicBarrier barrier = new CyclicBarrier(2);
        Thread[] both = new Thread[2];
        for (int i = 0; i < both.length; i++) {
            int number = i;
            both[i] = started(() -> test("at once " + number, () -> {
                await(barrier);
                new Tested(number).work(number == 0 ? 1 : 2);
                await(barrier);
                new Tested(number).work(number == 0 ? 1 : 2_000);
            }));
        }
        for (Thread thread : both) {
            join(thread);
        }
        outside.work(3);
        System.out.println(outside.sum);
    }

    private static void join(Thread thread) {
        try {
            thread.join();
        } catch (InterruptedException never) {
            throw new AssertionError(never);
        }
    }

    private static void await(CyclicBarrier barrier) {
        try {
            barrier.await();
        } catch (InterruptedException | BrokenBarrierException never) {
            throw new AssertionError(never);
        }
    }
}
