package harness;

import java.io.IOException;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.Semaphore;

/**
 * Many short virtual threads, a hundred at a time.
 *
 * <p>Arguments: the number of threads (20000). Tree of each: {@code Passing.run > step} three times. Prints {@code
 * done} and the number of threads, then the writable memory of the process, in KiB; or {@code no virtual threads}
 * before JDK 21.
 */
public final class Passing implements Runnable {
    private static final int AT_ONCE = 100;
    private static volatile int sum;
    private final Semaphore room = new Semaphore(AT_ONCE);

    private Passing() {}

    public static void main(String[] args) throws Exception {
        int count = args.length > 0 ? Integer.parseInt(args[0]) : 20_000;
        Method start;
        try {
            start = Thread.class.getMethod("startVirtualThread", Runnable.class);
        } catch (NoSuchMethodException missing) {
            System.out.println("no virtual threads");
            return;
        }
        Passing body = new Passing();
        for (int i = 0; i < count; i++) {
            body.room.acquire();
            start.invoke(null, body);
        }
        body.room.acquire(AT_ONCE);
        System.out.println("done " + count);
        System.out.println("data " + data());
    }

    @Override
    public void run() {
        for (int i = 0; i < 3; i++) {
            step(i);
        }
        room.release();
    }

    private static void step(int number) {
        sum += number;
    }

    private static String data() throws IOException {
        for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
            if (line.startsWith("VmData:")) {
                return line.replaceAll("\\D", "");
            }
        }
        return "unknown";
    }
}
