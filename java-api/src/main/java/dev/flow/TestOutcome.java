package dev.flow;

/** The result of a test. */
public enum TestOutcome {
    /** It succeeded. */
    PASSED(1),
    /** It failed. */
    FAILED(2),
    /** It ended because there was nothing to test. */
    ABORTED(3),
    /** It was not run. */
    SKIPPED(4);

    /** The number in the trace, see {@code codec/src/format/test_marks.rs}. */
    final int number;

    TestOutcome(int number) {
        this.number = number;
    }

    /** An exception as the reason for an outcome: its class and message; {@code null} if there is none. */
    static String reason(Throwable thrown) {
        if (thrown == null) {
            return null;
        }
        // getMessage() may run any code.
        String message;
        try {
            message = thrown.getMessage();
        } catch (Throwable broken) {
            message = null;
        }
        String type = thrown.getClass().getName();
        return message == null ? type : type + ": " + message;
    }
}
