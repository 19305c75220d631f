package harness;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.function.IntUnaryOperator;

/**
 * Two versions of a class, each in a class loader of its own, as after a redeployment. The letters at the ends of lines are
 * their names in tests.
 */
public final class Redeployed {
    private Redeployed() {}

    public static void main(String[] args) throws Exception {
        IntUnaryOperator old = load("One");
        IntUnaryOperator renewed = load("Two");
        int sum = 0;
        for (int i = 0; i < 3; i++) {
            sum += old.applyAsInt(i);
            sum += renewed.applyAsInt(i);
        }
        System.out.println(sum);
    }

    private static IntUnaryOperator load(String version) throws Exception {
        Class<?> type = new Loader(version).loadClass("harness.Redeployed$One");
        return (IntUnaryOperator) type.getDeclaredConstructor().newInstance();
    }

    /** The first version. */
    public static final class One implements IntUnaryOperator {
        @Override
        public int applyAsInt(int alpha) {
            return alpha + 1; // @a
        }
    }

    /** The second version: renamed when it is loaded. */
    public static final class Two implements IntUnaryOperator {
        @Override
        public int applyAsInt(int gamma) {
            int sum = 0; // @b
            if (gamma > 1) { // @c
                sum += 100; // @d
            }
            return sum; // @e
        }
    }

    private static final class Loader extends ClassLoader {
        private final String version;

        Loader(String version) {
            super(Redeployed.class.getClassLoader());
            this.version = version;
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (!name.equals("harness.Redeployed$One")) {
                return super.loadClass(name, resolve);
            }
            String file = "Redeployed$" + version + ".class";
            try (InputStream in = Redeployed.class.getResourceAsStream(file)) {
                // Names of the same length, so nothing else in the file changes.
                String bytes = new String(in.readAllBytes(), StandardCharsets.ISO_8859_1);
                byte[] renamed = bytes.replace("$Two", "$One").getBytes(StandardCharsets.ISO_8859_1);
                return defineClass(name, renamed, 0, renamed.length);
            } catch (IOException e) {
                throw new ClassNotFoundException(name, e);
            }
        }
    }
}
