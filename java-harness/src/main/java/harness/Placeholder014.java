package harness;

/** A class file whose name, of 14 bytes, {@link Names} replaces. */
public final class Placeholder014 implements Runnable {
    public Placeholder014() {}

    @Override
    public void run() {
        ünïcode();
    }

    private static void ünïcode() {}
}
