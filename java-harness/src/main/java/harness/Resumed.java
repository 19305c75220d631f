package harness;

import dev.flow.Flow;

/**
 * Enters many frames while recording is suspended. A note resumes recording, so that all of them are left before
 * anything is entered. Argument: the number of frames.
 */
public final class Resumed {
    private Resumed() {}

    public static void main(String[] args) {
        Flow.pause();
        dive(Integer.parseInt(args[0]));
        after();
    }

    private static int dive(int frames) {
        if (frames > 0) {
            return dive(frames - 1) + 1;
        }
        Flow.resume();
        Flow.note("below");
        return 0;
    }

    static void after() {
        System.out.println("after");
    }
}
