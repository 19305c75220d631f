package harness;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Runs the programs in JVMs of their own, without the agent: their output and exit codes are as documented. */
@Tag("process")
class ProgramsTest {
    private static final long DEADLINE_SECONDS = 120;

    @TempDir
    private Path directory;

    @ParameterizedTest
    @CsvSource(delimiter = ';', value = {
        "Hello;; 0; hello",
        "Recursion;; 0; fact(10) = 3628800|fib(8) = 21|ackermann(2, 2) = 7",
        "Exceptions;; 0; done",
        "Overflow; 3; 0; overflows 6|cleaned up",
        "Threads; 40; 0; done 40",
        "Unloading; 120; 0; called 120|unloaded",
        "Exit;; 3; hook",
        "Halt;; 4; before",
        "Daemons;; 0; main done",
        "Uncaught;; 1; ''",
        "Shapes;; 0; done",
        "Handlers;; 0; For input string: \"finally\"|For input string: \"locked\"|body|again|wrapped|built|deep|sum -37",
        "Constructors;; 0; done 1",
        "Names;; 0; é漢字𝑓",
        "HostileNames;; 0; done",
        "Concurrent;; 0; called 32000",
        "Natives;; 0; done",
        "ManyMethods; 300; 0; called 300",
        "Reflection;; 0; done",
        "Deep; 100; 0; depth 100",
        "Hooked;; 0; hooked 20",
        "SuperThrows;; 0; done",
        "Initialisers;; 0; done",
        "Synchronised;; 0; done",
        "Leaves;; 0; done",
        "Switches;; 0; done",
        "Assembled;; 0; done",
        "Overflowing; 1; 0; overflows 8",
        "Collections;; 0; a 8",
        "Waiting; 20; 0; ready",
        "LostUpdate;; 0; taken=1",
        "Children; 2; 0; 0|0",
    })
    void printsAndExits(String program, String argument, int exitCode, String lines) throws Exception {
        Result result = run(program, argument == null ? List.of() : List.of(argument), List.of(), "");
        assertEquals(lines.replace('|', '\n'), result.text().strip());
        assertEquals(exitCode, result.exitCode);
    }

    @Test
    void virtualThreadsEndOrAreMissing() throws Exception {
        Result result = run("VirtualThreads", List.of("50"), List.of(), "");
        boolean available = Runtime.version().feature() >= 21;
        assertEquals(available ? "done 50" : "no virtual threads", result.text().strip());
        assertEquals(0, result.exitCode);
    }

    @Test
    void roundsAreAcknowledged() throws Exception {
        String file = directory.resolve("acknowledged").toString();
        for (String way : List.of("return", "exit", "halt", "uncaught")) {
            Result result = run("Rounds", List.of("7", "2", "50", "joined", way, file), List.of(), "");
            assertEquals("acknowledged 50 50 50 0", result.text().strip());
            assertEquals(List.of("return", "uncaught", "", "exit", "halt").indexOf(way), result.exitCode);
        }
    }

    @Test
    void crowdsAndBusyThreadsSayWhatTheyDid() throws Exception {
        String crowd = run("Crowd", List.of("120"), List.of(), "").text();
        assertTrue(crowd.matches("done 120\\nfiles \\d+\\nmemory \\d+\\n"), crowd);
        String busy = run("Busy", List.of("2", "100100", "1"), List.of(), "").text();
        assertTrue(busy.matches("calls 200202\\nms \\d+\\n"), busy);
    }

    @Test
    void outOfMemoryIsSurvived() throws Exception {
        Result result = run("OutOfMemory", List.of(), List.of("-Xmx32m"), "");
        assertEquals("survived", result.text().strip());
        assertEquals(0, result.exitCode);
    }

    @Test
    void uncaughtExceptionsAreReported() throws Exception {
        String error = run("Uncaught", List.of(), List.of(), "").error;
        assertTrue(error.contains("Exception in thread \"doomed\""), error);
        assertTrue(error.contains("Exception in thread \"main\""), error);
    }

    @Test
    void outputIsWhatItSays() throws Exception {
        ByteArrayOutputStream expected = new ByteArrayOutputStream();
        StringBuilder expectedError = new StringBuilder();
        for (int i = 0; i < 100; i++) {
            expected.write(("out " + i + "\n").getBytes(StandardCharsets.US_ASCII));
            expectedError.append("err ").append(i).append('\n');
        }
        for (int value = 0; value < 256; value++) {
            expected.write(value);
        }
        expected.write('\n');
        for (int i = 0; i < 100_000; i++) {
            expected.write('a' + i % 26);
        }
        expected.write("\nread 5000\n".getBytes(StandardCharsets.US_ASCII));

        Result result = run("Output", List.of(), List.of(), "12345".repeat(1000));
        assertEquals(List.of(expected.toString("ISO-8859-1")), List.of(result.latin1()));
        assertEquals(expectedError.toString(), result.error);
        assertEquals(7, result.exitCode);
    }

    @Test
    void killCountsUntilItIsKilled() throws Exception {
        Process process = new ProcessBuilder(command("Kill", List.of(), List.of()))
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
        try (InputStream in = process.getInputStream()) {
            String expected = "0\n1\n2\n3\n4\n";
            assertEquals(expected, new String(in.readNBytes(expected.length()), StandardCharsets.US_ASCII));
            assertTrue(process.isAlive());
        } finally {
            process.destroyForcibly().waitFor(DEADLINE_SECONDS, TimeUnit.SECONDS);
        }
    }

    private Result run(String program, List<String> arguments, List<String> options, String input) throws Exception {
        Path out = directory.resolve("out");
        Path error = directory.resolve("error");
        ProcessBuilder builder = new ProcessBuilder(command(program, options, arguments))
                .redirectOutput(out.toFile())
                .redirectError(error.toFile());
        // It makes the JVM print a line.
        builder.environment().remove("JAVA_TOOL_OPTIONS");
        Process process = builder.start();
        try (OutputStream stdin = process.getOutputStream()) {
            stdin.write(input.getBytes(StandardCharsets.US_ASCII));
        } catch (IOException closed) {
            // The program has ended without reading.
        }
        if (!process.waitFor(DEADLINE_SECONDS, TimeUnit.SECONDS)) {
            process.destroyForcibly();
            throw new AssertionError(program + " still runs after " + DEADLINE_SECONDS + " s");
        }
        return new Result(Files.readAllBytes(out), Files.readString(error), process.exitValue());
    }

    private static List<String> command(String program, List<String> options, List<String> arguments)
            throws Exception {
        Path classes = Path.of(Hello.class.getProtectionDomain().getCodeSource().getLocation().toURI());
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(options);
        command.addAll(List.of("-cp", classes.toString(), "harness." + program));
        command.addAll(arguments);
        return command;
    }

    /** How a program ended and what it wrote. */
    private static final class Result {
        private final byte[] out;
        private final String error;
        private final int exitCode;

        Result(byte[] out, String error, int exitCode) {
            this.out = out;
            this.error = error;
            this.exitCode = exitCode;
        }

        String text() {
            return new String(out, StandardCharsets.UTF_8);
        }

        String latin1() {
            return new String(out, StandardCharsets.ISO_8859_1);
        }
    }
}
