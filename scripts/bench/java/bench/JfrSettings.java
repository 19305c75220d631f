package bench;

import java.io.IOException;
import java.net.URI;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Writes settings with which Flight Recorder of JDK 25 traces each method of a package, and nothing else, to stdout:
 * {@code JfrSettings ROOT PACKAGE}, where ROOT is a directory, a jar or {@code jrt:/MODULE}.
 *
 * <p>Its filter takes classes, not packages, and a wildcard is accepted but records nothing; so all classes are named.
 * Stack traces are off: they make an event some thousand times as expensive.
 */
public final class JfrSettings {
    private JfrSettings() {}

    public static void main(String[] args) throws IOException {
        String filter = classes(open(args[0]), args[1]);
        if (filter.isEmpty()) {
            throw new IllegalArgumentException("no class of " + args[1] + " in " + args[0]);
        }
        System.out.println("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                + "<configuration version=\"2.0\">\n"
                + "  <event name=\"jdk.MethodTrace\">\n"
                + "    <setting name=\"enabled\">true</setting>\n"
                + "    <setting name=\"threshold\">0 ms</setting>\n"
                + "    <setting name=\"stackTrace\">false</setting>\n"
                + "    <setting name=\"filter\">" + filter + "</setting>\n"
                + "  </event>\n"
                + "  <event name=\"jdk.DataLoss\">\n"
                + "    <setting name=\"enabled\">true</setting>\n"
                + "  </event>\n"
                + "</configuration>");
    }

    private static Path open(String root) throws IOException {
        if (root.startsWith("jrt:")) {
            return Path.of(URI.create(root));
        }
        Path path = Path.of(root);
        return Files.isDirectory(path)
                ? path
                : FileSystems.newFileSystem(path, (ClassLoader) null).getPath("/");
    }

    private static String classes(Path root, String packageName) throws IOException {
        try (Stream<Path> files = Files.walk(root.resolve(packageName.replace('.', '/')))) {
            return files.map(file -> root.relativize(file).toString())
                    .filter(name -> name.endsWith(".class"))
                    .map(name -> name.substring(0, name.length() - ".class".length()).replace('/', '.'))
                    .sorted()
                    .collect(Collectors.joining(";"));
        }
    }
}
