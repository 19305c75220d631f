package harness;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.reflect.Executable;
import java.lang.reflect.Parameter;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * A program with methods of all kinds whose parameters have names, which reflection shows.
 *
 * <p>Reads commands, one per line, from the standard input: {@code show} prints the parameters of all methods of its classes;
 * {@code late} those of a class that is loaded from the start and linked only then; {@code exit N} ends with exit code N.
 */
public final class Named {
    private static final BufferedReader IN =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));

    private Named() {}

    public static void main(String[] args) throws Exception {
        List<Class<?>> classes = List.of(Named.class, Kinds.class, Shape.class, Inner.class, Generic.class);
        Class<?> late = Class.forName("harness.Named$Late", false, Named.class.getClassLoader());
        System.out.println("ready");
        for (String line = IN.readLine(); line != null; line = IN.readLine()) {
            String[] words = line.split(" ");
            switch (words[0]) {
                case "show":
                    System.out.println(shown(classes));
                    break;
                case "late":
                    System.out.println(shown(List.of(late)));
                    break;
                default:
                    System.exit(Integer.parseInt(words[1]));
            }
        }
    }

    private static String shown(List<Class<?>> classes) {
        List<String> lines = new ArrayList<>();
        for (Class<?> type : classes) {
            List<Executable> methods = new ArrayList<>(Arrays.asList(type.getDeclaredMethods()));
            Collections.addAll(methods, type.getDeclaredConstructors());
            methods.forEach(method -> lines.add(shown(method)));
        }
        Collections.sort(lines);
        return String.join("; ", lines);
    }

    private static String shown(Executable method) {
        return method.getDeclaringClass().getSimpleName() + "." + method.getName()
                + Arrays.stream(method.getParameters()).map(Named::shown).collect(Collectors.toList());
    }

    private static String shown(Parameter parameter) {
        return parameter.getType().getSimpleName() + " " + parameter.getName() + " " + parameter.getModifiers()
                + (parameter.isNamePresent() ? " named" : "") + (parameter.isImplicit() ? " implicit" : "")
                + " " + parameter.getParameterizedType() + " " + parameter.getAnnotations().length;
    }

    @Retention(RetentionPolicy.RUNTIME)
    @interface Marked {}

    enum Kinds {
        FIRST("first"),
        SECOND("second");

        final String label;

        Kinds(final String label) {
            this.label = label;
        }
    }

    interface Shape {
        double area(double width, double height);

        default double twice(final double side) {
            return area(side, side) * 2;
        }

        static Shape square(int side) {
            return (width, height) -> side * width * height;
        }
    }

    final class Inner {
        Inner(long number, @Marked Object value) {}

        @Marked
        native void outside(int argument);
    }

    abstract static class Generic<T extends Comparable<T>> {
        abstract <K extends Number> Map<K, List<T>> sorted(Map<K, List<T>> unsorted, T[] rest);

        @Marked
        private static String wide(long left, double right, final String text) throws IOException {
            return text + left + right;
        }

        void nothing() {}
    }

    static final class Late {
        Late(final Object given, int many) {}

        static int twice(int number) {
            return number * 2;
        }
    }
}
