package harness;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CountDownLatch;
import java.util.function.IntSupplier;

/**
 * A program with a class whose definition takes until a command ends it.
 *
 * <p>Reads commands, one per line, from the standard input, and repeats each in a line when it is done: {@code define}
 * makes a thread begin to define {@code Guest}, whose superclass is found only after {@code resume}, which waits for
 * the end of the definition; {@code call} calls {@code Guest.getAsInt > twice}; {@code exit N} ends with exit code N.
 */
public final class Late {
    private Late() {}

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        Loader loader = new Loader();
        Thread definer = new Thread(() -> loader.guest(), "definer");
        System.out.println("ready");
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            switch (line) {
                case "define":
                    definer.start();
                    loader.asked.await();
                    break;
                case "resume":
                    loader.found.countDown();
                    definer.join();
                    break;
                case "call":
                    loader.guest().getAsInt();
                    break;
                default:
                    System.exit(Integer.parseInt(line.substring("exit ".length())));
            }
            System.out.println(line);
        }
    }

    /** The superclass. */
    public abstract static class Base implements IntSupplier {}

    /** The class that is defined late. */
    public static final class Guest extends Base {
        @Override
        public int getAsInt() {
            return twice(21);
        }

        private static int twice(int number) {
            return 2 * number;
        }
    }

    private static final class Loader extends ClassLoader {
        private final CountDownLatch asked = new CountDownLatch(1);
        private final CountDownLatch found = new CountDownLatch(1);

        Loader() {
            super(Late.class.getClassLoader());
        }

        IntSupplier guest() {
            try {
                return (IntSupplier) loadClass("harness.Late$Guest").getDeclaredConstructor().newInstance();
            } catch (ReflectiveOperationException error) {
                throw new IllegalStateException(error);
            }
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (name.equals("harness.Late$Base")) {
                asked.countDown();
                try {
                    found.await();
                } catch (InterruptedException error) {
                    throw new ClassNotFoundException(name, error);
                }
            }
            if (!name.equals("harness.Late$Guest")) {
                return super.loadClass(name, resolve);
            }
            Class<?> known = findLoadedClass(name);
            return known == null ? define(name) : known;
        }

        private Class<?> define(String name) throws ClassNotFoundException {
            try (InputStream in = Late.class.getResourceAsStream("Late$Guest.class")) {
                byte[] bytes = in.readAllBytes();
                return defineClass(name, bytes, 0, bytes.length);
            } catch (IOException error) {
                throw new ClassNotFoundException(name, error);
            }
        }
    }
}
