package java.lang;

import jdk.internal.misc.Unsafe;

/**
 * What rewritten methods call. Each method appends one event to the current thread's chunk.
 *
 * <p>A thread's control block is in native memory: where the next byte goes, and up to where that may
 * be. The limit is zero when the thread has no chunk yet, when recording is off, and whenever somebody
 * wants the thread's attention: one comparison serves all. The blocks stand in one array, by thread id.
 * A chunk holds the complement of each byte of an event, so that zeros, as in fresh memory, are none.
 *
 * <p>The bodies are alike on purpose, and not made of shared parts: compiling them, inlined, at every
 * call site is the largest single cost of recording a real program. They are longer than the 35 bytes
 * that C1 inlines and shorter than the 325 of C2, which is as it should be: C2 inlines, C1 calls. No
 * annotation may change that ({@code @ForceInline} makes programs 1.5 times slower).
 *
 * <p>Nothing here allocates, throws, or calls Java code, so nothing here is ever recorded. A store may
 * be wider than the event: what is behind it is overwritten by the next one.
 *
 * <p>The stack may overflow in a probe. Each one moves the position last, so what overflows has appended
 * nothing. That is right for an entry, whose method then does not run, and for the BEGIN of a constructor's
 * call, which is then not made. All other probes must find the stack they need, in every frame whose entry
 * is recorded. So the probes of entries ask for more than they use: {@code scripts/probe} raises their
 * {@code max_stack} and {@code max_locals}.
 *
 * <ul>
 * <li>Compiled code touches the stack as deep as the interpreter might get in all that is inlined into it,
 * if that is more than a page. With so large a {@code max_stack} it is: one more store at the start of a
 * compiled method, and at least 512 bytes for a frame that is handed back to the interpreter and calls a probe there.
 * <li>The interpreter makes room for local variables, and does not look at {@code max_stack} (on x86-64).
 * </ul>
 */
public final class FlowProbe {
    private static final Unsafe U = Unsafe.getUnsafe();
    private static final long ID = U.objectFieldOffset(Thread.class, "tid");
    private static final long BLOCKS = blocks();
    private static final long IDS = ids();

    private FlowProbe() {}

    /** Stores the lowest byte of {@code event}. */
    public static void append1(int event) {
        Thread thread = Thread.currentThread();
        long block = BLOCKS + ((U.getLong(thread, ID) & IDS) << 6);
        long position = U.getLong(null, block + 16);
        if (position < U.getLong(null, block + 24)) {
            U.putByte(null, position, (byte) event);
            U.putLong(null, block + 16, position + 1);
        } else {
            appendSlowly(event, 1);
        }
    }

    /** Stores the two lower bytes of {@code event}, the lowest one first. */
    public static void append2(int event) {
        Thread thread = Thread.currentThread();
        long block = BLOCKS + ((U.getLong(thread, ID) & IDS) << 6);
        long position = U.getLong(null, block + 16);
        if (position < U.getLong(null, block + 24)) {
            U.putShort(null, position, (short) event);
            U.putLong(null, block + 16, position + 2);
        } else {
            appendSlowly(event, 2);
        }
    }

    /** Stores the three lower bytes of {@code event}, the lowest one first. Its fourth is zero. */
    public static void append3(int event) {
        Thread thread = Thread.currentThread();
        long block = BLOCKS + ((U.getLong(thread, ID) & IDS) << 6);
        long position = U.getLong(null, block + 16);
        if (position < U.getLong(null, block + 24)) {
            U.putInt(null, position, event);
            U.putLong(null, block + 16, position + 3);
        } else {
            appendSlowly(event, 3);
        }
    }

    /** Stores the four bytes of {@code event}, the lowest one first. */
    public static void append4(int event) {
        Thread thread = Thread.currentThread();
        long block = BLOCKS + ((U.getLong(thread, ID) & IDS) << 6);
        long position = U.getLong(null, block + 16);
        if (position < U.getLong(null, block + 24)) {
            U.putInt(null, position, event);
            U.putLong(null, block + 16, position + 4);
        } else {
            appendSlowly(event, 4);
        }
    }

    /**
     * Appends the exit of a method that returns. There is always room for it: behind the limit a chunk
     * has space for the exits of all frames there are. Without a question and a call the compiler has
     * half the work. Should the space end all the same, the position stays where it is.
     */
    public static void exit() {
        long block = BLOCKS + ((U.getLong(Thread.currentThread(), ID) & IDS) << 6);
        long position = U.getLong(null, block + 16);
        U.putByte(null, position, (byte) -1);
        U.putLong(null, block + 16, position + ((position - U.getLong(null, block + 40)) >>> 63));
    }

    /**
     * Stores the lowest byte of {@code event}, which is no entry: it must not need more stack than an entry
     * does, not even where there is no room.
     */
    public static void note(int event) {
        Thread thread = Thread.currentThread();
        long block = BLOCKS + ((U.getLong(thread, ID) & IDS) << 6);
        long position = U.getLong(null, block + 16);
        if (position < U.getLong(null, block + 24)) {
            U.putByte(null, position, (byte) event);
            U.putLong(null, block + 16, position + 1);
        } else if (position == 0 || position != U.getLong(null, block + 40)
                || U.getLong(null, BLOCKS + 32) == 0) {
            append(thread, U.getLong(thread, ID), event, 1);
        }
    }

    /** As {@link #append1}, with the time before it. */
    public static void timed1(int event) {
        Thread thread = Thread.currentThread();
        long block = BLOCKS + ((U.getLong(thread, ID) & IDS) << 6);
        long position = U.getLong(null, block + 16);
        if (position < U.getLong(null, block + 24)) {
            U.putLong(null, position, ~(System.nanoTime() << 8 | 0x7A));
            U.putByte(null, position + 8, (byte) event);
            U.putLong(null, block + 16, position + 9);
        } else {
            appendSlowly(event, 1);
        }
    }

    /** As {@link #append2}, with the time before it. */
    public static void timed2(int event) {
        Thread thread = Thread.currentThread();
        long block = BLOCKS + ((U.getLong(thread, ID) & IDS) << 6);
        long position = U.getLong(null, block + 16);
        if (position < U.getLong(null, block + 24)) {
            U.putLong(null, position, ~(System.nanoTime() << 8 | 0x7A));
            U.putShort(null, position + 8, (short) event);
            U.putLong(null, block + 16, position + 10);
        } else {
            appendSlowly(event, 2);
        }
    }

    /** As {@link #append3}, with the time before it. */
    public static void timed3(int event) {
        Thread thread = Thread.currentThread();
        long block = BLOCKS + ((U.getLong(thread, ID) & IDS) << 6);
        long position = U.getLong(null, block + 16);
        if (position < U.getLong(null, block + 24)) {
            U.putLong(null, position, ~(System.nanoTime() << 8 | 0x7A));
            U.putInt(null, position + 8, event);
            U.putLong(null, block + 16, position + 11);
        } else {
            appendSlowly(event, 3);
        }
    }

    /** As {@link #append4}, with the time before it. */
    public static void timed4(int event) {
        Thread thread = Thread.currentThread();
        long block = BLOCKS + ((U.getLong(thread, ID) & IDS) << 6);
        long position = U.getLong(null, block + 16);
        if (position < U.getLong(null, block + 24)) {
            U.putLong(null, position, ~(System.nanoTime() << 8 | 0x7A));
            U.putInt(null, position + 8, event);
            U.putLong(null, block + 16, position + 12);
        } else {
            appendSlowly(event, 4);
        }
    }

    /** As {@link #exit}, with the time before it: all of both is stored, or nothing counts. */
    public static void timedExit() {
        long block = BLOCKS + ((U.getLong(Thread.currentThread(), ID) & IDS) << 6);
        long position = U.getLong(null, block + 16);
        U.putLong(null, position, ~(System.nanoTime() << 8 | 0x7A));
        U.putByte(null, position + 8, (byte) -1);
        U.putLong(null, block + 16, position + 9 * ((position - U.getLong(null, block + 40)) >>> 63));
    }

    /** As {@link #note}, with the time before it. */
    public static void timedNote(int event) {
        Thread thread = Thread.currentThread();
        long block = BLOCKS + ((U.getLong(thread, ID) & IDS) << 6);
        long position = U.getLong(null, block + 16);
        if (position < U.getLong(null, block + 24)) {
            U.putLong(null, position, ~(System.nanoTime() << 8 | 0x7A));
            U.putByte(null, position + 8, (byte) event);
            U.putLong(null, block + 16, position + 9);
        } else if (position == 0 || position != U.getLong(null, block + 40)
                || U.getLong(null, BLOCKS + 32) == 0) {
            append(thread, U.getLong(thread, ID), event, 1);
        }
    }

    /**
     * No room, no chunk, or something to attend to: the agent makes room, or parks the thread. A thread
     * that is parked, at the last byte there is, has nothing more to do while recording is off. Block 0
     * belongs to no thread: a word of it is the off switch. {@link #note} does the same itself, for a
     * call less.
     */
    private static void appendSlowly(int event, int bytes) {
        Thread thread = Thread.currentThread();
        long block = BLOCKS + ((U.getLong(thread, ID) & IDS) << 6);
        long position = U.getLong(null, block + 16);
        boolean parked = position != 0 && position == U.getLong(null, block + 40);
        if (!parked || U.getLong(null, BLOCKS + 32) == 0) {
            append(thread, U.getLong(thread, ID), event, bytes);
        }
    }

    /** Makes room and appends; in the agent. */
    private static native void append(Thread thread, long id, int event, int bytes);

    /** The address of the control blocks, 64 bytes each. */
    private static native long blocks();

    /** The mask of thread ids: they select a block. */
    private static native long ids();
}
