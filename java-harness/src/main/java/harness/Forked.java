package harness;

import java.lang.invoke.MethodHandle;
import java.lang.reflect.Array;
import java.util.Optional;

/**
 * Copies itself with {@code fork}, as native code may, and calls methods in both processes. Needs JDK 22 and {@code
 * --enable-native-access=ALL-UNNAMED}; prints {@code no foreign functions} if the JDK has none.
 *
 * <p>Arguments: calls before, in each child, between and after (1000 each), children (3). Tree of {@code main}: {@code
 * main > foreign} three times, {@code before > leaf}…, for each child {@code between > leaf}…, {@code after > leaf}….
 * The calls of the children, {@code child > leaf}…, happen in other processes and must not be recorded. Prints {@code
 * child N ended} for each.
 */
public final class Forked {
    private static int sum;

    private Forked() {}

    public static void main(String[] args) throws Throwable {
        int calls = args.length > 0 ? Integer.parseInt(args[0]) : 1000;
        int children = args.length > 1 ? Integer.parseInt(args[1]) : 3;
        MethodHandle fork = foreign("fork", 0);
        MethodHandle exit = foreign("_exit", 1);
        MethodHandle wait = foreign("wait", 1);
        if (fork == null) {
            System.out.println("no foreign functions");
            return;
        }
        before(calls);
        for (int i = 0; i < children; i++) {
            int process = (int) fork.invoke();
            if (process == 0) {
                child(calls);
                int ignored = (int) exit.invoke(0);
            }
            between(calls);
            int ended = (int) wait.invoke(0);
            System.out.println(ended == process ? "child " + i + " ended" : "another process ended");
        }
        after(calls);
        System.out.println("done");
    }

    private static void before(int calls) {
        leaves(calls);
    }

    private static void child(int calls) {
        leaves(calls);
    }

    private static void between(int calls) {
        leaves(calls);
    }

    private static void after(int calls) {
        leaves(calls);
    }

    private static void leaves(int calls) {
        for (int i = 0; i < calls; i++) {
            leaf(i);
        }
    }

    private static void leaf(int number) {
        sum += number;
    }

    /**
     * Calls a function of the C library with numbers as parameters and result, by reflection, because older compilers
     * do not know java.lang.foreign.
     */
    static MethodHandle foreign(String name, int arguments) throws ReflectiveOperationException {
        Class<?> linkerType;
        try {
            linkerType = Class.forName("java.lang.foreign.Linker");
            Class.forName("java.lang.foreign.Linker$Option");
        } catch (ClassNotFoundException missing) {
            return null;
        }
        Class<?> layoutType = Class.forName("java.lang.foreign.MemoryLayout");
        Class<?> segmentType = Class.forName("java.lang.foreign.MemorySegment");
        Class<?> functionType = Class.forName("java.lang.foreign.FunctionDescriptor");
        Class<?> optionType = Class.forName("java.lang.foreign.Linker$Option");
        Class<?> lookupType = Class.forName("java.lang.foreign.SymbolLookup");
        Class<?> valueType = Class.forName("java.lang.foreign.ValueLayout");
        Object layout = valueType.getField("JAVA_INT").get(null);
        // wait() takes a pointer; a null one is a long of zero.
        Object argument = valueType.getField(name.equals("wait") ? "JAVA_LONG" : "JAVA_INT").get(null);
        Object layouts = Array.newInstance(layoutType, arguments);
        for (int i = 0; i < arguments; i++) {
            Array.set(layouts, i, argument);
        }
        Object function = functionType
                .getMethod("of", layoutType, layouts.getClass())
                .invoke(null, layout, layouts);
        Object linker = linkerType.getMethod("nativeLinker").invoke(null);
        Object lookup = linkerType.getMethod("defaultLookup").invoke(linker);
        Object symbol = ((Optional<?>) lookupType.getMethod("find", String.class).invoke(lookup, name)).orElseThrow();
        Object options = Array.newInstance(optionType, 0);
        return (MethodHandle) linkerType
                .getMethod("downcallHandle", segmentType, functionType, options.getClass())
                .invoke(linker, symbol, function, options);
    }
}
