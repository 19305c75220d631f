package dev.flow;

/**
 * Controls the flow agent from the program that it records. Without the agent these methods do nothing,
 * and cost one field read.
 *
 * <p>No class of this package is ever recorded.
 */
public final class Flow {
    /**
     * Whether the agent has bound the native methods below: when this class was loaded, or later, when
     * the agent was attached to this JVM and set the field itself.
     */
    private static volatile boolean agent = isBound();

    private Flow() {}

    /**
     * Leaves a mark in the trace of the current thread, between the call before and the call after it.
     * Does nothing while recording is paused.
     *
     * @param text the text of the mark; cut after 64 KiB
     */
    public static void mark(String text) {
        if (agent) {
            leaveMark(Thread.currentThread(), String.valueOf(text));
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

    private static native void leaveMark(Thread current, String text);

    private static native void suspend(Thread current, boolean suspended);
}
