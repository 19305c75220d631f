package dev.flow;

/**
 * What a program may tell the flow agent that records it. Without the agent nothing here does anything,
 * at the price of reading one field.
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
     * @param text what it says; beyond 64 KiB it is cut off
     */
    public static void mark(String text) {
        if (agent) {
            leaveMark(Thread.currentThread(), String.valueOf(text));
        }
    }

    /**
     * Suspends the recording of all threads, each from its next call on. What is called until {@link
     * #resume()} is not recorded, and the trace says where.
     */
    public static void pause() {
        if (agent) {
            suspend(Thread.currentThread(), true);
        }
    }

    /** Goes on recording. Methods that are running have to be called again to be seen. */
    public static void resume() {
        if (agent) {
            suspend(Thread.currentThread(), false);
        }
    }

    /** Whether calls are being recorded: there is an agent, and it neither has ended nor is paused. */
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
