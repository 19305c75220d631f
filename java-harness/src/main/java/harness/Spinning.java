package harness;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;

/**
 * Threads that use all the processor time that they get, in {@code spin}: {@code spinning-0} and {@code spinning-1}, and
 * virtual ones, {@code virtual-0} and {@code virtual-1}, if the JDK has them. The virtual ones sleep in between, so they
 * leave their carriers.
 *
 * <p>Prints {@code ready}. Reads commands, one per line: {@code wait N} returns after N milliseconds, and is repeated on
 * the output; {@code exit N} ends with exit code N.
 */
public final class Spinning implements Runnable {
    private static final int THREADS = 2;

    /** Keeps the compiler from removing the work. */
    private static volatile long result;

    private final boolean sleeps;

    private Spinning(boolean sleeps) {
        this.sleeps = sleeps;
    }

    public static void main(String[] args) throws Exception {
        for (int number = 0; number < THREADS; number++) {
            Thread thread = new Thread(new Spinning(false), "spinning-" + number);
            thread.setDaemon(true);
            thread.start();
            startVirtual("virtual-" + number);
        }
        System.out.println("ready");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            int number = Integer.parseInt(line.split(" ")[1]);
            if (line.startsWith("exit")) {
                System.exit(number);
            }
            Thread.sleep(number);
            System.out.println(line);
        }
    }

    @Override
    public void run() {
        try {
            while (true) {
                spin();
                if (sleeps) {
                    Thread.sleep(1);
                }
            }
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private static void spin() {
        long sum = result;
        for (int i = 0; i < 2_000_000; i++) {
            sum = sum * 31 + (sum >>> 11) + i;
        }
        result = sum;
    }

    private static void startVirtual(String name) throws ReflectiveOperationException {
        Method ofVirtual;
        try {
            ofVirtual = Thread.class.getMethod("ofVirtual");
        } catch (NoSuchMethodException missing) {
            return;
        }
        Class<?> builderType = Class.forName("java.lang.Thread$Builder");
        Object builder = builderType.getMethod("name", String.class).invoke(ofVirtual.invoke(null), name);
        builderType.getMethod("start", Runnable.class).invoke(builder, new Spinning(true));
    }
}
