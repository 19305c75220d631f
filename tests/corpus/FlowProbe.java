package java.lang;

/** The probe class as the verifier sees it: probes that do nothing. */
public final class FlowProbe {
    private FlowProbe() {}

    public static void append1(int event) {}

    public static void append2(int event) {}

    public static void append3(int event) {}

    public static void append4(int event) {}

    public static void exit() {}

    public static void note(int event) {}

    public static void unwound(Throwable thrown) {}

    public static void line(int line) {}
}
