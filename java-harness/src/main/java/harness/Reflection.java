package harness;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;

/**
 * Calls that go through the JDK: reflection, a proxy, method handles.
 *
 * <p>Tree: {@code main > reflection > target} 30 times, enough to make older JDKs replace native code by a generated
 * class; {@code failing > fails} once, whose exception is wrapped; {@code proxy > Handler.<init>}, {@code
 * Handler.invoke > target} 3 times; {@code handles > target} 3 times and {@code Reflection.<init>} once. The classes
 * that the JDK generates on the way (accessors, {@code $Proxy0}, lambda forms) are not in the tree.
 */
public final class Reflection {
    private Reflection() {}

    public static void main(String[] args) throws Throwable {
        reflection();
        failing();
        proxy();
        handles();
        System.out.println("done");
    }

    private static void reflection() throws ReflectiveOperationException {
        Method method = Reflection.class.getDeclaredMethod("target", int.class);
        for (int i = 0; i < 30; i++) {
            method.invoke(null, i);
        }
    }

    private static void failing() throws ReflectiveOperationException {
        try {
            Reflection.class.getDeclaredMethod("fails").invoke(null);
        } catch (java.lang.reflect.InvocationTargetException expected) {
            caught();
        }
    }

    private static void proxy() {
        Object proxy = Proxy.newProxyInstance(
                Reflection.class.getClassLoader(), new Class<?>[] {Subject.class}, new Handler());
        for (int i = 0; i < 3; i++) {
            ((Subject) proxy).call(i);
        }
    }

    private static void handles() throws Throwable {
        MethodHandles.Lookup lookup = MethodHandles.lookup();
        MethodHandle target = lookup.findStatic(
                Reflection.class, "target", MethodType.methodType(int.class, int.class));
        int exact = (int) target.invokeExact(1);
        Object general = target.invoke((short) 2);
        Object withArguments = target.invokeWithArguments(3);
        MethodHandle constructor =
                lookup.findConstructor(Reflection.class, MethodType.methodType(void.class));
        Reflection object = (Reflection) constructor.invokeExact();
        object.results(exact, general, withArguments);
    }

    private void results(Object... results) {}

    static int target(int number) {
        return number * 31;
    }

    static void fails() {
        throw new IllegalStateException("target of reflection");
    }

    private static void caught() {}

    /** The interface that the proxy implements. */
    public interface Subject {
        int call(int number);
    }

    private static final class Handler implements InvocationHandler {
        @Override
        public Object invoke(Object proxy, Method method, Object[] arguments) {
            return target((Integer) arguments[0]);
        }
    }
}
