import java.io.IOException;
import java.io.PrintStream;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Loads and links classes, which makes the JVM verify them, and prints the errors: the class, the kind
 * of error, the message. The last line is {@code linked} and their number.
 *
 * <p>{@code Load DIR JAR…}: every class file below the directory, in a loader of its own that also knows
 * the jars, which hold what the classes need. {@code Load --modules DIR}: the same, where the
 * directories in it are modules of this JVM, whose classes were replaced with {@code --patch-module}.
 */
final class Load {
    private static final String SUFFIX = ".class";

    private final List<String> errors = new ArrayList<>();
    private int linked;

    public static void main(String[] arguments) throws IOException {
        Load load = new Load();
        if (arguments[0].equals("--modules")) {
            load.modules(Path.of(arguments[1]));
        } else {
            load.directory(arguments);
        }
        PrintStream out = System.out;
        load.errors.stream().sorted().forEach(out::println);
        out.println("linked " + load.linked);
        // Threads of classes that were initialised by accident are not waited for.
        Runtime.getRuntime().halt(0);
    }

    private void directory(String[] places) throws IOException {
        Path directory = Path.of(places[0]);
        URL[] urls = new URL[places.length];
        for (int i = 0; i < places.length; i++) {
            urls[i] = Path.of(places[i]).toUri().toURL();
        }
        try (URLClassLoader loader = new URLClassLoader(urls, ClassLoader.getPlatformClassLoader())) {
            for (String name : names(directory)) {
                link(name, () -> Class.forName(name, false, loader));
            }
        }
    }

    private void modules(Path directory) throws IOException {
        List<Path> modules;
        try (Stream<Path> found = Files.list(directory)) {
            modules = found.sorted().collect(Collectors.toList());
        }
        for (Path path : modules) {
            String moduleName = path.getFileName().toString();
            Module module = ModuleLayer.boot().findModule(moduleName).orElse(null);
            if (module == null) {
                errors.add(moduleName + " is no module of this JVM");
                continue;
            }
            for (String name : names(path)) {
                link(name, () -> Class.forName(module, name));
            }
        }
    }

    private static List<String> names(Path directory) throws IOException {
        try (Stream<Path> files = Files.walk(directory)) {
            return files.map(file -> directory.relativize(file).toString())
                    .filter(file -> file.endsWith(SUFFIX) && !file.startsWith("META-INF"))
                    .map(file -> file.substring(0, file.length() - SUFFIX.length()).replace('/', '.'))
                    .filter(name -> !name.endsWith("module-info"))
                    .sorted()
                    .collect(Collectors.toList());
        }
    }

    private void link(String name, Lookup lookup) {
        try {
            Class<?> found = lookup.find();
            if (found == null) {
                errors.add(name + " not found");
                return;
            }
            found.getDeclaredMethods();
            linked++;
        } catch (Throwable error) {
            String message = String.valueOf(error.getMessage()).lines().findFirst().orElse("");
            errors.add(name + " " + error.getClass().getName() + " " + message);
        }
    }

    private interface Lookup {
        Class<?> find() throws Exception;
    }
}
