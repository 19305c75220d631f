package suite;

import oracle.Oracle;

/** The methods that the tests call: each logs itself. */
public final class Work {
    private final int size;

    public Work(int size) {
        Oracle.enter("suite.Work.<init>(I)V");
        try {
            this.size = size;
        } finally {
            Oracle.leave();
        }
    }

    /** Calls nested this deep. */
    public static int chain(int frames) {
        Oracle.enter("suite.Work.chain(I)I");
        try {
            return frames <= 1 ? 1 : 1 + chain(frames - 1);
        } finally {
            Oracle.leave();
        }
    }

    /** A binary tree of calls of this depth. */
    public int fork(int depth) {
        Oracle.enter("suite.Work.fork(I)I");
        try {
            return depth == 0 ? size : fork(depth - 1) + fork(depth - 1);
        } finally {
            Oracle.leave();
        }
    }

    /** Throws, this many frames below. */
    public static void fail(int frames) {
        Oracle.enter("suite.Work.fail(I)V");
        try {
            if (frames <= 1) {
                throw new IllegalStateException("from below");
            }
            fail(frames - 1);
        } finally {
            Oracle.leave();
        }
    }

    /** Many calls next to each other. */
    public static int loop(int times) {
        Oracle.enter("suite.Work.loop(I)I");
        try {
            int sum = 0;
            for (int i = 0; i < times; i++) {
                sum += step(i);
            }
            return sum;
        } finally {
            Oracle.leave();
        }
    }

    private static int step(int number) {
        Oracle.enter("suite.Work.step(I)I");
        try {
            return number % 3;
        } finally {
            Oracle.leave();
        }
    }
}
