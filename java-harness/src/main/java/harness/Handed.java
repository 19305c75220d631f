package harness;

import java.util.ArrayList;
import java.util.List;
import java.util.Timer;
import java.util.TimerTask;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.Future;
import java.util.concurrent.RecursiveTask;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;

/**
 * Two requests at the same time that share their executors. Each hands work over in every way; the name of each step begins
 * with that of its request. With an argument, a request that hands over this many tasks.
 */
public final class Handed {
    private static final ExecutorService POOL = Executors.newFixedThreadPool(4);
    private static final ScheduledExecutorService LATER = Executors.newScheduledThreadPool(2);
    private static final CyclicBarrier BOTH = new CyclicBarrier(2);

    private Handed() {
    }

    static String step(String name) {
        return name;
    }

    static void request(String name) throws Exception {
        step(name + ".direct");
        tasks(name);
        later(name);
        futures(name);
        threads(name);
        ForkJoinPool.commonPool().invoke(new Sum(name, 2));
        step(name + ".end");
    }

    private static void tasks(String name) throws Exception {
        POOL.submit(() -> step(name + ".task")).get();
        Callable<String> outer = () -> {
            step(name + ".outer");
            return POOL.submit(() -> step(name + ".inner")).get();
        };
        POOL.submit(outer).get();
        List<Callable<String>> all = new ArrayList<>();
        for (int number = 0; number < 3; number++) {
            String each = name + ".all" + number;
            all.add(() -> step(each));
        }
        POOL.invokeAll(all);
        Future<String> failing = POOL.submit(() -> {
            step(name + ".failing");
            throw new IllegalStateException(name);
        });
        try {
            failing.get();
        } catch (java.util.concurrent.ExecutionException expected) {
            step(name + ".failed");
        }
        Future<?> cancelled = LATER.schedule(() -> step(name + ".never"), 1, TimeUnit.HOURS);
        cancelled.cancel(false);
    }

    private static void later(String name) throws Exception {
        LATER.schedule(() -> step(name + ".scheduled"), 1, TimeUnit.MILLISECONDS).get();
        CountDownLatch three = new CountDownLatch(3);
        ScheduledFuture<?> again = LATER.scheduleWithFixedDelay(() -> {
            if (three.getCount() > 0) {
                step(name + ".again" + three.getCount());
                three.countDown();
            }
        }, 0, 1, TimeUnit.MILLISECONDS);
        three.await();
        again.cancel(false);
        Timer timer = new Timer(name + "-timer");
        CountDownLatch timed = new CountDownLatch(1);
        timer.schedule(new TimerTask() {
            @Override
            public void run() {
                step(name + ".timer");
                timed.countDown();
            }
        }, 1);
        timed.await();
        timer.cancel();
    }

    private static void futures(String name) throws Exception {
        CompletableFuture.supplyAsync(() -> step(name + ".async"))
            .thenApply(value -> step(name + ".apply"))
            .thenApplyAsync(value -> step(name + ".apply-async"), POOL)
            .thenCompose(value -> CompletableFuture.supplyAsync(() -> step(name + ".composed"), POOL))
            .whenComplete((value, thrown) -> step(name + ".complete"))
            .get();
        CompletableFuture<String> source = new CompletableFuture<>();
        CompletableFuture<String> one = source.thenApply(value -> step(name + ".waited"));
        CompletableFuture<String> both = one.thenCombine(source, (a, b) -> step(name + ".combined"));
        // Another thread completes it, which is not of this request: what runs then is.
        Thread completes = new Thread(() -> source.complete("done"), name + "-completes");
        completes.start();
        both.get();
        completes.join();
    }

    private static void threads(String name) throws Exception {
        Thread thread = new Thread(() -> step(name + ".thread"), name + "-thread");
        thread.start();
        thread.join();
        Thread own = new Thread(name + "-own") {
            @Override
            public void run() {
                step(name + ".own-thread");
            }
        };
        own.start();
        own.join();
        try {
            Runnable body = () -> step(name + ".virtual");
            Object virtual = Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, body);
            ((Thread) virtual).join();
        } catch (NoSuchMethodException | java.lang.reflect.InvocationTargetException before21) {
            Thread instead = new Thread(() -> step(name + ".virtual"));
            instead.start();
            instead.join();
        }
    }

    private static final class Sum extends RecursiveTask<Integer> {
        private static final long serialVersionUID = 1L;

        private final String name;
        private final int depth;

        Sum(String name, int depth) {
            this.name = name;
            this.depth = depth;
        }

        @Override
        protected Integer compute() {
            if (depth == 0) {
                step(name + ".leaf");
                return 1;
            }
            Sum left = new Sum(name, depth - 1);
            Sum right = new Sum(name, depth - 1);
            left.fork();
            return right.compute() + left.join();
        }
    }

    static void many(int count) throws Exception {
        CountDownLatch done = new CountDownLatch(count);
        for (int number = 0; number < count; number++) {
            POOL.execute(() -> {
                step("many");
                done.countDown();
            });
        }
        done.await();
    }

    private static void begin(String name) {
        try {
            BOTH.await();
            request(name);
        } catch (Exception e) {
            throw new AssertionError(e);
        }
    }

    public static void main(String[] args) throws Exception {
        if (args.length > 0) {
            many(Integer.parseInt(args[0]));
        } else {
            Thread other = new Thread(() -> begin("B"), "other");
            other.start();
            begin("A");
            other.join();
        }
        POOL.shutdown();
        LATER.shutdown();
    }
}
