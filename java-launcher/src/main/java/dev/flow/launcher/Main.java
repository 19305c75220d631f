package dev.flow.launcher;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;

/**
 * Runs {@code flow} from one jar: {@code java -jar flow-all.jar record -- java -jar app.jar}.
 *
 * <p>Unpacks the programs for this machine into a cache, and runs {@code flow} there with the same arguments,
 * streams and exit status.
 */
public final class Main {
    /** What {@code flow} ends with if it failed. */
    private static final int FAILED = 1;

    private Main() {}

    /**
     * Runs {@code flow} and ends with its exit status.
     *
     * @param arguments the arguments of {@code flow}
     */
    public static void main(String[] arguments) {
        int status;
        try {
            Payload payload = Payload.of(Platform.here());
            Path directory = Cache.unpack(payload, Cache.places(System.getenv()));
            status = Command.run(directory.resolve(Payload.PROGRAM), Arrays.asList(arguments), Invocation.ofThisJvm());
        } catch (Refusal refusal) {
            System.err.println("flow: " + refusal.getMessage());
            status = FAILED;
        } catch (IOException error) {
            System.err.println("flow: " + error);
            status = FAILED;
        }
        System.exit(status);
    }
}
