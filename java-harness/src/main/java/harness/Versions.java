package harness;

import harness.Assembler.Code;
import java.io.IOException;

/** The classes that {@link Assembled} calls: one for each version of the format of class files. */
final class Versions {
    private static final String SELF = "harness/Assembled";
    private static final int IFGT = 0x9D;
    private static final int JSR = 0xA8;
    private static final int RETURN = 0xB1;
    private static final int GOTO_W = 0xC8;
    private static final int JSR_W = 0xC9;
    private static final int WIDE = 0xC4;

    /** The largest code that a method may have. */
    private static final int MAX_CODE = 65_535;

    private Versions() {}

    static byte[] define(int version) throws IOException {
        Assembler type = new Assembler(version, "harness/Version" + version);
        int leaf = type.method(SELF, "leaf", "()V");
        int failIf = type.method(SELF, "failIf", "(I)V");
        if (version < 50) {
            type.method("subroutine", "(I)V", 3, subroutine(leaf, failIf));
            type.method("wideSubroutine", "(I)V", 3, wideSubroutine(leaf, failIf));
        }
        type.method("wideLocals", "(I)V", 400, wideLocals(300, failIf));
        type.method("allLocals", "(I)V", 65_535, wideLocals(65_534, failIf));
        type.method("farJump", "(I)V", 1, farJump(leaf));
        type.method("longLoop", "(I)V", 1, loop(60_000, leaf));
        type.method("longestLoop", "(I)V", 1, loop(MAX_CODE, leaf));
        return type.toBytes();
    }

    /** {@code try { failIf(flag); } finally { leaf(); }} with a subroutine for the {@code finally}. */
    private static Code subroutine(int leaf, int failIf) {
        int subroutine = 14;
        return new Code()
                .op(0x1A) // iload_0
                .invokestatic(failIf)
                .jump(JSR, subroutine)
                .op(RETURN)
                .op(0x4C) // The handler: astore_1
                .jump(JSR, subroutine)
                .op(0x2B, 0xBF) // aload_1, athrow
                .op(0x4D) // The subroutine: astore_2
                .invokestatic(leaf)
                .op(0xA9, 2) // ret 2
                .handler(0, 4, 8);
    }

    /** The same with wide instructions, and the subroutine calls {@code leaf} 40,000 bytes further on. */
    private static Code wideSubroutine(int leaf, int failIf) {
        int subroutine = 18;
        return new Code()
                .op(0x1A) // iload_0
                .invokestatic(failIf)
                .jumpWide(JSR_W, subroutine)
                .op(RETURN)
                .op(0x4C) // The handler: astore_1
                .jumpWide(JSR_W, subroutine)
                .op(0x2B, 0xBF) // aload_1, athrow
                .op(0x4D) // The subroutine: astore_2
                .nopsTo(40_000)
                .invokestatic(leaf)
                .op(WIDE, 0xA9, 0, 2) // ret 2
                .handler(0, 4, 10);
    }

    /** Adds 1000 to a local with a large index, subtracts it again: {@code failIf(0)}. */
    private static Code wideLocals(int local, int failIf) {
        int high = local >> 8;
        return new Code()
                .op(0x03) // iconst_0
                .op(WIDE, 0x36, high, local) // istore
                .op(WIDE, 0x84, high, local, 1000 >> 8, 1000) // iinc
                .op(WIDE, 0x84, high, local, -1000 >> 8, -1000) // iinc
                .op(WIDE, 0x15, high, local) // iload
                .invokestatic(failIf)
                .op(RETURN);
    }

    /**
     * A jump of the largest distance, over 500 returns: with 0 the first of them returns, with 1 {@code leaf} is called
     * after the last.
     */
    private static Code farJump(int leaf) {
        int target = 1 + Short.MAX_VALUE;
        Code code = new Code().op(0x1A).jump(IFGT, target);
        for (int i = 0; i < 500; i++) {
            int next = code.size() + 5;
            code.op(0x1A).jump(IFGT, next).op(RETURN).frame();
        }
        return code.nopsTo(target).frame().invokestatic(leaf).op(RETURN);
    }

    /**
     * A loop as long as its method, at the first instruction: two {@code leaf} in each iteration, one at each end of
     * the loop.
     */
    private static Code loop(int size, int leaf) {
        return new Code()
                .frame()
                .op(0x1A) // iload_0
                .jump(IFGT, 5)
                .op(RETURN)
                .frame()
                .invokestatic(leaf)
                .op(0x84, 0, 0xFF) // iinc 0, -1
                .nopsTo(size - 8)
                .invokestatic(leaf)
                .jumpWide(GOTO_W, 0);
    }
}
