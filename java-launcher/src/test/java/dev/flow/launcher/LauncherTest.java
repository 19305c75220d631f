package dev.flow.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Runs the launcher as a command. In place of {@code flow} it has a shell script. */
final class LauncherTest {
    @TempDir
    Path dir;

    private Path home;
    private Path temporary;

    @BeforeEach
    void makeDirectories() throws IOException {
        home = Files.createDirectory(dir.resolve("home"));
        temporary = Files.createDirectory(dir.resolve("tmp"));
        program("cat; echo \"$1|$2\"; echo problem >&2; exit 7");
    }

    @Test
    void argumentsStreamsAndStatusAreThoseOfTheProgram() throws Exception {
        Process process = launcher("a b", "*").start();
        process.getOutputStream().write("typed\n".getBytes(StandardCharsets.UTF_8));
        process.getOutputStream().close();
        assertEquals("typed\na b|*\n", text(process.getInputStream()));
        assertEquals("problem\n", text(process.getErrorStream()));
        assertEquals(7, process.waitFor());
    }

    @Test
    void theProgramKnowsHowItIsStartedOnceMore() throws Exception {
        program("echo \"$FLOW_STARTED_AS\"");
        Process process = launcher().start();
        String classPath = "target/classes:" + dir.resolve("jar");
        String expected = " -cp " + classPath + " dev.flow.launcher.Main\n";
        String line = text(process.getInputStream());
        assertTrue(line.endsWith(expected), line);
    }

    @Test
    void aJarIsStartedByTheNameThatWasTyped() throws IOException {
        Path bin = Files.createDirectory(dir.resolve("bin"));
        String path = "/no/such:" + bin;
        assertEquals("/jdk/bin/java -jar flow-all.jar", Invocation.of("flow-all.jar", path, "/jdk"));
        Files.createFile(bin.resolve("java"), PosixFilePermissions.asFileAttribute(
            PosixFilePermissions.fromString("rwxr-xr-x")));
        assertEquals("java -jar ../flow-all.jar", Invocation.of("../flow-all.jar", path, "/jdk"));
        assertEquals("java -jar 'it'\\''s/a b.jar'", Invocation.of("it's/a b.jar", path, "/jdk"));
        assertEquals("java -cp a.jar:b.jar dev.flow.launcher.Main", Invocation.of("a.jar:b.jar", path, "/jdk"));
    }

    @Test
    void aSecondRunUsesWhatTheFirstOneUnpacked() throws Exception {
        run(7);
        Path unpacked = unpackedIn(home.resolve(".cache/flow"));
        assertEquals("rwx------", PosixFilePermissions.toString(Files.getPosixFilePermissions(unpacked.getParent())));
        FileTime longAgo = FileTime.fromMillis(1_000_000_000_000L);
        Files.setLastModifiedTime(unpacked, longAgo);
        run(7);
        assertEquals(longAgo, Files.getLastModifiedTime(unpacked));
    }

    @Test
    void aDamagedFileIsReplaced() throws Exception {
        run(7);
        Path unpacked = unpackedIn(home.resolve(".cache/flow"));
        Files.write(unpacked, "exit 0".getBytes(StandardCharsets.UTF_8));
        run(7);
    }

    @Test
    void withoutAHomeTheDirectoryForTemporaryFilesIsUsed() throws Exception {
        // Nothing can be created below a file, not even by root.
        home = Files.createFile(dir.resolve("file"));
        run(7);
        unpackedIn(onlyEntry(temporary));
    }

    @Test
    void aDirectoryToWhichOthersMayWriteIsNotUsed() throws Exception {
        Path cache = Files.createDirectories(home.resolve(".cache/flow"));
        Files.setPosixFilePermissions(cache, PosixFilePermissions.fromString("rwxrwxrwx"));
        run(7);
        assertEquals(0, Files.list(cache).count());
        Path other = onlyEntry(temporary);
        Files.setPosixFilePermissions(other, PosixFilePermissions.fromString("rwxrwx---"));
        String message = run(1);
        assertTrue(message.startsWith("flow: no directory to unpack flow into; set XDG_CACHE_HOME"), message);
        assertTrue(message.contains(cache + ": other users may write to it"), message);
        assertTrue(message.contains(other + ": other users may write to it"), message);
    }

    @Test
    void aLinkIsNotFollowed() throws Exception {
        Path elsewhere = Files.createDirectory(dir.resolve("elsewhere"));
        Files.createDirectory(home.resolve(".cache"));
        Files.createSymbolicLink(home.resolve(".cache/flow"), elsewhere);
        run(7);
        assertEquals(0, Files.list(elsewhere).count());
        unpackedIn(onlyEntry(temporary));
    }

    @Test
    void aSignalReachesTheProgram() throws Exception {
        program("trap 'exit 5' TERM; echo ready; while :; do sleep 0.05; done");
        Process process = launcher().start();
        BufferedReader output = new BufferedReader(new InputStreamReader(process.getInputStream()));
        assertEquals("ready", output.readLine());
        process.destroy();
        assertTrue(process.waitFor(60, TimeUnit.SECONDS));
        assertEquals(5, process.exitValue());
    }

    @Test
    void aProgramThatIsKilledHasAStatusAsInAShell() throws Exception {
        program("kill -9 $$");
        run(128 + 9);
    }

    @Test
    void aMissingLoaderIsExplained() throws Exception {
        payload("#!/no/such/loader\n");
        String message = run(1);
        assertTrue(message.startsWith("flow: Cannot run program \"" + home), message);
        assertTrue(message.contains("; this flow needs the GNU C library"), message);
    }

    @Test
    void anotherPlatformIsRefused() throws Exception {
        Process process = launcher().command(command("-Dos.arch=riscv64")).start();
        assertEquals(1, process.waitFor());
        assertEquals("flow: this jar has no programs for linux-riscv64; it has them for " + Platform.here() + "\n",
            text(process.getErrorStream()));
    }

    @Test
    void platformsHaveTheNamesOfClassifiers() {
        assertEquals("linux-x86_64", Platform.of("Linux", "amd64", false));
        assertEquals("linux-aarch_64", Platform.of("Linux", "aarch64", false));
        assertTrue(Platform.ALL.contains(Platform.here()), Platform.here());
        assertEquals("mac-os-x-x86_64", Platform.of("Mac OS X", "x86_64", false));
        assertEquals("linux-x86_64-musl", Platform.of("Linux", "amd64", true));
    }

    @Test
    void theLoaderOfMuslIsAmongTheMappings() {
        String line = "7f1e04cd3000-7f1e04ce7000 r--p 00000000 fe:00 5636218   ";
        assertTrue(Platform.isMusl("\n" + line + "/lib/ld-musl-x86_64.so.1\n"));
        assertFalse(Platform.isMusl(line + "/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2\n"));
    }

    /** Makes the script that is run in place of {@code flow}. */
    private void program(String commands) throws IOException {
        payload("#!/bin/sh\n" + commands + "\n");
    }

    private void payload(String text) throws IOException {
        Path payload = Files.createDirectories(dir.resolve("jar/dev/flow/native/" + Platform.here()));
        byte[] script = text.getBytes(StandardCharsets.UTF_8);
        Files.write(payload.resolve("flow"), script);
        String checksum = Payload.hex(Payload.sha256().digest(script));
        Files.write(payload.resolve("SHA256SUMS"), (checksum + "  flow\n").getBytes(StandardCharsets.UTF_8));
    }

    private List<String> command(String... options) {
        List<String> words = new ArrayList<>();
        words.add(Paths.get(System.getProperty("java.home"), "bin", "java").toString());
        words.add("-Djava.io.tmpdir=" + temporary);
        words.addAll(Arrays.asList(options));
        words.addAll(Arrays.asList("-cp", "target/classes:" + dir.resolve("jar"), "dev.flow.launcher.Main"));
        return words;
    }

    private ProcessBuilder launcher(String... arguments) {
        List<String> words = command();
        words.addAll(Arrays.asList(arguments));
        ProcessBuilder builder = new ProcessBuilder(words);
        builder.environment().remove("XDG_CACHE_HOME");
        builder.environment().remove("JAVA_TOOL_OPTIONS");
        builder.environment().put("HOME", home.toString());
        return builder;
    }

    /** Runs the launcher, expects an exit status, and returns what it wrote to its standard error. */
    private String run(int status) throws Exception {
        Process process = launcher().start();
        process.getOutputStream().close();
        String message = text(process.getErrorStream());
        assertEquals(status, process.waitFor(), message);
        return message;
    }

    private static Path unpackedIn(Path place) throws IOException {
        return onlyEntry(onlyEntry(place));
    }

    private static Path onlyEntry(Path directory) throws IOException {
        try (Stream<Path> entries = Files.list(directory)) {
            List<Path> all = entries.filter(path -> !path.getFileName().toString().startsWith("hsperfdata"))
                .collect(Collectors.toList());
            assertEquals(1, all.size(), all.toString());
            return all.get(0);
        }
    }

    private static String text(InputStream stream) throws IOException {
        BufferedReader lines = new BufferedReader(new InputStreamReader(stream, StandardCharsets.UTF_8));
        return lines.lines().map(line -> line + "\n").collect(Collectors.joining());
    }
}
