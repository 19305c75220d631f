package harness;

import java.util.function.IntSupplier;
import java.util.function.Supplier;

/** Methods that the compiler adds: the body of a lambda, a bridge, and a bridge that only makes a method visible. */
public final class Bridged {
    private Bridged() {}

    public static void main(String[] args) {
        Supplier<Integer> made = new Made();
        IntSupplier lambda = () -> 4;
        System.out.println(new Shown().visible() + made.get() + lambda.getAsInt());
    }

    abstract static class Hidden {
        public int visible() {
            return 1;
        }
    }

    /** Has a method {@code visible()} of its own, although the source does not show it. */
    public static final class Shown extends Hidden {}

    static final class Made implements Supplier<Integer> {
        @Override
        public Integer get() {
            return 2;
        }
    }
}
