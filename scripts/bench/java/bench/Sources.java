package bench;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Writes the program that the compiler is recorded on: {@code Sources DIR CLASSES METHODS}.
 *
 * <p>Each class is generic and has methods of five kinds, because they cost a compiler very different amounts of time:
 * plain arithmetic, loops over collections, lambdas, generic methods calling the class before, and, one in fifteen,
 * streams whose types must be inferred. Nothing is random, so every run compiles the same program.
 */
public final class Sources {
    private Sources() {}

    public static void main(String[] args) throws IOException {
        Path dir = Files.createDirectories(Path.of(args[0]));
        int classes = Integer.parseInt(args[1]);
        int methods = Integer.parseInt(args[2]);
        for (int number = 0; number < classes; number++) {
            Files.writeString(dir.resolve("C" + number + ".java"), source(number, methods));
        }
    }

    private static String source(int number, int methods) {
        StringBuilder text = new StringBuilder();
        text.append("import java.util.*;\nimport java.util.function.*;\nimport java.util.stream.*;\n\n");
        text.append("public class C").append(number).append("<T extends Comparable<T>> {\n");
        text.append("    private final Map<String, List<T>> table = new HashMap<>();\n");
        text.append("    private int count;\n");
        for (int i = 0; i < methods; i++) {
            text.append('\n').append(method(number, i));
        }
        return text.append("}\n").toString();
    }

    private static String method(int number, int i) {
        switch (i % 15 == 14 ? 4 : i % 4) {
            case 0:
                return "    int sum" + i + "(int a, int b) {\n"
                        + "        int c = a * " + (i + 1) + " + (b << " + i % 7 + ");\n"
                        + "        for (int k = 0; k < c; k++) {\n"
                        + "            if ((k & 1) == 0) { count += k; } else { count -= b; }\n"
                        + "        }\n"
                        + "        return c > count ? c : count + a;\n"
                        + "    }\n";
            case 1:
                return "    T most" + i + "(List<T> items, T start) {\n"
                        + "        T best = start;\n"
                        + "        for (T item : items) {\n"
                        + "            if (item.compareTo(best) > 0) { best = item; }\n"
                        + "            table.computeIfAbsent(\"key\" + count, key -> new ArrayList<>()).add(item);\n"
                        + "        }\n"
                        + "        return best;\n"
                        + "    }\n";
            case 2:
                return "    Function<T, String> text" + i + "(String prefix) {\n"
                        + "        Supplier<Integer> size = () -> table.size() + " + i + ";\n"
                        + "        BiFunction<String, T, String> join = (head, tail) -> head + tail + size.get();\n"
                        + "        return value -> join.apply(prefix, value);\n"
                        + "    }\n";
            case 3:
                return "    <U extends T> Optional<U> first" + i + "(List<? extends U> items, Predicate<? super U> wanted) {\n"
                        + "        for (U item : items) {\n"
                        + "            if (wanted.test(item)) { return Optional.of(item); }\n"
                        + "        }\n"
                        + (number == 0 ? "" : "        new C" + (number - 1) + "<String>().sum0(count, "
                                + i + ");\n")
                        + "        return Optional.empty();\n"
                        + "    }\n";
            default:
                return "    Map<Integer, List<String>> group" + i + "(Collection<String> words) {\n"
                        + "        return words.stream()\n"
                        + "                .filter(word -> !word.isEmpty())\n"
                        + "                .map(word -> word.trim() + count)\n"
                        + "                .sorted(Comparator.comparing(String::length)"
                        + ".thenComparing(Comparator.reverseOrder()))\n"
                        + "                .collect(Collectors.groupingBy(String::length, TreeMap::new, "
                        + "Collectors.toList()));\n"
                        + "    }\n";
        }
    }
}
