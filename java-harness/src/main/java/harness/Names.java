package harness;

import java.nio.charset.StandardCharsets;

/**
 * Names outside ASCII, of classes, methods and threads.
 *
 * <p>Tree of {@code main}: {@code éa}, {@code 漢字} and {@code 𝑓} (U+1D453, two chars), one within the other; then {@code
 * foreignClass}, which makes an object of the class {@code harness.é漢字𝑓} and calls its {@code run}, which calls {@code
 * ünïcode}; then {@code threads}. Tree of each of the threads, whose names contain characters that break terminals,
 * files and C strings: {@code named}.
 *
 * <p>The class with the foreign name is made at run time from {@link Placeholder014}, because a file of that name
 * cannot be written in every locale.
 */
public final class Names {
    private static final String[] THREAD_NAMES = {
        "emoji \uD83E\uDDF5",
        "nul \0 inside",
        "lone \uD800 surrogate",
        "two\nlines",
        "\"double\" and 'single'",
        "back\\slash",
        "\u001b[31mred",
        "<b>&amp;</b>",
        " ",
    };

    private Names() {}

    public static void main(String[] args) throws Exception {
        éa();
        foreignClass();
        threads();
        System.out.write("é漢字𝑓\n".getBytes(StandardCharsets.UTF_8));
        System.out.flush();
    }

    private static void éa() {
        漢字();
    }

    private static void 漢字() {
        𝑓();
    }

    private static void 𝑓() {}

    private static void foreignClass() throws Exception {
        byte[] classFile = Templates.read("Placeholder014");
        Templates.replace(classFile, "Placeholder014", "é漢字𝑓");
        Object object = new Templates.Loader().instantiate(classFile);
        ((Runnable) object).run();
    }

    private static void threads() throws InterruptedException {
        for (String name : THREAD_NAMES) {
            Thread thread = new Thread(Names::named, name);
            thread.start();
            thread.join();
        }
    }

    private static void named() {}
}
