package dev.flow.launcher;

import java.io.File;
import java.util.stream.Stream;

/** The words with which the user starts this program, such as {@code java -jar flow-all.jar}. */
final class Invocation {
    private Invocation() {}

    /** Returns the words that start this program once more, quoted for a shell. */
    static String ofThisJvm() {
        return of(System.getProperty("java.class.path", ""), System.getenv().getOrDefault("PATH", ""),
            System.getProperty("java.home", ""));
    }

    /**
     * Returns the words for a class path, which is the name of the jar as the user typed it, if that was started with
     * {@code -jar}. The JVM does not know what was typed for {@code java}: it is that of the PATH, if there is one.
     */
    static String of(String classPath, String path, String home) {
        boolean isOnPath = Stream.of(path.split(File.pathSeparator)).filter(folder -> !folder.isEmpty())
            .anyMatch(folder -> isProgram(new File(folder, "java")));
        String java = isOnPath ? "java" : quoted(home + "/bin/java");
        boolean isJar = classPath.endsWith(".jar") && !classPath.contains(File.pathSeparator);
        return java + (isJar ? " -jar " + quoted(classPath) : " -cp " + quoted(classPath) + ' ' + Main.class.getName());
    }

    private static boolean isProgram(File file) {
        return file.isFile() && file.canExecute();
    }

    private static String quoted(String word) {
        return word.matches("[\\p{L}\\p{N}/._+,:@%][\\p{L}\\p{N}/._+,:@%-]*") ? word
            : '\'' + word.replace("'", "'\\''") + '\'';
    }
}
