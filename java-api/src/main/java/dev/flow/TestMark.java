package dev.flow;

/**
 * The marks of tests: {@code test WORD NAME}, optionally followed by a tab and a text for people. The format
 * is specified in {@code codec/src/format/test_notes.rs}.
 */
final class TestMark {
    private TestMark() {}

    static void leave(String word, String name, String detail) {
        if (Flow.isRecording()) {
            String mark = "test " + word + " " + clean(name);
            Flow.mark(detail == null || detail.isEmpty() ? mark : mark + "\t" + clean(detail));
        }
    }

    /** An exception in one line, its class first. */
    static String describe(Throwable thrown) {
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

    /** The text without control characters: a mark is one line, and the tab in it is ours. */
    private static String clean(String text) {
        char[] chars = text.toCharArray();
        for (int i = 0; i < chars.length; i++) {
            if (Character.isISOControl(chars[i])) {
                chars[i] = ' ';
            }
        }
        return new String(chars);
    }
}
