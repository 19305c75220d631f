package app;

/** What requests do. */
final class Work {
    /** How many requests each program makes. */
    static final int REQUESTS = 40;

    private Work() {}

    /** A request does this. */
    static void step(String id, String what) {}
}
