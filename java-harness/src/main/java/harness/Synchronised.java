package harness;

/**
 * Synchronised methods and blocks, left in every way; threads that wait for each other.
 *
 * <p>Tree: {@code main} calls one method for each case, in the order below. Each of the two threads of {@code turns}
 * has {@code Player.run}, with its turns below it.
 */
public class Synchronised {
    private static final Object LOCK = new Object();
    private static final int TURNS = 10;

    private int depth;

    private Synchronised() {}

    public static void main(String[] args) throws InterruptedException {
        methods();
        blocks();
        failures();
        turns();
        System.out.println("done");
    }

    private static void work(boolean fails) {
        if (fails) {
            throw new IllegalStateException("work");
        }
    }

    private static void caught() {}

    /** Static and of an object, re-entered, left by return and by exception, of a superclass by {@code super}. */
    private static void methods() {
        Synchronised object = new Synchronised();
        for (int round = 0; round < 2; round++) {
            ofClass(false);
            object.ofObject(3, false);
            try {
                object.ofObject(3, true);
            } catch (IllegalStateException failure) {
                caught();
            }
            try {
                ofClass(true);
            } catch (IllegalStateException failure) {
                caught();
            }
            new Derived().empty();
        }
        assertFree(object);
    }

    private static synchronized void ofClass(boolean fails) {
        work(fails);
    }

    private synchronized int ofObject(int levels, boolean fails) {
        depth = levels;
        if (levels == 0) {
            work(fails);
            return depth;
        }
        return ofObject(levels - 1, fails);
    }

    synchronized void empty() {}

    private static void assertFree(Object lock) {
        if (Thread.holdsLock(lock)) {
            throw new AssertionError("still locked");
        }
    }

    /** Left by the end, {@code break}, {@code continue}, {@code return}, an exception caught inside and one caught outside. */
    private static void blocks() {
        for (int way = 0; way < 6; way++) {
            try {
                block(way);
            } catch (IllegalStateException failure) {
                caught();
            }
            assertFree(LOCK);
        }
    }

    private static int block(int way) {
        int result = 0;
        for (int turn = 0; turn < 2; turn++) {
            synchronized (LOCK) {
                synchronized (LOCK) {
                    if (way == 1) {
                        break;
                    }
                    if (way == 2) {
                        continue;
                    }
                    if (way == 3) {
                        return result;
                    }
                    try {
                        work(way == 4);
                    } catch (IllegalStateException failure) {
                        caught();
                    }
                    work(way == 5);
                }
                result++;
            }
        }
        return result;
    }

    /** A null lock, and methods of a lock that is not held: the JVM throws in the calling frame. */
    private static void failures() throws InterruptedException {
        try {
            locked(null);
        } catch (NullPointerException none) {
            caught();
        }
        try {
            LOCK.notifyAll();
        } catch (IllegalMonitorStateException notHeld) {
            caught();
        }
        try {
            waitFor(LOCK);
        } catch (IllegalMonitorStateException notHeld) {
            caught();
        }
    }

    private static void locked(Object lock) {
        synchronized (lock) {
            work(false);
        }
    }

    private static void waitFor(Object lock) throws InterruptedException {
        lock.wait();
    }

    /** Two threads that alternate with {@code wait} and {@code notifyAll}. */
    private static void turns() throws InterruptedException {
        Table table = new Table();
        Thread[] players = new Thread[2];
        for (int i = 0; i < players.length; i++) {
            players[i] = new Thread(new Player(table, i), "player-" + i);
            players[i].start();
        }
        for (Thread player : players) {
            player.join();
        }
    }

    private static final class Derived extends Synchronised {
        @Override
        synchronized void empty() {
            super.empty();
        }
    }

    private static final class Table {
        private int turn;

        synchronized int play(int player) throws InterruptedException {
            while (turn % 2 != player) {
                wait();
            }
            int played = played();
            notifyAll();
            return played;
        }

        private int played() {
            return turn++;
        }
    }

    private static final class Player implements Runnable {
        private final Table table;
        private final int number;

        Player(Table table, int number) {
            this.table = table;
            this.number = number;
        }

        @Override
        public void run() {
            try {
                for (int i = 0; i < TURNS; i++) {
                    table.play(number);
                }
            } catch (InterruptedException unexpected) {
                throw new IllegalStateException(unexpected);
            }
        }
    }
}
