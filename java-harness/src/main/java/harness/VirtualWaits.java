package harness;

import java.lang.reflect.Method;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A virtual thread waits once in each method that {@code waits} calls, for what the name of the method says, and at least
 * {@link #MILLIS} milliseconds. Prints {@code waited}; if the JDK has no virtual threads, it prints that. With an argument, the thread
 * only sleeps, and first the names of threads of the JDK that wait for sockets are printed: there are none.
 */
public final class VirtualWaits {
    private static final int MILLIS = 30;
    private static final Object MONITOR = new Object();
    private static final ReentrantLock LOCK = new ReentrantLock();

    private VirtualWaits() {}

    public static void main(String[] args) throws Exception {
        Method start;
        try {
            start = Thread.class.getMethod("startVirtualThread", Runnable.class);
        } catch (NoSuchMethodException missing) {
            System.out.println("no virtual threads");
            return;
        }
        if (args.length > 0) {
            Thread waiting = (Thread) start.invoke(null, (Runnable) VirtualWaits::sleeps);
            waiting.join();
            Thread.getAllStackTraces().keySet().stream()
                    .map(Thread::getName)
                    .filter(name -> name.contains("Poller"))
                    .forEach(System.out::println);
            System.out.println("waited");
            return;
        }
        try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
                Socket client = new Socket(server.getInetAddress(), server.getLocalPort());
                Socket accepted = server.accept()) {
            CountDownLatch locked = new CountDownLatch(1);
            Thread owner = new Thread(() -> owns(locked, accepted), "owner");
            owner.start();
            locked.await();
            Thread waiting = (Thread) start.invoke(null, (Runnable) () -> waits(client));
            waiting.join();
            owner.join();
        }
        System.out.println("waited");
    }

    private static void owns(CountDownLatch locked, Socket socket) {
        try {
            synchronized (MONITOR) {
                LOCK.lock();
                locked.countDown();
                while (!LOCK.hasQueuedThreads()) {
                    Thread.onSpinWait();
                }
                Thread.sleep(MILLIS);
                LOCK.unlock();
                // Long enough for the other one to get to the monitor.
                Thread.sleep(10 * MILLIS);
            }
            Thread.sleep(10 * MILLIS);
            socket.getOutputStream().write(1);
        } catch (Exception e) {
            throw new AssertionError(e);
        }
    }

    private static void waits(Socket socket) {
        locks();
        enters();
        receives(socket);
        sleeps();
        parks();
    }

    private static void locks() {
        LOCK.lock();
        LOCK.unlock();
    }

    private static void enters() {
        synchronized (MONITOR) {
            MONITOR.notifyAll();
        }
    }

    private static void receives(Socket socket) {
        try {
            socket.getInputStream().read();
        } catch (java.io.IOException e) {
            throw new AssertionError(e);
        }
    }

    private static void sleeps() {
        try {
            Thread.sleep(MILLIS);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private static void parks() {
        long nanos = MILLIS * 1_000_000L;
        long end = System.nanoTime() + nanos;
        // The first one may return at once.
        for (long left = nanos; left > 0; left = end - System.nanoTime()) {
            LockSupport.parkNanos(left);
        }
    }
}
