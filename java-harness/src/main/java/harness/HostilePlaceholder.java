package harness;

/** A class file whose names {@link HostileNames} replaces. */
public final class HostilePlaceholder implements Runnable {
    public HostilePlaceholder() {}

    @Override
    public void run() {
        newline_();
        special_();
        quotes__();
        nul_____();
        surrogate();
        escape__();
        carriage();
    }

    private static void newline_() {}

    private static void special_() {}

    private static void quotes__() {}

    private static void nul_____() {}

    private static void surrogate() {}

    private static void escape__() {}

    private static void carriage() {}
}
