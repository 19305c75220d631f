package harness;

/**
 * A class file that is copied under other names: see {@link Templates}. The digits of the class and of its method have
 * a fixed width, so that a copy differs from this class only in these digits.
 */
public final class Template0000 implements Runnable {
    private int calls;

    public Template0000() {}

    @Override
    public void run() {
        m0000();
    }

    private void m0000() {
        calls++;
    }
}
