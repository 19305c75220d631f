package harness;

/**
 * Exceptions of classes that are unloaded, so that the JVM may use their memory again for others.
 *
 * <p>Arguments: the number of classes (400, at most 9999). Class {@code N} is a copy of {@link Oops0000} under the name
 * {@code OopsN}, in a loader of its own. {@code main} throws an exception of each three times, as {@code thrower > passer},
 * which it leaves.
 */
public final class Thrown {
    private Thrown() {}

    public static void main(String[] args) throws Exception {
        int count = args.length > 0 ? Integer.parseInt(args[0]) : 400;
        byte[] template = Templates.read("Thrown$Oops0000");
        for (int number = 0; number < count; number++) {
            byte[] classFile = template.clone();
            Templates.replace(classFile, "Oops0000", String.format("Oops%04d", number));
            RuntimeException oops = (RuntimeException) new Templates.Loader().instantiate(classFile);
            for (int time = 0; time < 3; time++) {
                try {
                    thrower(oops);
                } catch (RuntimeException expected) {
                    if (expected != oops) {
                        throw expected;
                    }
                }
            }
            if (number % 40 == 39) {
                oops = null;
                System.gc();
            }
        }
        System.out.println("done");
    }

    private static void thrower(RuntimeException oops) {
        passer(oops);
    }

    private static void passer(RuntimeException oops) {
        throw oops;
    }

    /** An exception whose class is copied: see {@link Templates}. */
    public static final class Oops0000 extends RuntimeException {
        private static final long serialVersionUID = 1;

        public Oops0000() {
            super(null, null, false, false);
        }
    }
}
