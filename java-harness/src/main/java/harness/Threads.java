package harness;

/**
 * Many short threads, a thread in a group of its own, and a thread that renames itself.
 *
 * <p>Arguments: the number of workers (300). Tree of {@code main}: {@code Worker.<init>} once (all threads share the
 * object), {@code startAndJoin} once, {@code inGroup} once, {@code renaming} once. Tree of each {@code worker-N}:
 * {@code Worker.run > work > step} three times. Tree of {@code grouped}: {@code groupedStep}; of {@code renamed-✓}:
 * {@code rename > beforeRename, afterRename}.
 */
public final class Threads {
    private Threads() {}

    public static void main(String[] args) throws InterruptedException {
        int count = args.length > 0 ? Integer.parseInt(args[0]) : 300;
        startAndJoin(count, new Worker());
        inGroup();
        renaming();
        System.out.println("done " + count);
    }

    private static void startAndJoin(int count, Runnable job) throws InterruptedException {
        Thread[] threads = new Thread[count];
        for (int i = 0; i < count; i++) {
            threads[i] = new Thread(job, "worker-" + i);
            threads[i].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
    }

    private static void inGroup() throws InterruptedException {
        Thread thread = new Thread(new ThreadGroup("harness group"), Threads::groupedStep, "grouped");
        thread.start();
        thread.join();
    }

    private static void renaming() throws InterruptedException {
        Thread thread = new Thread(Threads::rename, "not yet renamed");
        thread.start();
        thread.join();
    }

    private static void groupedStep() {}

    private static void rename() {
        beforeRename();
        Thread.currentThread().setName("renamed-✓");
        afterRename();
    }

    private static void beforeRename() {}

    private static void afterRename() {}

    private static int work(int number) {
        return step(number) + step(number + 1) + step(number + 2);
    }

    private static int step(int number) {
        return number * 31;
    }

    /** The work of each worker, whose number is in the name of its thread. */
    private static final class Worker implements Runnable {
        @Override
        public void run() {
            String name = Thread.currentThread().getName();
            work(Integer.parseInt(name.substring(name.indexOf('-') + 1)));
        }
    }
}
