package harness;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;

/**
 * A program that runs until a command ends it, so that recording can begin and end in between.
 *
 * <p>Reads commands, one per line, from the standard input, and repeats each in a line when it is done: {@code work N}
 * makes every worker call {@code work > step} (N times); {@code start N} runs N new threads, each of which calls {@code
 * Passing.run > step, step}, virtual ones if the JDK has them; {@code fail} makes {@code main} throw and catch; {@code
 * deep N} makes {@code main} call {@code down} N + 1 times, nested, and read further commands there; {@code exit N}
 * ends with exit code N.
 *
 * <p>Workers are the threads {@code worker-0} to {@code worker-2}, and, if the JDK has virtual threads, {@code
 * virtual-0} to {@code virtual-2}. Between commands the main thread is in {@code main > serve}, each worker in {@code
 * Worker.run}.
 */
public final class Attached {
    private static final int WORKERS = 3;
    private static final BufferedReader IN =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));

    private Attached() {}

    public static void main(String[] args) throws Exception {
        List<Worker> workers = new ArrayList<>();
        for (int i = 0; i < WORKERS; i++) {
            Worker worker = new Worker();
            Thread thread = new Thread(worker, "worker-" + i);
            thread.setDaemon(true);
            thread.start();
            workers.add(worker);
        }
        for (int i = 0; i < WORKERS; i++) {
            Worker worker = new Worker();
            if (startVirtual("virtual-" + i, worker) != null) {
                workers.add(worker);
            }
        }
        System.out.println("ready");
        System.exit(serve(workers));
    }

    private static int serve(List<Worker> workers) throws Exception {
        for (String line = IN.readLine(); line != null; line = IN.readLine()) {
            String[] words = line.split(" ");
            int number = words.length > 1 ? Integer.parseInt(words[1]) : 0;
            switch (words[0]) {
                case "work":
                    everyone(workers, number);
                    break;
                case "start":
                    passing(number);
                    break;
                case "fail":
                    fails();
                    break;
                case "deep":
                    return down(workers, number);
                case "exit":
                    return number;
                default:
                    throw new IOException("unknown command: " + line);
            }
            System.out.println(line);
        }
        return 0;
    }

    private static int down(List<Worker> workers, int frames) throws Exception {
        if (frames > 0) {
            return down(workers, frames - 1);
        }
        System.out.println("down");
        return serve(workers);
    }

    private static void everyone(List<Worker> workers, int steps) throws InterruptedException {
        CountDownLatch latch = new CountDownLatch(workers.size());
        for (Worker worker : workers) {
            worker.orders.add(new Order(steps, latch));
        }
        latch.await();
    }

    private static void passing(int count) throws Exception {
        for (int i = 0; i < count; i++) {
            Passing body = new Passing();
            Thread thread = startVirtual("passing-" + i, body);
            if (thread == null) {
                thread = new Thread(body, "passing-" + i);
                thread.start();
            }
            thread.join();
        }
    }

    private static void fails() {
        try {
            throw new Failure();
        } catch (Failure failure) {
            step(0);
        }
    }

    private static int step(int number) {
        return number * 31 + 7;
    }

    /**
     * Starts a virtual thread by reflection, because older compilers do not know them; returns null if the JDK has
     * none.
     */
    private static Thread startVirtual(String name, Runnable body) throws ReflectiveOperationException {
        Method ofVirtual;
        try {
            ofVirtual = Thread.class.getMethod("ofVirtual");
        } catch (NoSuchMethodException missing) {
            return null;
        }
        Class<?> builderType = Class.forName("java.lang.Thread$Builder");
        Object builder = builderType.getMethod("name", String.class).invoke(ofVirtual.invoke(null), name);
        return (Thread) builderType.getMethod("start", Runnable.class).invoke(builder, body);
    }

    private static final class Failure extends RuntimeException {
        private static final long serialVersionUID = 1;
    }

    private static final class Order {
        private final int steps;
        private final CountDownLatch done;

        Order(int steps, CountDownLatch done) {
            this.steps = steps;
            this.done = done;
        }
    }

    private static final class Worker implements Runnable {
        private final LinkedBlockingQueue<Order> orders = new LinkedBlockingQueue<>();

        @Override
        public void run() {
            try {
                for (;;) {
                    Order order = orders.take();
                    work(order.steps);
                    order.done.countDown();
                }
            } catch (InterruptedException unexpected) {
                throw new IllegalStateException(unexpected);
            }
        }

        private static void work(int steps) {
            for (int i = 0; i < steps; i++) {
                step(i);
            }
        }
    }

    private static final class Passing implements Runnable {
        @Override
        public void run() {
            step(1);
            step(2);
        }
    }
}
