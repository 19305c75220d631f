package harness;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.function.IntSupplier;
import java.util.function.Supplier;

/**
 * Methods that the compiler adds: the body of a lambda, a bridge, and a bridge that only makes a method visible.
 *
 * <p>With an argument, the program prints {@code ready} and reads commands, one per line, from the standard input: {@code sum}
 * calls these methods; {@code exit N} ends with exit code N.
 */
public final class Bridged {
    private Bridged() {}

    public static void main(String[] args) throws IOException {
        if (args.length == 0) {
            System.out.println(sum());
            return;
        }
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        System.out.println("ready");
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            if (line.equals("sum")) {
                System.out.println(sum());
            } else {
                System.exit(Integer.parseInt(line.substring("exit ".length())));
            }
        }
    }

    private static int sum() {
        Supplier<Integer> made = new Made();
        IntSupplier lambda = () -> 4;
        return new Shown().visible() + made.get() + lambda.getAsInt();
    }

    abstract static class Hidden {
        public int visible() {
            return 1;
        }
    }

    /** Has a method {@code visible()} of its own, although the source does not show it. */
    public static final class Shown extends Hidden {}

    static final class Made implements Supplier<Integer> {
        @Override
        public Integer get() {
            return 2;
        }
    }
}
