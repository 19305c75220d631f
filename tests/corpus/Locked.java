import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.lang.reflect.Method;

/**
 * Runs a method with a {@code synchronized} block as the compilers of Kotlin and Scala write it: the
 * handler that leaves the monitor does not cover itself. javac cannot be made to do so.
 */
final class Locked {
    private static final String NAME = "LockedBlock";
    private static final int CALLS = 100;

    public static void main(String[] arguments) throws Exception {
        byte[] bytes = classFile();
        Class<?> block =
                new ClassLoader(Locked.class.getClassLoader()) {
                    Class<?> define() {
                        return defineClass(NAME, bytes, 0, bytes.length);
                    }
                }.define();
        Method method = block.getDeclaredMethod("locked", Object.class, int.class);
        int sum = 0;
        for (int i = 0; i < CALLS; i++) {
            sum += (Integer) method.invoke(null, block, 1);
        }
        System.out.println("ran " + sum);
    }

    private static byte[] classFile() throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(bytes);
        // Version 49 needs no frames.
        out.writeInt(0xCAFEBABE);
        out.writeInt(49);
        out.writeShort(14);
        text(out, NAME);
        reference(out, 7, 1);
        text(out, "java/lang/Object");
        reference(out, 7, 3);
        text(out, "Code");
        text(out, "locked");
        text(out, "(Ljava/lang/Object;I)I");
        text(out, "java/lang/Math");
        reference(out, 7, 8);
        text(out, "abs");
        text(out, "(I)I");
        reference(out, 12, 10, 11);
        // The last index is 13: the method that is called.
        reference(out, 10, 9, 12);
        short[] head = {0x21, 2, 4, 0, 0, 1, 9, 6, 7, 1, 5};
        for (short part : head) {
            out.writeShort(part);
        }
        int[] code = {
            0x2A, 0x4D, 0x2C, 0xC2, // aload_0, astore_2, aload_2, monitorenter
            0x1B, 0xB8, 0, 13, 0x3E, // 4: iload_1, invokestatic, istore_3
            0x2C, 0xC3, 0x1D, 0xAC, // 9: aload_2, monitorexit, iload_3, ireturn
            0x3A, 4, 0x2C, 0xC3, 0x19, 4, 0xBF, // 13: astore 4, aload_2, monitorexit, aload 4, athrow
        };
        out.writeInt(12 + code.length + 8);
        out.writeShort(2);
        out.writeShort(5);
        out.writeInt(code.length);
        for (int part : code) {
            out.writeByte(part);
        }
        short[] tail = {1, 4, 9, 13, 0, 0, 0};
        for (short part : tail) {
            out.writeShort(part);
        }
        return bytes.toByteArray();
    }

    private static void text(DataOutputStream out, String text) throws IOException {
        out.writeByte(1);
        out.writeUTF(text);
    }

    private static void reference(DataOutputStream out, int tag, int... indices)
            throws IOException {
        out.writeByte(tag);
        for (int index : indices) {
            out.writeShort(index);
        }
    }
}
