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

    public static void place(int place) {}

    public static void firstPlace(int place) {}

    public static void line(int line) {}

    public static void step(int at) {}

    public static void step(Object object, int at) {}

    public static void step(Object array, int index, int at) {}

    public static void stepValue(Object value) {}

    public static void stepThis(Object self) {}

    public static void value(int value, int head) {}

    public static void value(float value, int head) {}

    public static void value(long value, int head) {}

    public static void value(double value, int head) {}

    public static void value(Object value, int head) {}

    public static void redacted(int head) {}
}
