package harness;

/**
 * Names that the JVM allows and the language does not: they break files of lines, of {@code key=value} and terminals.
 *
 * <p>Tree: {@code main} calls {@code make} and the {@code run} of a class whose name has a space, a line feed and an
 * equals sign, among others; {@code run} calls methods named with a line feed, with {@code # = : !}, with quotes, backslash and
 * tabulator, with a NUL, with a lone surrogate, with markup-like and escape characters, and with a carriage return.
 *
 * <p>The class is made at run time from {@link HostilePlaceholder}.
 */
public final class HostileNames {
    /** Names in {@link HostilePlaceholder} and their replacements, of the same length in modified UTF-8. */
    private static final String[][] NAMES = {
        {"HostilePlaceholder", "a b\nc=d\u001b'\"`#$ \u009b1m"},
        {"newline_", "new\nline"},
        {"special_", "#=:! %s\\"},
        {"quotes__", "\"'`\t&{}|"},
        {"nul_____", "nul\0mid"},
        {"surrogate", "lone \uD800!"},
        {"escape__", "\u001b]0,x\u0007__"},
        {"carriage", "car\rriag"},
    };

    private HostileNames() {}

    public static void main(String[] args) throws Exception {
        make().run();
        System.out.println("done");
    }

    private static Runnable make() throws Exception {
        byte[] classFile = Templates.read("HostilePlaceholder");
        for (String[] name : NAMES) {
            Templates.replace(classFile, name[0], name[1]);
        }
        return (Runnable) new Templates.Loader().instantiate(classFile);
    }
}
