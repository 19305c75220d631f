package harness;

/**
 * Suspend functions as the Kotlin compiler makes them: {@code fetch} is entered again each time it continues, with its state, whose
 * {@code invokeSuspend} calls it. Three calls: A continues twice and fails, B continues twice and returns, C never waits.
 */
public final class Suspended {
    private static final Object SUSPENDED = new Object();
    private static final int CONTINUES = 1 << 31;

    private Suspended() {}

    /** The state of a call. */
    abstract static class Base {
        final Object completion;

        Base(Object completion) {
            this.completion = completion;
        }

        abstract Object invokeSuspend(Object result);
    }

    /** The state of a call of {@code fetch}: the name is what makes it that. */
    static final class fetch$1 extends Base {
        String name;
        int label;

        fetch$1(Object completion) {
            super(completion);
        }

        @Override
        Object invokeSuspend(Object result) {
            label |= CONTINUES;
            return fetch(null, this);
        }
    }

    static Object fetch(String name, Object completion) {
        fetch$1 state = completion instanceof fetch$1 ? (fetch$1) completion : null;
        if (state != null && (state.label & CONTINUES) != 0) {
            state.label &= ~CONTINUES;
        } else {
            state = new fetch$1(completion);
            state.name = name;
        }
        step(state.name + state.label);
        if (state.label < 2 && !state.name.equals("C")) {
            state.label++;
            return await(state);
        }
        if (state.name.equals("A")) {
            throw new IllegalStateException("failed");
        }
        return state.name;
    }

    /** Keeps what is to be continued. */
    private static Object await(Base state) {
        waiting[waits++ % waiting.length] = state;
        return SUSPENDED;
    }

    private static final Base[] waiting = new Base[2];
    private static int waits;

    private static void step(String name) {}

    public static void main(String[] args) throws InterruptedException {
        for (String name : new String[] {"A", "B", "C"}) {
            fetch(name, null);
        }
        Thread other = new Thread(Suspended::resume, "other");
        other.start();
        other.join();
        resume();
    }

    /** Continues both calls. */
    private static void resume() {
        Base[] all = waiting.clone();
        for (Base state : all) {
            try {
                state.invokeSuspend(null);
            } catch (IllegalStateException expected) {
                step(expected.getMessage());
            }
        }
    }
}
