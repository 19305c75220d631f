package harness;

/**
 * Deep stacks, left one by one and left all at once.
 *
 * <p>Arguments: the depth N (2000). Tree: {@code main > down}, N+1 nested frames, twice; then {@code main > catchDeep},
 * under it N+1 nested {@code downAndThrow}, all left by one exception, twice.
 */
public final class Deep {
    private Deep() {}

    public static void main(String[] args) {
        int depth = args.length > 0 ? Integer.parseInt(args[0]) : 2000;
        int sum = down(depth) + down(depth);
        catchDeep(depth);
        catchDeep(depth);
        System.out.println("depth " + sum / 2);
    }

    private static int down(int left) {
        return left == 0 ? 0 : 1 + down(left - 1);
    }

    private static void catchDeep(int depth) {
        try {
            downAndThrow(depth);
        } catch (IllegalStateException expected) {
            caught();
        }
    }

    private static int downAndThrow(int left) {
        if (left == 0) {
            throw new IllegalStateException("deep");
        }
        return 1 + downAndThrow(left - 1);
    }

    private static void caught() {}
}
