package oracle;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * The calls of the suite as its methods log them: each logs its entry and its depth. The log of a test goes into a file
 * of its name, in the directory that the system property or environment variable {@code ORACLE} names. This class is
 * not recorded.
 */
public final class Oracle {
    private static final String DIR =
            System.getProperty("ORACLE", System.getenv("ORACLE"));

    private static final class Log {
        final List<String> lines = new ArrayList<>();
        int depth;
    }

    private static final ThreadLocal<Log> LOG = new ThreadLocal<>();

    private Oracle() {}

    /** The current thread begins a test. Returns the previous one, for {@link #end}. */
    public static Object begin() {
        Log outer = LOG.get();
        LOG.set(new Log());
        return outer;
    }

    /** The current thread has ended the test. */
    public static void end(String test, Object outer) {
        Log log = LOG.get();
        LOG.set((Log) outer);
        if (DIR == null || log == null) {
            return;
        }
        try {
            Files.createDirectories(Path.of(DIR));
            Files.write(Path.of(DIR, test.replace('/', '_')), log.lines);
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    /** A method is entered. {@link #leave} must follow however it is left. */
    public static void enter(String method) {
        Log log = LOG.get();
        if (log != null) {
            log.lines.add("  ".repeat(log.depth) + method);
            log.depth++;
        }
    }

    /** The method is left. */
    public static void leave() {
        Log log = LOG.get();
        if (log != null) {
            log.depth--;
        }
    }
}
