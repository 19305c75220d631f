package harness;

import dev.flow.Flow;
import dev.flow.TestOutcome;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;

/**
 * Three tests that fail or pass by chance, each of which is run again until it did both, at most a thousand times: {@code race}, in
 * which two threads deposit into an account; {@code hash}, which takes the first element of a set; and {@code clock}, which
 * needs the time of day. With {@code forced} as the second argument, the first attempt fails and the second one passes; with
 * {@code pass} or {@code fail}, there is one attempt, which does that. Prints the results.
 */
public final class Flaky {
    private static final int MOST_ATTEMPTS = 1000;

    private Flaky() {}

    public static void main(String[] args) throws InterruptedException {
        String mode = args.length > 1 ? args[1] : "chance";
        boolean passed = false;
        boolean failed = false;
        int most = mode.equals("pass") || mode.equals("fail") ? 1 : MOST_ATTEMPTS;
        for (int attempt = 1; attempt <= most && !(passed && failed); attempt++) {
            Chance.begin(mode, attempt);
            boolean passes = run(args[0]);
            passed |= passes;
            failed |= !passes;
        }
        System.out.println((passed ? "passed" : "") + (failed ? " failed" : ""));
    }

    /** Runs a test, as a test framework does. */
    private static boolean run(String name) throws InterruptedException {
        String test = "harness.Flaky." + name;
        Flow.testStarted(test, null);
        try {
            switch (name) {
                case "race":
                    race();
                    break;
                case "hash":
                    hash();
                    break;
                default:
                    clock();
            }
        } catch (AssertionError failure) {
            Flow.testEnded(test, TestOutcome.FAILED, failure.toString());
            return false;
        }
        Flow.testEnded(test, TestOutcome.PASSED, null);
        return true;
    }

    private static void check(boolean holds, String message) {
        if (!holds) {
            throw new AssertionError(message);
        }
    }

    static void race() throws InterruptedException {
        Account account = new Account();
        Thread one = new Thread(() -> account.deposit(10), "one");
        Thread other = new Thread(() -> account.deposit(10), "other");
        one.start();
        Chance.beforeOther();
        other.start();
        one.join();
        other.join();
        check(account.balance() == 20, "balance " + account.balance());
    }

    static void hash() {
        Set<Order> orders = new HashSet<>();
        orders.add(new Order("books"));
        orders.add(new Order("pens"));
        List<String> shipped = new ArrayList<>();
        for (Order order : orders) {
            shipped.add(order.ship());
        }
        check(shipped.get(0).equals("books"), "first " + shipped.get(0));
    }

    static void clock() {
        int price = price(Chance.millis());
        check(price == 100, "price " + price);
    }

    /** Half the price in every other millisecond. */
    static int price(long millis) {
        return isHappyHour(millis) ? discounted(100) : 100;
    }

    static boolean isHappyHour(long millis) {
        return millis % 2 == 1;
    }

    static int discounted(int price) {
        return price / 2;
    }

    /** An account without a lock. */
    static final class Account {
        private volatile int balance;

        void deposit(int amount) {
            Chance.beforeRead();
            int before = balance();
            Chance.afterRead();
            set(before + amount);
            Chance.afterWrite();
        }

        int balance() {
            return balance;
        }

        void set(int changed) {
            balance = changed;
        }
    }

    /** An order with the hash code of its address, unless that is forced. */
    static final class Order {
        private final String what;

        Order(String what) {
            this.what = what;
        }

        String ship() {
            return what.equals("books") ? wrap() : what;
        }

        private String wrap() {
            return what;
        }

        @Override
        public int hashCode() {
            return Chance.hash(what, super.hashCode());
        }

        @Override
        public boolean equals(Object other) {
            return this == other;
        }
    }

    /** Decides what is left to chance. */
    static final class Chance {
        private static boolean decides;
        private static boolean fails;
        private static CountDownLatch read;
        private static CountDownLatch written;

        private Chance() {}

        static void begin(String mode, int attempt) {
            decides = !mode.equals("chance");
            fails = mode.equals("fail") || mode.equals("forced") && attempt == 1;
            read = new CountDownLatch(1);
            written = new CountDownLatch(1);
        }

        /** If the test is to pass, the second thread begins after the first one has written. */
        static void beforeOther() throws InterruptedException {
            if (decides && !fails) {
                written.await();
            }
        }

        /** The second thread reads after the first one has read, or has written. */
        static void beforeRead() {
            await(false, fails ? read : written);
        }

        /** The first thread writes after the second one, if the test is to fail. */
        static void afterRead() {
            reached(true, read);
            if (fails) {
                await(true, written);
            }
        }

        static void afterWrite() {
            reached(!fails, written);
        }

        private static void await(boolean isOne, CountDownLatch latch) {
            try {
                if (decides && isOne == Thread.currentThread().getName().equals("one")) {
                    latch.await();
                }
            } catch (InterruptedException stopped) {
                throw new IllegalStateException(stopped);
            }
        }

        private static void reached(boolean isOne, CountDownLatch latch) {
            if (isOne == Thread.currentThread().getName().equals("one")) {
                latch.countDown();
            }
        }

        static int hash(String what, int known) {
            return decides ? what.equals("books") == fails ? 2 : 1 : known;
        }

        static long millis() {
            return decides ? fails ? 1 : 2 : System.currentTimeMillis();
        }
    }
}
