package harness;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The main thread waits once in each method that main calls, for what the name of the method says, and at least {@link #MILLIS}
 * milliseconds. Prints how many did.
 */
public final class Waits {
    private static final int MILLIS = 30;
    /** More bytes than the system keeps for a connection. */
    private static final int MUCH = 32 << 20;
    private static final Thread MAIN = Thread.currentThread();

    private Waits() {}

    /** A class of its own, by which a report names the object. */
    private static final class Monitor {}

    /** Something that another thread does. */
    private interface Part {
        void run() throws Exception;
    }

    public static void main(String[] args) throws Exception {
        int count = entersMonitor() + isNotified() + locks() + awaits() + takes() + sleeps() + reads() + accepts()
            + receives() + reaches() + sends() + emits();
        System.out.println("waited " + count);
    }

    /** Waits for a monitor that the thread "holder" holds. */
    private static int entersMonitor() throws Exception {
        Monitor monitor = new Monitor();
        CountDownLatch held = new CountDownLatch(1);
        Thread holder = start("holder", () -> holdMonitor(monitor, held));
        while (held.getCount() > 0) {
            Thread.onSpinWait();
        }
        synchronized (monitor) {
            held.countDown();
        }
        join(holder);
        return 1;
    }

    private static void holdMonitor(Monitor monitor, CountDownLatch held) throws Exception {
        synchronized (monitor) {
            held.countDown();
            pauseOnceMainIs(Thread.State.BLOCKED);
        }
    }

    /** Waits in {@code Object.wait} until the thread "notifier" notifies it. */
    private static int isNotified() throws Exception {
        Monitor monitor = new Monitor();
        boolean[] isDone = {false};
        Thread notifier;
        synchronized (monitor) {
            notifier = start("notifier", () -> notifies(monitor, isDone));
            while (!isDone[0]) {
                monitor.wait();
            }
        }
        join(notifier);
        return 1;
    }

    private static void notifies(Monitor monitor, boolean[] isDone) throws Exception {
        pauseOnceMainIs(Thread.State.WAITING);
        synchronized (monitor) {
            isDone[0] = true;
            monitor.notifyAll();
        }
    }

    /** Waits for a lock of java.util.concurrent that the thread "owner" holds. */
    private static int locks() throws Exception {
        ReentrantLock lock = new ReentrantLock();
        CountDownLatch held = new CountDownLatch(1);
        Thread owner = start("owner", () -> holdLock(lock, held));
        while (held.getCount() > 0) {
            Thread.onSpinWait();
        }
        lock.lock();
        lock.unlock();
        join(owner);
        return 1;
    }

    private static void holdLock(ReentrantLock lock, CountDownLatch held) throws Exception {
        lock.lock();
        try {
            held.countDown();
            pauseOnceMainIs(Thread.State.WAITING);
        } finally {
            lock.unlock();
        }
    }

    /** Waits for a condition. */
    private static int awaits() throws Exception {
        ReentrantLock lock = new ReentrantLock();
        Condition condition = lock.newCondition();
        boolean[] isDone = {false};
        lock.lock();
        Thread signaller = start("signaller", () -> signals(lock, condition, isDone));
        try {
            while (!isDone[0]) {
                condition.await();
            }
        } finally {
            lock.unlock();
        }
        join(signaller);
        return 1;
    }

    private static void signals(ReentrantLock lock, Condition condition, boolean[] isDone) throws Exception {
        pauseOnceMainIs(Thread.State.WAITING);
        lock.lock();
        try {
            isDone[0] = true;
            condition.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** Waits for an element of a queue. */
    private static int takes() throws Exception {
        BlockingQueue<Integer> queue = new ArrayBlockingQueue<>(1);
        Thread putter = start("putter", () -> puts(queue));
        int taken = queue.take();
        join(putter);
        return taken;
    }

    private static void puts(BlockingQueue<Integer> queue) throws Exception {
        pauseOnceMainIs(Thread.State.WAITING);
        queue.put(1);
    }

    private static int sleeps() throws Exception {
        pause();
        return 1;
    }

    /** Waits for a byte from a socket. */
    private static int reads() throws Exception {
        try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
                Socket client = new Socket(server.getInetAddress(), server.getLocalPort());
                Socket accepted = server.accept()) {
            Thread writer = start("writer", () -> writes(accepted));
            int read = client.getInputStream().read();
            join(writer);
            return read;
        }
    }

    /** Waits for a connection. */
    private static int accepts() throws Exception {
        try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            Thread connector = start("connector", () -> connects(server));
            server.accept().close();
            join(connector);
            return 1;
        }
    }

    private static void connects(ServerSocket server) throws Exception {
        for (int times = 0; times < 10; times++) {
            pause();
        }
        new Socket(server.getInetAddress(), server.getLocalPort()).close();
    }

    /** Waits for a byte from a channel. */
    private static int receives() throws Exception {
        try (ServerSocketChannel server = ServerSocketChannel.open()) {
            server.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            try (SocketChannel client = SocketChannel.open(server.getLocalAddress());
                    SocketChannel accepted = server.accept()) {
                Thread writer = start("writer", () -> writes(accepted.socket()));
                int read = client.read(ByteBuffer.allocate(1));
                join(writer);
                return read;
            }
        }
    }

    /** Waits for a server to accept: its queue is full until another thread takes a connection. */
    private static int reaches() throws Exception {
        try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            Socket first = new Socket(server.getInetAddress(), server.getLocalPort());
            Socket second = new Socket(server.getInetAddress(), server.getLocalPort());
            Thread acceptor = start("acceptor", () -> acceptsLater(server));
            new Socket(server.getInetAddress(), server.getLocalPort()).close();
            join(acceptor);
            first.close();
            second.close();
            return 1;
        }
    }

    private static void acceptsLater(ServerSocket server) throws Exception {
        for (int times = 0; times < 10; times++) {
            pause();
        }
        server.accept().close();
        server.accept().close();
    }

    /** Waits until what it sends is read. */
    private static int sends() throws Exception {
        try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
                Socket client = new Socket(server.getInetAddress(), server.getLocalPort());
                Socket accepted = server.accept()) {
            Thread reader = start("reader", () -> readsAll(accepted));
            client.getOutputStream().write(new byte[MUCH]);
            join(reader);
            return 1;
        }
    }

    /** Waits until what it sends by a channel is read. */
    private static int emits() throws Exception {
        try (ServerSocketChannel server = ServerSocketChannel.open()) {
            server.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            try (SocketChannel client = SocketChannel.open(server.getLocalAddress());
                    SocketChannel accepted = server.accept()) {
                Thread reader = start("reader", () -> readsAll(accepted.socket()));
                client.write(ByteBuffer.allocate(MUCH));
                join(reader);
                return 1;
            }
        }
    }

    private static void readsAll(Socket socket) throws Exception {
        for (int times = 0; times < 10; times++) {
            pause();
        }
        socket.getInputStream().readNBytes(MUCH);
    }

    private static void writes(Socket socket) throws Exception {
        // A thread that reads is in no other state. Several times, in case that it is late.
        for (int times = 0; times < 10; times++) {
            pause();
        }
        socket.getOutputStream().write(1);
    }

    private static Thread start(String name, Part part) {
        Thread thread = new Thread(() -> runs(part), name);
        thread.start();
        return thread;
    }

    private static void runs(Part part) {
        try {
            part.run();
        } catch (Exception e) {
            throw new AssertionError(e);
        }
    }

    private static void join(Thread thread) throws InterruptedException {
        while (thread.isAlive()) {
            Thread.onSpinWait();
        }
    }

    private static void pauseOnceMainIs(Thread.State state) throws InterruptedException {
        while (MAIN.getState() != state) {
            Thread.onSpinWait();
        }
        pause();
    }

    private static void pause() throws InterruptedException {
        Thread.sleep(MILLIS);
    }
}
