package harness;

import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Threads that pass a token around a ring.
 *
 * <p>Arguments: how ({@code volatile}, {@code getter}, {@code lock}, {@code monitor}, {@code queue}, {@code park},
 * {@code virtual} or {@code carriers}), the number of threads, and the number of hand-overs. The threads are named {@code ring-0}, {@code
 * ring-1}, …; the first one begins. Each calls {@code take}, which returns when the thread has the token, and {@code
 * give}, which passes it on to the next thread. So the entries of {@code give} and the exits of {@code take}, of all
 * threads, happen one after the other: give, take, give, take, …. With {@code getter}, {@code take} reads the token by
 * calling {@code at}, which does nothing else, again and again. {@code virtual} is {@code queue} with virtual threads, and
 * {@code carriers} is {@code park}; without virtual threads, the program prints that.
 */
public final class HandOvers implements Runnable {
    private static volatile int at;
    private static String how;
    private static int threads;
    private static int handOvers;
    private static Thread[] ring;
    private static final List<BlockingQueue<Integer>> QUEUES = new ArrayList<>();
    private static final ReentrantLock LOCK = new ReentrantLock();
    private static Condition[] turns;
    private static final Object MONITOR = new Object();

    private final int number;

    private HandOvers(int number) {
        this.number = number;
    }

    public static void main(String[] args) throws Exception {
        how = args[0];
        threads = Integer.parseInt(args[1]);
        handOvers = Integer.parseInt(args[2]);
        ring = new Thread[threads];
        turns = new Condition[threads];
        for (int i = 0; i < threads; i++) {
            QUEUES.add(new ArrayBlockingQueue<>(1));
            turns[i] = LOCK.newCondition();
        }
        boolean isVirtual = how.equals("virtual") || how.equals("carriers");
        for (int i = 0; i < threads; i++) {
            ring[i] = isVirtual ? unstarted(new HandOvers(i), "ring-" + i) : new Thread(new HandOvers(i), "ring-" + i);
            if (ring[i] == null) {
                System.out.println("no virtual threads");
                return;
            }
        }
        for (Thread thread : ring) {
            thread.start();
        }
        for (Thread thread : ring) {
            thread.join();
        }
        System.out.println("done");
    }

    /** {@code Thread.ofVirtual().name(name).unstarted(body)}, by reflection; null if there is no such method. */
    private static Thread unstarted(Runnable body, String name) throws ReflectiveOperationException {
        Method ofVirtual;
        try {
            ofVirtual = Thread.class.getMethod("ofVirtual");
        } catch (NoSuchMethodException missing) {
            return null;
        }
        Class<?> type = Class.forName("java.lang.Thread$Builder");
        Object builder = type.getMethod("name", String.class).invoke(ofVirtual.invoke(null), name);
        return (Thread) type.getMethod("unstarted", Runnable.class).invoke(builder, body);
    }

    @Override
    public void run() {
        for (int i = number; i < handOvers; i += threads) {
            if (i > 0) {
                take(number);
            }
            give((number + 1) % threads);
        }
        // What is left is taken, so that nobody waits for room.
        if (handOvers % threads == number) {
            take(number);
        }
    }

    private static void take(int me) {
        try {
            switch (how) {
                case "volatile":
                    while (at != me) {
                        Thread.yield();
                    }
                    break;
                case "getter":
                    while (at() != me) {
                        Thread.yield();
                    }
                    break;
                case "lock":
                    LOCK.lock();
                    while (at != me) {
                        turns[me].await();
                    }
                    LOCK.unlock();
                    break;
                case "monitor":
                    synchronized (MONITOR) {
                        while (at != me) {
                            MONITOR.wait();
                        }
                    }
                    break;
                case "queue":
                case "virtual":
                    QUEUES.get(me).take();
                    break;
                default:
                    while (at != me) {
                        LockSupport.park();
                    }
            }
        } catch (InterruptedException never) {
            throw new IllegalStateException(never);
        }
    }

    private static void give(int next) {
        try {
            switch (how) {
                case "volatile":
                case "getter":
                    at = next;
                    break;
                case "lock":
                    LOCK.lock();
                    at = next;
                    turns[next].signal();
                    LOCK.unlock();
                    break;
                case "monitor":
                    synchronized (MONITOR) {
                        at = next;
                        MONITOR.notifyAll();
                    }
                    break;
                case "queue":
                case "virtual":
                    QUEUES.get(next).put(next);
                    break;
                default:
                    at = next;
                    LockSupport.unpark(ring[next]);
            }
        } catch (InterruptedException never) {
            throw new IllegalStateException(never);
        }
    }

    private static int at() {
        return at;
    }
}
