package harness;

import java.util.function.Function;
import java.util.function.IntSupplier;
import java.util.function.Supplier;
import java.util.function.ToIntFunction;

/**
 * The kinds of methods in class files: one call of each.
 *
 * <p>Tree: {@code main} calls one method for each shape, in the order below; the comment of the method has its calls.
 * The classes that the JVM makes for lambdas are hidden and not in the tree; the bodies of lambdas are methods of this
 * class ({@code lambda$…}), while a method reference calls the method itself.
 */
public final class Shapes {
    private final int base;

    private Shapes(int base) {
        this.base = base;
    }

    public static void main(String[] args) {
        interfaces();
        new Shapes(1).classes();
        lambdas(2);
        methodReferences();
        bridges();
        locks();
        choose("one");
        choose("Aa");
        choose("BB");
        choose("other");
        sum();
        sum(1);
        sum(1, 2, 3);
        System.out.println("done");
    }

    /** {@code Greeter.plain > Plain.<init>}, then {@code Greeter.twice > prefix, Plain.greet} (each of them twice). */
    private static void interfaces() {
        Greeter greeter = Greeter.plain();
        greeter.twice("a");
    }

    /** An inner, a static nested, an anonymous and a local class: {@code <init>} and one method each. */
    private void classes() {
        new Inner().value();
        new Nested(2).value();
        new Nested(3) {
            @Override
            int value() {
                return super.value() + base;
            }
        }.value();
        final class Local {
            int value() {
                return base;
            }
        }
        new Local().value();
    }

    /** A lambda that captures nothing, one that captures a local variable, and one that is called twice. */
    private static void lambdas(int captured) {
        Supplier<String> none = () -> text();
        none.get();
        IntSupplier some = () -> captured + number();
        some.getAsInt();
        Runnable twice = () -> number();
        twice.run();
        twice.run();
    }

    /** References to a static method, to a method of a given object, to one of any object, and to a constructor. */
    private static void methodReferences() {
        Supplier<String> toStatic = Shapes::text;
        toStatic.get();
        Nested nested = new Nested(4);
        IntSupplier bound = nested::value;
        bound.getAsInt();
        ToIntFunction<Nested> unbound = Nested::value;
        unbound.applyAsInt(nested);
        Function<Integer, Nested> constructor = Nested::new;
        constructor.apply(5);
    }

    /** A call of the generic method goes through the bridge {@code compareTo(Object)} and {@code copy()Object}. */
    private static void bridges() {
        Version version = new Version(1);
        Comparable<Version> comparable = version;
        comparable.compareTo(version);
        version.compareTo(version);
        Copyable copyable = version;
        copyable.copy();
    }

    /** A synchronised static method, and a synchronised method that enters its own lock again. */
    private static void locks() {
        staticLock();
        new Nested(6).lock(2);
    }

    private static synchronized void staticLock() {}

    /** A switch on strings, two of which have the same hash code. */
    private static int choose(String text) {
        switch (text) {
            case "one":
                return number();
            case "Aa":
                return number() + 1;
            case "BB":
                return number() + number();
            default:
                return 0;
        }
    }

    private static int sum(int... numbers) {
        int sum = 0;
        for (int number : numbers) {
            sum = add(sum, number);
        }
        return sum;
    }

    private static int add(int left, int right) {
        return left + right;
    }

    private static String text() {
        return "text";
    }

    private static int number() {
        return 7;
    }

    /** An interface with methods of each kind. */
    private interface Greeter {
        String greet(String name);

        default String twice(String name) {
            return prefix() + greet(name) + prefix() + greet(name);
        }

        static Greeter plain() {
            return new Plain();
        }

        private String prefix() {
            return "> ";
        }
    }

    private static final class Plain implements Greeter {
        @Override
        public String greet(String name) {
            return "hello " + name;
        }
    }

    private final class Inner {
        int value() {
            return base;
        }
    }

    private static class Nested {
        private final int value;

        Nested(int value) {
            this.value = value;
        }

        int value() {
            return value;
        }

        synchronized void lock(int again) {
            if (again > 0) {
                lock(again - 1);
            }
        }
    }

    private interface Copyable {
        Object copy();
    }

    private static final class Version implements Comparable<Version>, Copyable {
        private final int number;

        Version(int number) {
            this.number = number;
        }

        @Override
        public int compareTo(Version other) {
            return Integer.compare(number, other.number);
        }

        @Override
        public Version copy() {
            return new Version(number);
        }
    }
}
