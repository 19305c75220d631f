package harness;

import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntSupplier;

/**
 * Two class loaders that define the same class: one knows only a few classes of the JDK, the other one all.
 *
 * <p>Calls {@code Guest.getAsInt > twice} in both, and prints the classes that each loader was asked for before that.
 */
public final class Picky {
    private Picky() {}

    public static void main(String[] args) throws Exception {
        for (boolean strict : new boolean[] {true, false}) {
            Loader loader = new Loader(strict);
            Class<?> guest = loader.loadClass("harness.Picky$Guest");
            IntSupplier supplier = (IntSupplier) guest.getDeclaredConstructor().newInstance();
            System.out.println(supplier.getAsInt() + " " + loader.known());
        }
    }

    /** The class that is loaded. */
    public static final class Guest implements IntSupplier {
        @Override
        public int getAsInt() {
            return twice(21);
        }

        private static int twice(int number) {
            return 2 * number;
        }
    }

    private static final class Loader extends ClassLoader {
        private final boolean strict;
        private final List<String> asked = new ArrayList<>();

        Loader(boolean strict) {
            super(null);
            this.strict = strict;
        }

        /** The classes it was asked for that every JVM asks for. */
        List<String> known() {
            asked.removeIf(name -> name.contains("Flow"));
            return asked;
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            asked.add(name);
            if (name.equals("harness.Picky$Guest")) {
                return define(name);
            }
            boolean isKnown = name.equals("java.lang.Object") || name.equals("java.util.function.IntSupplier");
            if (strict && !isKnown) {
                throw new ClassNotFoundException("not for you: " + name);
            }
            return super.loadClass(name, resolve);
        }

        private Class<?> define(String name) throws ClassNotFoundException {
            try (InputStream in = Picky.class.getResourceAsStream("Picky$Guest.class")) {
                byte[] bytes = in.readAllBytes();
                return defineClass(name, bytes, 0, bytes.length);
            } catch (IOException error) {
                throw new ClassNotFoundException(name, error);
            }
        }
    }
}
