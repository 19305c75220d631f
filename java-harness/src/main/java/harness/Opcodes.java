package harness;

import harness.Assembler.Code;
import java.io.IOException;
import java.lang.reflect.Method;

/** Makes and runs {@code harness.Assembled49}, of instructions that compilers generate rarely or never. */
final class Opcodes {
    /** What the class has run. */
    static final String LAST = "done";

    /** For each kind of variable: a constant, the first store and load, and what removes a value from the stack. */
    private static final int[][] KINDS = {
        {0x04, 59, 26, 87}, {0x0A, 63, 30, 88}, {0x0C, 67, 34, 87}, {0x0F, 71, 38, 88}, {0x01, 75, 42, 87}
    };

    private static final Method METHOD = method();

    private Opcodes() {}

    static void run() throws ReflectiveOperationException {
        METHOD.invoke(null, 1);
    }

    private static Method method() {
        try {
            return new Templates.Loader().define(bytes()).getMethod("all", int.class);
        } catch (IOException | ReflectiveOperationException e) {
            throw new AssertionError(e);
        }
    }

    private static byte[] bytes() throws IOException {
        Assembler assembler = new Assembler(49, "harness/Assembled49");
        int type = assembler.type("java/lang/String");
        Code code = new Code();
        code.op(0);
        for (int constant = 1; constant <= 15; constant++) {
            boolean wide = constant == 9 || constant == 10 || constant >= 14;
            code.op(constant).op(wide ? 88 : 87);
        }
        code.op(16, 0x80, 87).op(17, 0x80, 0, 87).op(19, type >> 8, type, 87);
        for (int number = 0; number < 4; number++) {
            for (int[] kind : KINDS) {
                code.op(kind[0], kind[1] + number, kind[2] + number, kind[3]);
            }
        }
        for (int kind = 0; kind < KINDS.length; kind++) {
            // With an index, and with a wide one.
            code.op(KINDS[kind][0], 54 + kind, 6, 21 + kind, 6, KINDS[kind][3]);
            code.op(KINDS[kind][0], 196, 54 + kind, 1, 4, 196, 21 + kind, 1, 4, KINDS[kind][3]);
        }
        code.op(0x04, 54, 6, 132, 6, 0xFF, 0x04, 196, 54, 1, 4, 196, 132, 1, 4, 0xFF, 0x38);
        // swap, dup and its variants
        code.op(4, 5, 95, 87, 87).op(4, 89, 87, 87).op(4, 5, 90, 87, 87, 87).op(4, 5, 6, 91, 87, 87, 87, 87);
        code.op(4, 5, 92, 88, 88);
        // goto_w, jsr and jsr_w to the next but one instruction, and ret
        code.jumpWide(200, code.size() + 6).op(0);
        int end = code.size() + 3 + 5 + 1;
        code.jump(168, end).jumpWide(201, end + 3).op(177);
        code.op(75, 169, 0);
        code.op(196, 58, 1, 4, 196, 169, 1, 4);
        assembler.method("all", "(I)V", 264, code);
        return assembler.toBytes();
    }
}
