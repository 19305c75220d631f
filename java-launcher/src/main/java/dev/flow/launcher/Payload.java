package dev.flow.launcher;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * The programs that the class path has for one platform: the resources in {@code dev/flow/native/<platform>/}.
 *
 * <p>Their names and checksums are in the resource {@code SHA256SUMS} beside them, as {@code sha256sum} writes
 * it.
 */
final class Payload {
    /** The file that is run. */
    static final String PROGRAM = "flow";

    private static final String INDEX = "SHA256SUMS";

    private final String directory;
    private final Map<String, String> checksums;
    private final String id;

    private Payload(String directory, Map<String, String> checksums, String id) {
        this.directory = directory;
        this.checksums = checksums;
        this.id = id;
    }

    /** Finds the programs for a platform. */
    static Payload of(String platform) throws Refusal, IOException {
        if (!has(platform)) {
            String others = Platform.ALL.stream().filter(Payload::has).collect(Collectors.joining(", "));
            throw new Refusal("this jar has no programs for " + platform + (others.isEmpty()
                ? "; take flow-all.jar, which has them for " + String.join(", ", Platform.ALL)
                : "; it has them for " + others));
        }
        String directory = directory(platform);
        Map<String, String> checksums = new LinkedHashMap<>();
        MessageDigest digest = sha256();
        try (BufferedReader lines = new BufferedReader(
                new InputStreamReader(resource(directory + INDEX), StandardCharsets.UTF_8))) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                int end = line.indexOf("  ");
                if (end < 0) {
                    throw new Refusal(directory + INDEX + ": expected a checksum and a name, found: " + line);
                }
                checksums.put(line.substring(end + 2), line.substring(0, end));
                digest.update(line.getBytes(StandardCharsets.UTF_8));
            }
        }
        return new Payload(directory, checksums, hex(digest.digest()).substring(0, 16));
    }

    private static boolean has(String platform) {
        return Payload.class.getResource(directory(platform) + INDEX) != null;
    }

    private static String directory(String platform) {
        return "/dev/flow/native/" + platform + '/';
    }

    /** Returns the names of the files, and the SHA-256 of each. */
    Map<String, String> checksums() {
        return checksums;
    }

    /** Returns a name for these files, which other files do not have. */
    String id() {
        return id;
    }

    /** Opens one of the files. */
    InputStream open(String name) throws IOException {
        return resource(directory + name);
    }

    private static InputStream resource(String resource) throws IOException {
        URL url = Payload.class.getResource(resource);
        if (url == null) {
            throw new IOException("the jar has no " + resource);
        }
        return url.openStream();
    }

    static MessageDigest sha256() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException missing) {
            throw new IllegalStateException("every JVM has SHA-256", missing);
        }
    }

    static String hex(byte[] bytes) {
        StringBuilder text = new StringBuilder();
        for (byte value : bytes) {
            text.append(String.format("%02x", value));
        }
        return text.toString();
    }
}
