package dev.flow;

/**
 * Controls the flow agent from the program that it records. Without the agent these methods do nothing,
 * and cost one field read.
 *
 * <p>No class of this package is ever recorded, but for {@link #context}.
 */
public final class Flow {
    /**
     * Whether the agent has bound the native methods below: when this class was loaded, or later, when
     * the agent was attached to this JVM and set the field itself.
     */
    private static volatile boolean agent = isBound();

    /** Loads the class with this one: else the JVM would load it while the first test runs. */
    private static final TestOutcome LOADED = TestOutcome.PASSED;

    private Flow() {}

    /**
     * Adds a note to the trace of the current thread, between the call before and the call after it.
     * Does nothing while recording is paused.
     *
     * @param text the text of the note; cut after 65,536 characters
     */
    public static void note(String text) {
        if (agent) {
            addNote(Thread.currentThread(), String.valueOf(text));
        }
    }

    /**
     * Says what the current thread works for from now on, such as an order or a user. Recorded with
     * {@code flow record --context}; otherwise this does nothing.
     *
     * @param key what it is, such as {@code order}
     * @param value which one; {@code null} for none
     */
    public static void context(String key, String value) {
        // The agent records the call with its arguments.
    }

    /**
     * Marks that the current thread begins a test. The listeners in this package call it for JUnit and
     * TestNG; other test frameworks can.
     *
     * @param name the name of the test, the same in every run, such as {@code com.app.OrderTest.total}
     * @param title the name of the test for people, or {@code null}
     */
    public static void testStarted(String name, String title) {
        if (agent) {
            addTest(Thread.currentThread(), 0, String.valueOf(name), title);
        }
    }

    /**
     * Marks that the current thread ends a test, or that it skips one that was not started.
     *
     * @param name the name given to {@link #testStarted}
     * @param outcome the result
     * @param reason why, or {@code null}
     */
    public static void testEnded(String name, TestOutcome outcome, String reason) {
        if (agent) {
            addTest(Thread.currentThread(), outcome.number, String.valueOf(name), reason);
        }
    }

    /**
     * Pauses the recording of all threads, each from its next call on. Calls until {@link #resume()} are not
     * recorded, and the trace marks the place.
     */
    public static void pause() {
        if (agent) {
            suspend(Thread.currentThread(), true);
        }
    }

    /** Resumes recording. Methods that are running are recorded from their next call on. */
    public static void resume() {
        if (agent) {
            suspend(Thread.currentThread(), false);
        }
    }

    /**
     * Writes what was recorded until now, of all threads, to a file beside the trace; recording continues. The trace
     * must be in one file, {@code app.flowtrace}; the snapshot {@code login} is then
     * {@code app-snapshot-login.flowtrace}. With {@code keep=last:64m} it has the newest 64 MB.
     *
     * <p>Returns when the snapshot is complete; only the current thread waits for that.
     *
     * @param name its name
     * @return whether it was written; if not, stderr says why
     */
    public static boolean snapshot(String name) {
        return agent && takeSnapshot(Thread.currentThread(), String.valueOf(name));
    }

    /** Returns whether calls are recorded: there is an agent, and it has neither ended nor been paused. */
    public static boolean isRecording() {
        return agent && isOn();
    }

    private static boolean isBound() {
        try {
            isOn();
            return true;
        } catch (UnsatisfiedLinkError noAgent) {
            return false;
        }
    }

    // The agent binds these before anything in this class can run, in each class loader that has it.

    private static native boolean isOn();

    private static native void addNote(Thread current, String text);

    private static native void addTest(Thread current, int outcome, String name, String detail);

    private static native void suspend(Thread current, boolean suspended);

    private static native boolean takeSnapshot(Thread current, String name);
}
