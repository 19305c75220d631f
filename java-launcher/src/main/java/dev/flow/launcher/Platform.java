package dev.flow.launcher;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Locale;

/** The name of the kind of machine that this is, such as {@code linux-x86_64}. It is a classifier in Maven. */
final class Platform {
    /** The platforms that a release is made for: Linux with the GNU C library, or with musl. */
    static final List<String> ALL =
        Collections.unmodifiableList(Arrays.asList("linux-x86_64", "linux-aarch_64", "linux-x86_64-musl"));

    private Platform() {}

    /** Returns the platform of this JVM, which may be one that the jar has nothing for. */
    static String here() {
        return of(System.getProperty("os.name", ""), System.getProperty("os.arch", ""), isMusl(mappings()));
    }

    /** Returns the platform that the JVM names in its properties {@code os.name} and {@code os.arch}. */
    static String of(String system, String machine, boolean isMusl) {
        return system.toLowerCase(Locale.ROOT).replace(' ', '-') + '-' + architecture(machine) + (isMusl ? "-musl" : "");
    }

    /** Returns whether a process with these lines in {@code /proc/PID/maps} was started by the loader of musl. */
    static boolean isMusl(String mappings) {
        return mappings.contains("/ld-musl-");
    }

    private static String mappings() {
        try {
            return new String(Files.readAllBytes(Paths.get("/proc/self/maps")), StandardCharsets.UTF_8);
        } catch (IOException absent) {
            // Another system, or one that does not show it.
            return "";
        }
    }

    /** Returns the name that {@code os-maven-plugin} uses, because other classifiers have it too. */
    private static String architecture(String machine) {
        switch (machine) {
            case "amd64":
                return "x86_64";
            case "aarch64":
                return "aarch_64";
            default:
                return machine;
        }
    }
}
