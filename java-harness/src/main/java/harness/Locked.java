package harness;

import java.io.IOException;
import java.lang.invoke.MethodHandle;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Locks all its memory, as databases do. Needs JDK 22 and {@code --enable-native-access=ALL-UNNAMED}; prints {@code no
 * foreign functions} if the JDK has none.
 *
 * <p>Prints {@code locked} and what {@code mlockall} returned, then the memory that became resident, in KiB.
 */
public final class Locked {
    private static final int MCL_CURRENT = 1;

    private Locked() {}

    public static void main(String[] args) throws Throwable {
        MethodHandle mlockall = Forked.foreign("mlockall", 1);
        if (mlockall == null) {
            System.out.println("no foreign functions");
            return;
        }
        long before = resident();
        int answer = (int) mlockall.invoke(MCL_CURRENT);
        System.out.println("locked " + answer);
        System.out.println("memory " + (resident() - before));
    }

    private static long resident() throws IOException {
        for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
            if (line.startsWith("VmRSS:")) {
                return Long.parseLong(line.replaceAll("\\D", ""));
            }
        }
        throw new IOException("no VmRSS");
    }
}
