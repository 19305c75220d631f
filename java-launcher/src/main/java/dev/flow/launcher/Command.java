package dev.flow.launcher;

import java.io.IOException;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Runs a program with the streams of this process, and passes signals on to it. */
final class Command {
    /** The variable from which flow knows what it suggests to type: {@code cli/src/output/messages/flow_command.rs}. */
    private static final String STARTED_AS = "FLOW_STARTED_AS";

    private Command() {}

    /**
     * Runs a program to its end. {@code startedAs} is what the user types to start it. Returns its exit status, or 128
     * and the number of the signal that killed it.
     */
    static int run(Path program, List<String> arguments, String startedAs) throws Refusal {
        List<String> words = new ArrayList<>();
        words.add(program.toString());
        words.addAll(arguments);
        // Before the program starts: from here on, no signal ends this process and leaves the program behind.
        Running running = new Running();
        // A terminal sends these to the program, too.
        on("INT", () -> {});
        // These come from a process that knows only this one. Java can send no other signal than TERM.
        on("TERM", running::terminate);
        on("HUP", running::terminate);
        try {
            ProcessBuilder builder = new ProcessBuilder(words).inheritIO();
            builder.environment().put(STARTED_AS, startedAs);
            running.start(builder);
        } catch (IOException error) {
            // The system reports a missing loader as if the program were missing.
            boolean lacksLoader = error.getMessage().contains("error=2,");
            throw new Refusal(error.getMessage() + (lacksLoader
                ? "; this flow needs the GNU C library, glibc 2.17 or later" : ""));
        }
        return running.end();
    }

    /**
     * Sets what a signal does. By reflection, because {@code javac --release 8} hides these classes. In a runtime
     * without them, a signal ends this process only.
     */
    private static void on(String signal, Runnable action) {
        try {
            Class<?> handler = Class.forName("sun.misc.SignalHandler");
            Class<?> signals = Class.forName("sun.misc.Signal");
            Object proxy = Proxy.newProxyInstance(Command.class.getClassLoader(), new Class<?>[] {handler},
                (self, method, given) -> {
                    if (method.getName().equals("handle")) {
                        action.run();
                    }
                    return null;
                });
            signals.getMethod("handle", signals, handler)
                .invoke(null, signals.getConstructor(String.class).newInstance(signal), proxy);
        } catch (ReflectiveOperationException | IllegalArgumentException absent) {
            // The module jdk.unsupported is missing, or the JVM was started with -Xrs.
        }
    }

    /** The program, from the moment at which a signal may arrive for it. */
    private static final class Running {
        private Process process;
        private boolean isTerminated;

        synchronized void start(ProcessBuilder program) throws IOException {
            process = program.start();
            if (isTerminated) {
                process.destroy();
            }
        }

        synchronized void terminate() {
            isTerminated = true;
            if (process != null) {
                process.destroy();
            }
        }

        int end() {
            while (true) {
                try {
                    return process.waitFor();
                } catch (InterruptedException interrupted) {
                    // Nothing here interrupts this thread, and the program still runs.
                }
            }
        }
    }
}
