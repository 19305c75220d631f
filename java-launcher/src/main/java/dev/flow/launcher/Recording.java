package dev.flow.launcher;

import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.lang.ProcessBuilder.Redirect;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;

/**
 * A run of {@code flow record} around a build that runs already: for plugins of build tools.
 *
 * <p>Instead of the build, flow runs a shell. The shell prints its environment, in which flow has put what loads the
 * agent, and waits until its input ends. The plugin gives these variables to the JVMs of tests, and ends the input
 * when the build ends. So options, the place of the recording and the messages are those of {@code flow record -- mvn
 * test}. If the build is killed, the input ends too.
 */
public final class Recording implements AutoCloseable {
    private static final String JAVA_TOOL_OPTIONS = "JAVA_TOOL_OPTIONS";

    /**
     * Ctrl-C is for the build: the shell ends after it. Two NULs in a row end the environment, in which there is no
     * empty variable.
     */
    private static final String SHELL =
        "trap '' HUP INT QUIT TERM; cat /proc/self/environ; printf '\\0'; exec cat > /dev/null";

    private final Process process;
    private final ByteArrayOutputStream messages = new ByteArrayOutputStream();
    private Thread reader;
    private final Map<String, String> variables = new TreeMap<>();

    private Recording(Process process) {
        this.process = process;
    }

    /**
     * Starts to record. Where flow cannot be run, prints one line about it and returns a recording without variables; also
     * where {@code flow record} runs the build, which records its JVMs already.
     *
     * @param options  those of {@code flow record}, separated by white space
     * @param tool     the build tool, which the recording is named after
     * @param project  the directory of the project
     * @param from     the directory in which the user started the build
     * @param messages where flow prints its messages
     * @return the recording
     * @throws IOException if flow refuses the options, or does not start
     */
    public static Recording start(String options, String tool, File project, File from, Redirect messages)
            throws IOException {
        if (System.getenv("FLOW_SESSION") != null) {
            return new Recording(null);
        }
        Path directory;
        try {
            directory = Cache.unpack(Payload.of(Platform.here()), Cache.places(System.getenv()));
        } catch (Refusal refusal) {
            System.err.println("flow: not recorded: " + refusal.getMessage());
            return new Recording(null);
        }
        List<String> words = new ArrayList<>(Arrays.asList(directory.resolve(Payload.PROGRAM).toString(), "record"));
        words.addAll(Arrays.asList(options.trim().split("\\s+")));
        words.removeIf(String::isEmpty);
        // flow finds the packages of the project by this option, which Maven and Gradle have. The shell ignores it.
        words.addAll(Arrays.asList("--", "sh", "-c", SHELL, tool, "--file", project.getPath()));
        ProcessBuilder flow = new ProcessBuilder(words).directory(from).redirectError(messages);
        Recording recording = new Recording(flow.start());
        recording.readMessages();
        recording.readVariables();
        return recording;
    }

    /**
     * Returns what a JVM needs in its environment to be recorded.
     *
     * @param ofProject returns the value that the project has set for a variable, or null. It is kept; options that load
     *                  the agent are appended to the project's options for JVMs
     * @return values by the names of variables; none if nothing is recorded
     */
    public Map<String, String> variables(Function<String, ?> ofProject) {
        Map<String, String> joined = new TreeMap<>();
        variables.forEach((name, value) -> {
            Object set = ofProject.apply(name);
            if (set == null || name.equals(JAVA_TOOL_OPTIONS) && set.toString().equals(System.getenv(name))) {
                joined.put(name, value);
            } else {
                joined.put(name, name.equals(JAVA_TOOL_OPTIONS) ? set + " " + value : set.toString());
            }
        });
        return joined;
    }

    /** Ends the recording, and waits until flow has printed its summary. */
    @Override
    public void close() {
        try {
            end();
        } catch (IOException error) {
            System.err.println("flow: " + error);
        }
    }

    /** Reads messages that are not redirected, so that flow never waits until they are read. */
    private void readMessages() {
        InputStream in = process.getErrorStream();
        reader = new Thread(() -> {
            byte[] buffer = new byte[1 << 12];
            try {
                for (int count = in.read(buffer); count >= 0; count = in.read(buffer)) {
                    messages.write(buffer, 0, count);
                }
            } catch (IOException error) {
                // flow has ended.
            }
        }, "flow messages");
        reader.setDaemon(true);
        reader.start();
    }

    private void readVariables() throws IOException {
        InputStream output = process.getInputStream();
        ByteArrayOutputStream environment = new ByteArrayOutputStream();
        int last = -1;
        for (int next = output.read(); next >= 0 && (next != 0 || last != 0); next = output.read()) {
            environment.write(next);
            last = next;
        }
        for (String variable : environment.toString().split("\0")) {
            if (variable.startsWith("FLOW_") || variable.startsWith(JAVA_TOOL_OPTIONS + '=')) {
                int end = variable.indexOf('=');
                variables.put(variable.substring(0, end), variable.substring(end + 1));
            }
        }
        if (variables.isEmpty()) {
            end();
            throw new IOException("flow record ended with status " + process.exitValue());
        }
    }

    /** Ends the input of the shell, and prints the messages of flow that were not redirected. */
    private void end() throws IOException {
        if (process == null) {
            return;
        }
        process.getOutputStream().close();
        try {
            process.waitFor();
            reader.join();
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
        System.err.print(messages);
    }
}
