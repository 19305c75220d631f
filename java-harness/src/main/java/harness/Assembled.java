package harness;

import java.lang.reflect.InvocationTargetException;

/**
 * Class files of old versions, with subroutines and without frames, and methods near every limit of the format.
 *
 * <p>Tree: {@code main} calls, for each version, {@code run}; under it are the methods of the class {@code
 * harness.VersionN}, as {@link Versions} describes them. The code that makes the classes is not recorded.
 */
public final class Assembled {
    private Assembled() {}

    public static void main(String[] args) throws Exception {
        for (int version : new int[] {45, 49, 50, 55}) {
            run(version, new Templates.Loader().define(Versions.define(version)));
        }
        System.out.println("done");
    }

    private static void run(int version, Class<?> type) throws ReflectiveOperationException {
        if (version < 50) {
            call(type, "subroutine", 0);
            call(type, "subroutine", 1);
            call(type, "wideSubroutine", 0);
            call(type, "wideSubroutine", 1);
        }
        call(type, "wideLocals", 1);
        call(type, "allLocals", 1);
        call(type, "farJump", 0);
        call(type, "farJump", 1);
        call(type, "longLoop", 2);
        call(type, "longestLoop", 2);
    }

    private static void call(Class<?> type, String method, int argument) throws ReflectiveOperationException {
        try {
            type.getMethod(method, int.class).invoke(null, argument);
        } catch (InvocationTargetException failure) {
            caught();
        }
    }

    private static void caught() {}

    /** Called by the classes of {@link Versions}. */
    public static void leaf() {}

    /** Called by the classes of {@link Versions}. */
    public static void failIf(int flag) {
        if (flag != 0) {
            throw new IllegalStateException("flag");
        }
    }
}
