package harness;

import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;

/**
 * Writes to both streams, reads the standard input to its end, and exits with 7: the same bytes with and without the agent.
 *
 * <p>Standard output: 100 numbered lines, all 256 byte values, one line of 100,000 characters, and the number of bytes
 * read. Standard error: 100 numbered lines. Tree: {@code main > lines, bytes, longLine, echo}, the last of which never
 * ends, nor does {@code main}.
 */
public final class Output {
    private Output() {}

    public static void main(String[] args) throws IOException {
        lines();
        bytes();
        longLine();
        echo(System.in);
    }

    private static void lines() {
        for (int i = 0; i < 100; i++) {
            line(System.out, "out ", i);
            line(System.err, "err ", i);
        }
    }

    private static void line(PrintStream stream, String text, int number) {
        stream.print(text);
        stream.print(number);
        stream.print('\n');
    }

    private static void bytes() {
        for (int value = 0; value < 256; value++) {
            System.out.write(value);
        }
        System.out.print('\n');
    }

    private static void longLine() {
        for (int i = 0; i < 100_000; i++) {
            System.out.print((char) ('a' + i % 26));
        }
        System.out.print('\n');
    }

    private static void echo(InputStream in) throws IOException {
        long length = 0;
        byte[] buffer = new byte[4096];
        for (int read = in.read(buffer); read >= 0; read = in.read(buffer)) {
            length += read;
        }
        System.out.print("read " + length + "\n");
        System.out.flush();
        System.exit(7);
    }
}
