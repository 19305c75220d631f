package harness;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Many short threads, fifty at a time.
 *
 * <p>Arguments: the number of threads (5000). Tree of every thread but {@code main}: {@code Crowd.run > work > step}
 * three times. Prints {@code done} and the number of threads; then the largest number of open files that the process
 * had between the threads, and its memory, in KiB.
 */
public final class Crowd implements Runnable {
    private static final int AT_ONCE = 50;

    private Crowd() {}

    public static void main(String[] args) throws Exception {
        int count = args.length > 0 ? Integer.parseInt(args[0]) : 5000;
        Runnable body = new Crowd();
        int files = 0;
        for (int started = 0; started < count; started += AT_ONCE) {
            startAndJoin(Math.min(AT_ONCE, count - started), body);
            files = Math.max(files, openFiles());
        }
        System.out.println("done " + count);
        System.out.println("files " + files);
        System.out.println("memory " + memory());
    }

    private static void startAndJoin(int count, Runnable body) throws InterruptedException {
        Thread[] threads = new Thread[count];
        for (int i = 0; i < count; i++) {
            threads[i] = new Thread(body);
            threads[i].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
    }

    private static int openFiles() {
        String[] files = new File("/proc/self/fd").list();
        return files == null ? 0 : files.length;
    }

    private static String memory() throws IOException {
        for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
            if (line.startsWith("VmRSS:")) {
                return line.replaceAll("\\D", "");
            }
        }
        return "unknown";
    }

    @Override
    public void run() {
        work(1);
    }

    private static int work(int number) {
        return step(number) + step(number + 1) + step(number + 2);
    }

    private static int step(int number) {
        return number * 31;
    }
}
