package java.lang;

import jdk.internal.misc.Unsafe;

/**
 * The class that rewritten methods call. Each of its public methods appends one event to the current thread's chunk.
 *
 * <p>A thread's control block is in native memory and holds the position of the next byte, and the limit below which it
 * must be. The limit is zero when the thread has no chunk yet, when recording is off, and whenever the thread is to call
 * the agent, so one comparison covers all cases. The blocks form one array, which the thread id selects from. A chunk
 * holds the complement of each byte of an event: zeros, as in fresh memory, mean that nothing is written.
 *
 * <p>The bodies repeat each other on purpose, and share no parts: compiling them, inlined, at every call site is the
 * largest single cost of recording a real program. They are longer than the 35 bytes that C1 inlines and shorter than the
 * 325 of C2, as intended: C2 inlines them, C1 calls them. No annotation may change that ({@code @ForceInline} makes
 * programs 1.5 times slower).
 *
 * <p>Nothing here allocates, throws, or calls Java code other than {@code Unsafe}, so nothing here is ever recorded. A store may be wider than the
 * event: the next event overwrites the bytes after it.
 *
 * <p>A sequence number is taken from a counter that all threads share, by an atomic instruction, which is also a barrier:
 * what the thread does before the probe is visible to a thread that takes a later number. Interpreted, that is two Java
 * calls and a native one, so {@code scripts/probe} lets the probes of entries with a number claim more stack.
 *
 * <p>The stack may overflow in a probe. Each probe moves the position last, so a probe that overflows has appended
 * nothing. That is correct for an entry, whose method then does not run, and for the BEGIN of a constructor's call, which
 * is then not made. All other probes must find the stack that they need, in every frame whose entry is recorded. So the
 * probes of entries claim more stack than they use: {@code scripts/probe} raises their {@code max_stack} and
 * {@code max_locals}.
 *
 * <ul>
 * <li>Compiled code touches the stack as deep as the interpreter might need for everything that is inlined into it, if
 * that is more than a page. So large a {@code max_stack} makes it more: that costs one store at the start of a compiled
 * method, and leaves at least 640 bytes for a frame that returns to the interpreter and calls a probe there.
 * <li>The interpreter makes room for local variables, and ignores {@code max_stack} (on x86-64).
 * </ul>
 */
public final class FlowProbe {
    /*
     * Where things are in a control block and in an event: `sys/probes/control.rs` and `format/raw.rs` specify it, and a test in
     * `control.rs` compares. The compiler puts the values into the code.
     */

    /** The size of a control block, as a power of two. */
    private static final int BLOCK_SHIFT = 6;
    /** In a block: the address of the next byte to be written. */
    private static final int POSITION = 16;
    /** In a block: the limit of the position. */
    private static final int LIMIT = 24;
    /** In block 0: not 0 while probes are switched off. */
    private static final int OFF_SWITCH = 32;
    /** In a block: the last address at which an exit can begin. */
    private static final int LAST = 40;
    /** The event of an exit. */
    private static final int EXIT = 0x00;
    /** The first byte of a time; seven bytes of nanoseconds follow. */
    private static final int TIME = 0x7A;
    /** The bytes of a time. */
    private static final int TIME_BYTES = 8;
    /** The first byte of a sequence number; seven bytes follow. */
    private static final int NUMBER = 0x79;
    /** The bytes of a sequence number. */
    private static final int NUMBER_BYTES = 8;

    /** The first byte of a line; its number and a zero follow. */
    private static final int LINE = 0x77;
    /** The bytes of a line. */
    private static final int LINE_BYTES = 4;

    /** The first byte of a piece of a value. */
    private static final int VALUE = 0x76;
    /** The bytes of a piece of a value. */
    private static final int VALUE_BYTES = 8;
    /** The last byte of a piece says how many bytes of it count. */
    private static final long TWO = 2L << 56, FOUR = 4L << 56, SIX = 6L << 56;

    /*
     * The types of values, which `format/values.rs` specifies. Those of boxed values and of elements are in bits 16 to 19 of
     * what is passed to the agent.
     */

    /** Texts. */
    private static final int TEXT = 10;
    /** Arrays. */
    private static final int ARRAY = 11;
    /** Boxed values. */
    private static final int BOXED = 13;
    /** Constants of enums. */
    private static final int CONSTANT = 14;
    /** Other objects. */
    private static final int OBJECT = 9;
    /** Which bits have the role of a value, and the role of messages of exceptions, whose objects are not stored. */
    private static final int ROLE = 0xF0, MESSAGE = 0x30;
    /** The high bits of three bytes, each followed by another one with seven more bits of a number. */
    private static final long MORE = 0x808080;

    /** The first byte of a step; the index of an instruction and a zero follow. */
    private static final int STEP = 0x75;
    /** The bytes of a step. */
    private static final int STEP_BYTES = 4;
    /** The bytes of a step with an operand: half of its value, its kind, the other half, and zeros. */
    private static final int OPERAND_BYTES = 8;
    /** The kinds of operands, where they are in a step. */
    private static final int OBJECT_OPERAND = 1 << 24, INDEX_OPERAND = 2 << 24, LENGTH_OPERAND = 3 << 24,
            VALUE_OPERAND = 4 << 24, THIS_OPERAND = 5 << 24, CLASS_OPERAND = 6 << 24;

    /** The bytes of an exit by an exception, with its class. */
    private static final int UNWOUND_BYTES = 4;

    /*
     * Where things are in the table of classes: `sys/probes/classes.rs` specifies it, and a test there compares.
     */

    /** Which bits of the word count. */
    private static final int MASK = 8;
    /** Whether no object is left out of values, so that the agent need not be asked. */
    private static final int ALL_OBJECTS = 12;
    /** One more than the most characters of a text that are stored; 0 if texts may have to be left out. */
    private static final int MOST_TEXT = 16;
    /** The entries. */
    private static final int ENTRIES = 24;
    /** A word times this has the number of its entry in its highest bits. */
    private static final int SPREAD = 0x9E3779B1;
    /** How many bits come after these. */
    private static final int SPREAD_SHIFT = 23;
    /** The size of an entry, as a power of two. */
    private static final int ENTRY_SHIFT = 3;

    private static final Unsafe U = Unsafe.getUnsafe();
    private static final long ID = U.objectFieldOffset(Thread.class, "tid");
    /** Where in a string its characters are, and whether each has one byte. */
    private static final long TEXT_BYTES = offset("value"), TEXT_CODER = offset("coder");
    private static final long BLOCKS = blocks();
    private static final long IDS = ids();
    private static final long CLASSES = classes(U.objectFieldOffset(Integer.class, "value"));
    /** The address of the next sequence number. */
    private static final long COUNTER = counter();

    private FlowProbe() {}

    /** Where a string has a field; 0 if it has none of this name: then its texts are passed to the agent. */
    private static long offset(String field) {
        try {
            return U.objectFieldOffset(String.class, field);
        } catch (InternalError unknown) {
            return 0;
        }
    }

    /** Stores the lowest byte of {@code event}. */
    public static void append1(int event) {
        Thread thread = Thread.currentThread();
        long block = BLOCKS + ((U.getLong(thread, ID) & IDS) << BLOCK_SHIFT);
        long position = U.getLong(null, block + POSITION);
        if (position < U.getLong(null, block + LIMIT)) {
            U.putByte(null, position, (byte) event);
            U.putLong(null, block + POSITION, position + 1);
        } else {
            appendSlowly(event, 1);
        }
    }

    /** Stores the two lower bytes of {@code event}, the lowest one first. */
    public static void append2(int event) {
        Thread thread = Thread.currentThread();
        long block = BLOCKS + ((U.getLong(thread, ID) & IDS) << BLOCK_SHIFT);
        long position = U.getLong(null, block + POSITION);
        if (position < U.getLong(null, block + LIMIT)) {
            U.putShort(null, position, (short) event);
            U.putLong(null, block + POSITION, position + 2);
        } else {
            appendSlowly(event, 2);
        }
    }

    /** Stores the three lower bytes of {@code event}, the lowest one first. The fourth is zero. */
    public static void append3(int event) {
        Thread thread = Thread.currentThread();
        long block = BLOCKS + ((U.getLong(thread, ID) & IDS) << BLOCK_SHIFT);
        long position = U.getLong(null, block + POSITION);
        if (position < U.getLong(null, block + LIMIT)) {
            U.putInt(null, position, event);
            U.putLong(null, block + POSITION, position + 3);
        } else {
            appendSlowly(event, 3);
        }
    }

    /** Stores the four bytes of {@code event}, the lowest one first. */
    public static void append4(int event) {
        Thread thread = Thread.currentThread();
        long block = BLOCKS + ((U.getLong(thread, ID) & IDS) << BLOCK_SHIFT);
        long position = U.getLong(null, block + POSITION);
        if (position < U.getLong(null, block + LIMIT)) {
            U.putInt(null, position, event);
            U.putLong(null, block + POSITION, position + 4);
        } else {
            appendSlowly(event, 4);
        }
    }

    /**
     * Appends the exit of a method that returns. There is always room for it: after the limit, a chunk has space for the
     * exits of all open frames. Without a comparison and a call, the compiler has half the work. If the space should end
     * nevertheless, the position does not move: the sign of its distance to the last place is 0 then, and 1 before.
     */
    public static void exit() {
        long block = BLOCKS + ((U.getLong(Thread.currentThread(), ID) & IDS) << BLOCK_SHIFT);
        long position = U.getLong(null, block + POSITION);
        U.putByte(null, position, (byte) ~EXIT);
        U.putLong(null, block + POSITION, position + ((position - U.getLong(null, block + LAST)) >>> 63));
    }

    /**
     * Stores the lowest byte of {@code event}, which is not an entry: it must not need more stack than an entry does, not
     * even if there is no room.
     */
    public static void note(int event) {
        Thread thread = Thread.currentThread();
        long block = BLOCKS + ((U.getLong(thread, ID) & IDS) << BLOCK_SHIFT);
        long position = U.getLong(null, block + POSITION);
        if (position < U.getLong(null, block + LIMIT)) {
            U.putByte(null, position, (byte) event);
            U.putLong(null, block + POSITION, position + 1);
        } else if (position == 0 || position != U.getLong(null, block + LAST)
                || U.getLong(null, BLOCKS + OFF_SWITCH) == 0) {
            append(thread, U.getLong(thread, ID), event, 1);
        }
    }

    /**
     * Stores that a line is reached, with the lower two bytes of its number. Like {@link #note}, it must not need more stack
     * than an entry does. Lines have neither times nor sequence numbers.
     */
    public static void line(int line) {
        Thread thread = Thread.currentThread();
        long block = BLOCKS + ((U.getLong(thread, ID) & IDS) << BLOCK_SHIFT);
        long position = U.getLong(null, block + POSITION);
        if (position < U.getLong(null, block + LIMIT)) {
            U.putInt(null, position, ~((char) line << 8 | LINE));
            U.putLong(null, block + POSITION, position + LINE_BYTES);
        } else if (position == 0 || position != U.getLong(null, block + LAST)
                || U.getLong(null, BLOCKS + OFF_SWITCH) == 0) {
            append(thread, U.getLong(thread, ID), ~((char) line << 8 | LINE), LINE_BYTES);
        }
    }

    /**
     * Stores that a run of instructions begins, with the lower two bytes of the index of its first one. Like {@link #line}.
     */
    public static void step(int at) {
        Thread thread = Thread.currentThread();
        long block = BLOCKS + ((U.getLong(thread, ID) & IDS) << BLOCK_SHIFT);
        long position = U.getLong(null, block + POSITION);
        if (position < U.getLong(null, block + LIMIT)) {
            U.putInt(null, position, ~((char) at << 8 | STEP));
            U.putLong(null, block + POSITION, position + STEP_BYTES);
        } else if (position == 0 || position != U.getLong(null, block + LAST)
                || U.getLong(null, BLOCKS + OFF_SWITCH) == 0) {
            append(thread, U.getLong(thread, ID), ~((char) at << 8 | STEP), STEP_BYTES);
        }
    }

    /** The same, with the identity of the object of which a field is accessed. */
    public static void step(Object object, int at) {
        int hash = System.identityHashCode(object);
        Thread thread = Thread.currentThread();
        long block = BLOCKS + ((U.getLong(thread, ID) & IDS) << BLOCK_SHIFT);
        long position = U.getLong(null, block + POSITION);
        if (position < U.getLong(null, block + LIMIT)) {
            U.putInt(null, position, ~((char) at << 8 | STEP));
            U.putLong(null, position + STEP_BYTES,
                    ~((hash & 0xFFFF0000L) << 16 | OBJECT_OPERAND | (char) hash << 8 | STEP));
            U.putLong(null, block + POSITION, position + (STEP_BYTES + OPERAND_BYTES));
        } else if (position == 0 || position != U.getLong(null, block + LAST)
                || U.getLong(null, BLOCKS + OFF_SWITCH) == 0) {
            append(thread, U.getLong(thread, ID), ~((char) at << 8 | STEP), STEP_BYTES);
            operand(thread, U.getLong(thread, ID), OBJECT_OPERAND, hash);
        }
    }

    /** The same, with the identity of the array of which an element is accessed, the index of that, and the array's length. */
    public static void step(Object array, int index, int at) {
        int hash = System.identityHashCode(array);
        int length = array == null ? 0 : java.lang.reflect.Array.getLength(array);
        Thread thread = Thread.currentThread();
        long block = BLOCKS + ((U.getLong(thread, ID) & IDS) << BLOCK_SHIFT);
        long position = U.getLong(null, block + POSITION);
        if (position < U.getLong(null, block + LIMIT)) {
            U.putInt(null, position, ~((char) at << 8 | STEP));
            U.putLong(null, position + STEP_BYTES,
                    ~((hash & 0xFFFF0000L) << 16 | OBJECT_OPERAND | (char) hash << 8 | STEP));
            U.putLong(null, position + (STEP_BYTES + OPERAND_BYTES),
                    ~((index & 0xFFFF0000L) << 16 | INDEX_OPERAND | (char) index << 8 | STEP));
            U.putLong(null, position + (STEP_BYTES + 2 * OPERAND_BYTES),
                    ~((length & 0xFFFF0000L) << 16 | LENGTH_OPERAND | (char) length << 8 | STEP));
            U.putLong(null, block + POSITION, position + (STEP_BYTES + 3 * OPERAND_BYTES));
        } else if (position == 0 || position != U.getLong(null, block + LAST)
                || U.getLong(null, BLOCKS + OFF_SWITCH) == 0) {
            append(thread, U.getLong(thread, ID), ~((char) at << 8 | STEP), STEP_BYTES);
            operand(thread, U.getLong(thread, ID), OBJECT_OPERAND, hash);
            operand(thread, U.getLong(thread, ID), INDEX_OPERAND, index);
            operand(thread, U.getLong(thread, ID), LENGTH_OPERAND, length);
        }
    }

    /** Stores the identity of an object that is loaded from a field or an element, or stored. */
    public static void stepValue(Object value) {
        int hash = System.identityHashCode(value);
        Thread thread = Thread.currentThread();
        long block = BLOCKS + ((U.getLong(thread, ID) & IDS) << BLOCK_SHIFT);
        long position = U.getLong(null, block + POSITION);
        if (position < U.getLong(null, block + LIMIT)) {
            U.putLong(null, position, ~((hash & 0xFFFF0000L) << 16 | VALUE_OPERAND | (char) hash << 8 | STEP));
            U.putLong(null, block + POSITION, position + OPERAND_BYTES);
        } else if (position == 0 || position != U.getLong(null, block + LAST)
                || U.getLong(null, BLOCKS + OFF_SWITCH) == 0) {
            operand(thread, U.getLong(thread, ID), VALUE_OPERAND, hash);
        }
    }

    /** Stores the identity and the class of the object whose method begins. */
    public static void stepThis(Object self) {
        int hash = System.identityHashCode(self);
        int word = U.getInt(self, U.getLong(null, CLASSES)) & U.getInt(null, CLASSES + MASK);
        long entry = U.getLong(null, CLASSES + ENTRIES + ((long) (word * SPREAD >>> SPREAD_SHIFT) << ENTRY_SHIFT));
        int type = ~((int) (entry >> 32) == word ? (int) entry : name(self, word)) >>> 8;
        Thread thread = Thread.currentThread();
        long block = BLOCKS + ((U.getLong(thread, ID) & IDS) << BLOCK_SHIFT);
        long position = U.getLong(null, block + POSITION);
        if (position < U.getLong(null, block + LIMIT)) {
            U.putLong(null, position, ~((hash & 0xFFFF0000L) << 16 | THIS_OPERAND | (char) hash << 8 | STEP));
            U.putLong(null, position + OPERAND_BYTES,
                    ~((type & 0xFFFF0000L) << 16 | CLASS_OPERAND | (char) type << 8 | STEP));
            U.putLong(null, block + POSITION, position + 2 * OPERAND_BYTES);
        } else if (position == 0 || position != U.getLong(null, block + LAST)
                || U.getLong(null, BLOCKS + OFF_SWITCH) == 0) {
            operand(thread, U.getLong(thread, ID), THIS_OPERAND, hash);
            operand(thread, U.getLong(thread, ID), CLASS_OPERAND, type);
        }
    }

    /**
     * Appends the exit of a method that an exception leaves, with the class of the exception. Like {@link #note}, it must
     * not need more stack than an entry does; so it calls nothing but the agent, and has few variables.
     *
     * <p>The word of an object that identifies its class is in its header, and where it is there is in the table: if that
     * were a constant, the compiler would know that it is the header, and not compile the access.
     */
    public static void unwound(Throwable thrown) {
        Thread thread = Thread.currentThread();
        long block = BLOCKS + ((U.getLong(thread, ID) & IDS) << BLOCK_SHIFT);
        long position = U.getLong(null, block + POSITION);
        if (position < U.getLong(null, block + LIMIT)) {
            int word = U.getInt(thrown, U.getLong(null, CLASSES)) & U.getInt(null, CLASSES + MASK);
            long entry = U.getLong(null, CLASSES + ENTRIES + ((long) (word * SPREAD >>> SPREAD_SHIFT) << ENTRY_SHIFT));
            U.putInt(null, position, (int) (entry >> 32) == word ? (int) entry : name(thrown, word));
            U.putLong(null, block + POSITION, position + UNWOUND_BYTES);
        } else if (position == 0 || position != U.getLong(null, block + LAST)
                || U.getLong(null, BLOCKS + OFF_SWITCH) == 0) {
            append(thread, U.getLong(thread, ID), name(thrown, 0), UNWOUND_BYTES);
        }
    }

    /** Stores a value of four bytes; {@code head} has its first two bytes. Like {@link #note}, it must not need more stack. */
    public static void value(int value, int head) {
        Thread thread = Thread.currentThread();
        long block = BLOCKS + ((U.getLong(thread, ID) & IDS) << BLOCK_SHIFT);
        long position = U.getLong(null, block + POSITION);
        if (position < U.getLong(null, block + LIMIT)) {
            U.putLong(null, position, ~(SIX | (value & 0xFFFFFFFFL) << 24 | (char) head << 8 | VALUE));
            U.putLong(null, block + POSITION, position + VALUE_BYTES);
        } else if (position == 0 || position != U.getLong(null, block + LAST)
                || U.getLong(null, BLOCKS + OFF_SWITCH) == 0) {
            number(thread, U.getLong(thread, ID), value, head);
        }
    }

    /** The same for a float. */
    public static void value(float value, int head) {
        Thread thread = Thread.currentThread();
        long block = BLOCKS + ((U.getLong(thread, ID) & IDS) << BLOCK_SHIFT);
        long position = U.getLong(null, block + POSITION);
        int bits = Float.floatToRawIntBits(value);
        if (position < U.getLong(null, block + LIMIT)) {
            U.putLong(null, position, ~(SIX | (bits & 0xFFFFFFFFL) << 24 | (char) head << 8 | VALUE));
            U.putLong(null, block + POSITION, position + VALUE_BYTES);
        } else if (position == 0 || position != U.getLong(null, block + LAST)
                || U.getLong(null, BLOCKS + OFF_SWITCH) == 0) {
            number(thread, U.getLong(thread, ID), bits, head);
        }
    }

    /** The same for a value of eight bytes, in two pieces. */
    public static void value(long value, int head) {
        Thread thread = Thread.currentThread();
        long block = BLOCKS + ((U.getLong(thread, ID) & IDS) << BLOCK_SHIFT);
        long position = U.getLong(null, block + POSITION);
        if (position < U.getLong(null, block + LIMIT)) {
            U.putLong(null, position, ~(SIX | (value & 0xFFFFFFFFL) << 24 | (char) head << 8 | VALUE));
            U.putLong(null, position + VALUE_BYTES, ~(FOUR | value >>> 32 << 8 | VALUE));
            U.putLong(null, block + POSITION, position + 2 * VALUE_BYTES);
        } else if (position == 0 || position != U.getLong(null, block + LAST)
                || U.getLong(null, BLOCKS + OFF_SWITCH) == 0) {
            number(thread, U.getLong(thread, ID), value, head);
        }
    }

    /** The same for a double. */
    public static void value(double value, int head) {
        Thread thread = Thread.currentThread();
        long block = BLOCKS + ((U.getLong(thread, ID) & IDS) << BLOCK_SHIFT);
        long position = U.getLong(null, block + POSITION);
        long bits = Double.doubleToRawLongBits(value);
        if (position < U.getLong(null, block + LIMIT)) {
            U.putLong(null, position, ~(SIX | (bits & 0xFFFFFFFFL) << 24 | (char) head << 8 | VALUE));
            U.putLong(null, position + VALUE_BYTES, ~(FOUR | bits >>> 32 << 8 | VALUE));
            U.putLong(null, block + POSITION, position + 2 * VALUE_BYTES);
        } else if (position == 0 || position != U.getLong(null, block + LAST)
                || U.getLong(null, BLOCKS + OFF_SWITCH) == 0) {
            number(thread, U.getLong(thread, ID), bits, head);
        }
    }

    /** Stores that a value is left out. */
    public static void redacted(int head) {
        Thread thread = Thread.currentThread();
        long block = BLOCKS + ((U.getLong(thread, ID) & IDS) << BLOCK_SHIFT);
        long position = U.getLong(null, block + POSITION);
        if (position < U.getLong(null, block + LIMIT)) {
            U.putLong(null, position, ~(TWO | (char) head << 8 | VALUE));
            U.putLong(null, block + POSITION, position + VALUE_BYTES);
        } else if (position == 0 || position != U.getLong(null, block + LAST)
                || U.getLong(null, BLOCKS + OFF_SWITCH) == 0) {
            number(thread, U.getLong(thread, ID), 0, head);
        }
    }

    /**
     * Stores a text of few characters, all of ASCII, or the class and the identity of an object. Passes what is different, such
     * as an array, to the agent, and all objects if some are left out. None of the program's code is called, and no method of the JDK that is not native: {@code Class.isArray} is
     * Java code from JDK 24 on, and would be recorded in turn.
     */
    public static void value(Object value, int head) {
        Thread thread = Thread.currentThread();
        long block = BLOCKS + ((U.getLong(thread, ID) & IDS) << BLOCK_SHIFT);
        long position = U.getLong(null, block + POSITION);
        if (position >= U.getLong(null, block + LIMIT) && position != 0 && position == U.getLong(null, block + LAST)
                && U.getLong(null, BLOCKS + OFF_SWITCH) != 0) {
            return;
        }
        if (value == null) {
            if (position < U.getLong(null, block + LIMIT)) {
                U.putLong(null, position, ~(TWO | (char) head << 8 | VALUE));
                U.putLong(null, block + POSITION, position + VALUE_BYTES);
            } else {
                number(thread, U.getLong(thread, ID), 0, head);
            }
        } else if (value instanceof String) {
            int most = U.getInt(null, CLASSES + MOST_TEXT);
            Object content = null;
            if (most != 0 && TEXT_BYTES != 0 && TEXT_CODER != 0 && U.getInt(null, CLASSES + MASK) != 0
                    && U.getByte(value, TEXT_CODER) == 0 && (head & ROLE) != MESSAGE) {
                content = U.getReference(value, TEXT_BYTES);
            }
            if (content instanceof byte[]) {
                byte[] text = (byte[]) content;
                int count = text.length < most ? text.length : most - 1, all = text.length >>> 14;
                for (int i = 0; i < count; i++) {
                    all |= text[i] >>> 7;
                }
                if (all == 0 && position + (count + 10) / 6 * VALUE_BYTES <= U.getLong(null, block + LIMIT)) {
                    // How many characters there are, in two groups of seven bits, and how many follow.
                    long word = (char) head | TEXT | (text.length & 0x7F | 0x80) << 16 | text.length >>> 7 << 24 | (long) count << 32;
                    int shift = 40;
                    for (int i = 0; i < count; i++) {
                        if (shift == 48) {
                            U.putLong(null, position, ~(SIX | word << 8 | VALUE));
                            position += VALUE_BYTES;
                            word = 0;
                            shift = 0;
                        }
                        word |= (long) text[i] << shift;
                        shift += 8;
                    }
                    U.putLong(null, position, ~((long) shift << 53 | word << 8 | VALUE));
                    U.putLong(null, block + POSITION, position + VALUE_BYTES);
                    return;
                }
            }
            object(thread, U.getLong(thread, ID), value, (char) head | TEXT, 0, 0);
        } else {
            int word = U.getInt(value, U.getLong(null, CLASSES)) & U.getInt(null, CLASSES + MASK);
            long entry = U.getLong(null, CLASSES + ENTRIES + ((long) (word * SPREAD >>> SPREAD_SHIFT) << ENTRY_SHIFT));
            int type = value instanceof Integer ? BOXED | 5 << 16 : value instanceof Long ? BOXED | 7 << 16
                    : value instanceof Boolean ? BOXED | 1 << 16 : value instanceof Double ? BOXED | 8 << 16
                    : value instanceof Character ? BOXED | 3 << 16 : value instanceof Byte ? BOXED | 2 << 16
                    : value instanceof Short ? BOXED | 4 << 16 : value instanceof Float ? BOXED | 6 << 16
                    : value instanceof Enum ? CONSTANT
                    : value instanceof Object[] ? ARRAY | 9 << 16 : value instanceof int[] ? ARRAY | 5 << 16
                    : value instanceof byte[] ? ARRAY | 2 << 16 : value instanceof char[] ? ARRAY | 3 << 16
                    : value instanceof long[] ? ARRAY | 7 << 16 : value instanceof double[] ? ARRAY | 8 << 16
                    : value instanceof boolean[] ? ARRAY | 1 << 16 : value instanceof short[] ? ARRAY | 4 << 16
                    : value instanceof float[] ? ARRAY | 6 << 16 : OBJECT;
            int event = (int) (entry >> 32) == word ? (int) entry : name(value, word);
            if (type == OBJECT && (head & ROLE) != MESSAGE && position < U.getLong(null, block + LIMIT)
                    && U.getInt(null, CLASSES + ALL_OBJECTS) != 0) {
                // The number of the class in four groups of seven bits.
                entry = ~event >>> 8;
                entry = MORE | entry & 0x7F | (entry & 0x3F80) << 1 | (entry & 0x1FC000) << 2 | (entry & 0xFE00000) << 3;
                U.putLong(null, position, ~(SIX | entry << 24 | (char) head << 8 | OBJECT << 8 | VALUE));
                U.putLong(null, position + VALUE_BYTES,
                        ~(FOUR | (System.identityHashCode(value) & 0xFFFFFFFFL) << 8 | VALUE));
                U.putLong(null, block + POSITION, position + 2 * VALUE_BYTES);
            } else {
                object(thread, U.getLong(thread, ID), value, (char) head | type, event, System.identityHashCode(value));
            }
        }
    }

    /** Like {@link #append1}, with the time before it. */
    public static void timed1(int event) {
        Thread thread = Thread.currentThread();
        long block = BLOCKS + ((U.getLong(thread, ID) & IDS) << BLOCK_SHIFT);
        long position = U.getLong(null, block + POSITION);
        if (position < U.getLong(null, block + LIMIT)) {
            U.putLong(null, position, ~(System.nanoTime() << 8 | TIME));
            U.putByte(null, position + TIME_BYTES, (byte) event);
            U.putLong(null, block + POSITION, position + (TIME_BYTES + 1));
        } else {
            appendSlowly(event, 1);
        }
    }

    /** Like {@link #append2}, with the time before it. */
    public static void timed2(int event) {
        Thread thread = Thread.currentThread();
        long block = BLOCKS + ((U.getLong(thread, ID) & IDS) << BLOCK_SHIFT);
        long position = U.getLong(null, block + POSITION);
        if (position < U.getLong(null, block + LIMIT)) {
            U.putLong(null, position, ~(System.nanoTime() << 8 | TIME));
            U.putShort(null, position + TIME_BYTES, (short) event);
            U.putLong(null, block + POSITION, position + (TIME_BYTES + 2));
        } else {
            appendSlowly(event, 2);
        }
    }

    /** Like {@link #append3}, with the time before it. */
    public static void timed3(int event) {
        Thread thread = Thread.currentThread();
        long block = BLOCKS + ((U.getLong(thread, ID) & IDS) << BLOCK_SHIFT);
        long position = U.getLong(null, block + POSITION);
        if (position < U.getLong(null, block + LIMIT)) {
            U.putLong(null, position, ~(System.nanoTime() << 8 | TIME));
            U.putInt(null, position + TIME_BYTES, event);
            U.putLong(null, block + POSITION, position + (TIME_BYTES + 3));
        } else {
            appendSlowly(event, 3);
        }
    }

    /** Like {@link #append4}, with the time before it. */
    public static void timed4(int event) {
        Thread thread = Thread.currentThread();
        long block = BLOCKS + ((U.getLong(thread, ID) & IDS) << BLOCK_SHIFT);
        long position = U.getLong(null, block + POSITION);
        if (position < U.getLong(null, block + LIMIT)) {
            U.putLong(null, position, ~(System.nanoTime() << 8 | TIME));
            U.putInt(null, position + TIME_BYTES, event);
            U.putLong(null, block + POSITION, position + (TIME_BYTES + 4));
        } else {
            appendSlowly(event, 4);
        }
    }

    /** Like {@link #exit}, with the time before it: both are stored, or nothing counts. */
    public static void timedExit() {
        long block = BLOCKS + ((U.getLong(Thread.currentThread(), ID) & IDS) << BLOCK_SHIFT);
        long position = U.getLong(null, block + POSITION);
        U.putLong(null, position, ~(System.nanoTime() << 8 | TIME));
        U.putByte(null, position + TIME_BYTES, (byte) ~EXIT);
        U.putLong(null, block + POSITION, position + (TIME_BYTES + 1) * ((position - U.getLong(null, block + LAST)) >>> 63));
    }

    /** Like {@link #note}, with the time before it. */
    public static void timedNote(int event) {
        Thread thread = Thread.currentThread();
        long block = BLOCKS + ((U.getLong(thread, ID) & IDS) << BLOCK_SHIFT);
        long position = U.getLong(null, block + POSITION);
        if (position < U.getLong(null, block + LIMIT)) {
            U.putLong(null, position, ~(System.nanoTime() << 8 | TIME));
            U.putByte(null, position + TIME_BYTES, (byte) event);
            U.putLong(null, block + POSITION, position + (TIME_BYTES + 1));
        } else if (position == 0 || position != U.getLong(null, block + LAST)
                || U.getLong(null, BLOCKS + OFF_SWITCH) == 0) {
            append(thread, U.getLong(thread, ID), event, 1);
        }
    }

    /** Like {@link #unwound}, with the time before it. */
    public static void timedUnwound(Throwable thrown) {
        Thread thread = Thread.currentThread();
        long block = BLOCKS + ((U.getLong(thread, ID) & IDS) << BLOCK_SHIFT);
        long position = U.getLong(null, block + POSITION);
        if (position < U.getLong(null, block + LIMIT)) {
            int word = U.getInt(thrown, U.getLong(null, CLASSES)) & U.getInt(null, CLASSES + MASK);
            long entry = U.getLong(null, CLASSES + ENTRIES + ((long) (word * SPREAD >>> SPREAD_SHIFT) << ENTRY_SHIFT));
            U.putLong(null, position, ~(System.nanoTime() << 8 | TIME));
            U.putInt(null, position + TIME_BYTES, (int) (entry >> 32) == word ? (int) entry : name(thrown, word));
            U.putLong(null, block + POSITION, position + (TIME_BYTES + UNWOUND_BYTES));
        } else if (position == 0 || position != U.getLong(null, block + LAST)
                || U.getLong(null, BLOCKS + OFF_SWITCH) == 0) {
            append(thread, U.getLong(thread, ID), name(thrown, 0), UNWOUND_BYTES);
        }
    }

    /** Like {@link #append1}, with a sequence number before it. */
    public static void numbered1(int event) {
        Thread thread = Thread.currentThread();
        long block = BLOCKS + ((U.getLong(thread, ID) & IDS) << BLOCK_SHIFT);
        long position = U.getLong(null, block + POSITION);
        if (position < U.getLong(null, block + LIMIT)) {
            U.putLong(null, position, ~(U.getAndAddLong(null, COUNTER, 1) << 8 | NUMBER));
            U.putByte(null, position + NUMBER_BYTES, (byte) event);
            U.putLong(null, block + POSITION, position + (NUMBER_BYTES + 1));
        } else {
            appendSlowly(event, 1);
        }
    }

    /** Like {@link #append2}, with a sequence number before it. */
    public static void numbered2(int event) {
        Thread thread = Thread.currentThread();
        long block = BLOCKS + ((U.getLong(thread, ID) & IDS) << BLOCK_SHIFT);
        long position = U.getLong(null, block + POSITION);
        if (position < U.getLong(null, block + LIMIT)) {
            U.putLong(null, position, ~(U.getAndAddLong(null, COUNTER, 1) << 8 | NUMBER));
            U.putShort(null, position + NUMBER_BYTES, (short) event);
            U.putLong(null, block + POSITION, position + (NUMBER_BYTES + 2));
        } else {
            appendSlowly(event, 2);
        }
    }

    /** Like {@link #append3}, with a sequence number before it. */
    public static void numbered3(int event) {
        Thread thread = Thread.currentThread();
        long block = BLOCKS + ((U.getLong(thread, ID) & IDS) << BLOCK_SHIFT);
        long position = U.getLong(null, block + POSITION);
        if (position < U.getLong(null, block + LIMIT)) {
            U.putLong(null, position, ~(U.getAndAddLong(null, COUNTER, 1) << 8 | NUMBER));
            U.putInt(null, position + NUMBER_BYTES, event);
            U.putLong(null, block + POSITION, position + (NUMBER_BYTES + 3));
        } else {
            appendSlowly(event, 3);
        }
    }

    /** Like {@link #append4}, with a sequence number before it. */
    public static void numbered4(int event) {
        Thread thread = Thread.currentThread();
        long block = BLOCKS + ((U.getLong(thread, ID) & IDS) << BLOCK_SHIFT);
        long position = U.getLong(null, block + POSITION);
        if (position < U.getLong(null, block + LIMIT)) {
            U.putLong(null, position, ~(U.getAndAddLong(null, COUNTER, 1) << 8 | NUMBER));
            U.putInt(null, position + NUMBER_BYTES, event);
            U.putLong(null, block + POSITION, position + (NUMBER_BYTES + 4));
        } else {
            appendSlowly(event, 4);
        }
    }

    /** Like {@link #exit}, with a sequence number before it: both are stored, or nothing counts. */
    public static void numberedExit() {
        long block = BLOCKS + ((U.getLong(Thread.currentThread(), ID) & IDS) << BLOCK_SHIFT);
        long position = U.getLong(null, block + POSITION);
        U.putLong(null, position, ~(U.getAndAddLong(null, COUNTER, 1) << 8 | NUMBER));
        U.putByte(null, position + NUMBER_BYTES, (byte) ~EXIT);
        U.putLong(null, block + POSITION, position + (NUMBER_BYTES + 1) * ((position - U.getLong(null, block + LAST)) >>> 63));
    }

    /** Like {@link #note}, with a sequence number before it. */
    public static void numberedNote(int event) {
        Thread thread = Thread.currentThread();
        long block = BLOCKS + ((U.getLong(thread, ID) & IDS) << BLOCK_SHIFT);
        long position = U.getLong(null, block + POSITION);
        if (position < U.getLong(null, block + LIMIT)) {
            U.putLong(null, position, ~(U.getAndAddLong(null, COUNTER, 1) << 8 | NUMBER));
            U.putByte(null, position + NUMBER_BYTES, (byte) event);
            U.putLong(null, block + POSITION, position + (NUMBER_BYTES + 1));
        } else if (position == 0 || position != U.getLong(null, block + LAST)
                || U.getLong(null, BLOCKS + OFF_SWITCH) == 0) {
            append(thread, U.getLong(thread, ID), event, 1);
        }
    }

    /** Like {@link #unwound}, with a sequence number before it. */
    public static void numberedUnwound(Throwable thrown) {
        Thread thread = Thread.currentThread();
        long block = BLOCKS + ((U.getLong(thread, ID) & IDS) << BLOCK_SHIFT);
        long position = U.getLong(null, block + POSITION);
        if (position < U.getLong(null, block + LIMIT)) {
            int word = U.getInt(thrown, U.getLong(null, CLASSES)) & U.getInt(null, CLASSES + MASK);
            long entry = U.getLong(null, CLASSES + ENTRIES + ((long) (word * SPREAD >>> SPREAD_SHIFT) << ENTRY_SHIFT));
            U.putLong(null, position, ~(U.getAndAddLong(null, COUNTER, 1) << 8 | NUMBER));
            U.putInt(null, position + NUMBER_BYTES, (int) (entry >> 32) == word ? (int) entry : name(thrown, word));
            U.putLong(null, block + POSITION, position + (NUMBER_BYTES + UNWOUND_BYTES));
        } else if (position == 0 || position != U.getLong(null, block + LAST)
                || U.getLong(null, BLOCKS + OFF_SWITCH) == 0) {
            append(thread, U.getLong(thread, ID), name(thrown, 0), UNWOUND_BYTES);
        }
    }

    /**
     * Calls the agent, which makes room or parks the thread, because there is no room or no chunk, or because the thread
     * is to call it. A thread that is parked, at the last byte of its block, has nothing to do while recording is off.
     * Block 0 belongs to no thread: one of its words is the off switch. {@link #note} contains the same code, to save a
     * call.
     */
    private static void appendSlowly(int event, int bytes) {
        Thread thread = Thread.currentThread();
        long block = BLOCKS + ((U.getLong(thread, ID) & IDS) << BLOCK_SHIFT);
        long position = U.getLong(null, block + POSITION);
        boolean parked = position != 0 && position == U.getLong(null, block + LAST);
        if (!parked || U.getLong(null, BLOCKS + OFF_SWITCH) == 0) {
            append(thread, U.getLong(thread, ID), event, bytes);
        }
    }

    /** Makes room and appends the event; implemented by the agent. */
    private static native void append(Thread thread, long id, int event, int bytes);

    /**
     * Returns the event of an exit by an exception of the class of this object. Later events find it in the table, unless the word is 0; implemented
     * by the agent.
     */
    private static native int name(Object thrown, int word);

    /** Makes room and appends a value of four bytes or eight, or of none; implemented by the agent. */
    private static native void number(Thread thread, long id, long value, int head);

    /** Makes room and appends a step with an operand; implemented by the agent. */
    private static native void operand(Thread thread, long id, int kind, int value);

    /** Appends a value: an object whose class is that of an exit by {@code event}; implemented by the agent. */
    private static native void object(Thread thread, long id, Object value, int head, int event, int hash);

    /** Returns the address of the table of classes; {@code field} is where objects without a superclass have a field. */
    private static native long classes(long field);

    /** Returns the address of the control blocks. */
    private static native long blocks();

    /** Returns the mask of the bits of a thread id that select a block. */
    private static native long ids();

    /** Returns the address of the next sequence number. */
    private static native long counter();
}
