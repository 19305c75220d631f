package harness;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.util.HashMap;
import java.util.Map;

/** Writes class files with bytecode that no Java compiler generates: classes of static methods, byte by byte. */
final class Assembler {
    private static final int PUBLIC_STATIC = 0x0009;
    private static final int PUBLIC_SUPER = 0x0021;

    private final ByteArrayOutputStream poolBytes = new ByteArrayOutputStream();
    private final DataOutputStream pool = new DataOutputStream(poolBytes);
    private final Map<String, Integer> constants = new HashMap<>();
    private final ByteArrayOutputStream methodBytes = new ByteArrayOutputStream();
    private final DataOutputStream methods = new DataOutputStream(methodBytes);
    private final int version;
    private final int name;
    private final int superName;
    private int methodCount;

    /** Begins a class; from version 51 on its methods get their frames. */
    Assembler(int version, String name) throws IOException {
        this.version = version;
        this.name = type(name);
        this.superName = type("java/lang/Object");
    }

    private int add(String key, int tag, int first, int second) throws IOException {
        Integer known = constants.get(key);
        if (known != null) {
            return known;
        }
        pool.writeByte(tag);
        pool.writeShort(first);
        if (second >= 0) {
            pool.writeShort(second);
        }
        constants.put(key, constants.size() + 1);
        return constants.size();
    }

    private int utf8(String text) throws IOException {
        String key = "1 " + text;
        Integer known = constants.get(key);
        if (known != null) {
            return known;
        }
        pool.writeByte(1);
        pool.writeUTF(text);
        constants.put(key, constants.size() + 1);
        return constants.size();
    }

    /** The constant that an {@code ldc} of a class names. */
    int type(String internalName) throws IOException {
        int text = utf8(internalName);
        return add("7 " + internalName, 7, text, -1);
    }

    /** The constant that an {@code invokestatic} names. */
    int method(String owner, String method, String descriptor) throws IOException {
        int type = type(owner);
        int first = utf8(method);
        int second = utf8(descriptor);
        int nameAndType = add("12 " + method + descriptor, 12, first, second);
        return add("10 " + owner + method + descriptor, 10, type, nameAndType);
    }

    /** Adds a static method. */
    void method(String method, String descriptor, int locals, Code code) throws IOException {
        methods.writeShort(PUBLIC_STATIC);
        methods.writeShort(utf8(method));
        methods.writeShort(utf8(descriptor));
        methods.writeShort(1);
        methods.writeShort(utf8("Code"));
        boolean frames = version > 50 && code.frameCount > 0;
        int frameName = frames ? utf8("StackMapTable") : 0;
        methods.writeInt(12 + code.size() + code.handlers.size() + (frames ? 8 + code.frames.size() : 0));
        methods.writeShort(4);
        methods.writeShort(locals);
        methods.writeInt(code.size());
        methods.write(code.bytes.toByteArray());
        methods.writeShort(code.handlers.size() / 8);
        methods.write(code.handlers.toByteArray());
        methods.writeShort(frames ? 1 : 0);
        if (frames) {
            methods.writeShort(frameName);
            methods.writeInt(2 + code.frames.size());
            methods.writeShort(code.frameCount);
            methods.write(code.frames.toByteArray());
        }
        methodCount++;
    }

    byte[] toBytes() throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(bytes);
        out.writeInt(0xCAFEBABE);
        out.writeShort(version == 45 ? 3 : 0);
        out.writeShort(version);
        out.writeShort(constants.size() + 1);
        out.write(poolBytes.toByteArray());
        out.writeShort(PUBLIC_SUPER);
        out.writeShort(name);
        out.writeShort(superName);
        out.writeShort(0);
        out.writeShort(0);
        out.writeShort(methodCount);
        out.write(methodBytes.toByteArray());
        out.writeShort(0);
        return bytes.toByteArray();
    }

    /** The code of one method. Jump targets are in bytes from the start of the method. */
    static final class Code {
        private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        private final ByteArrayOutputStream handlers = new ByteArrayOutputStream();
        private final ByteArrayOutputStream frames = new ByteArrayOutputStream();
        private int frameCount;
        private int lastFrame;

        int size() {
            return bytes.size();
        }

        Code op(int... instruction) {
            for (int part : instruction) {
                bytes.write(part);
            }
            return this;
        }

        Code invokestatic(int method) {
            return op(0xB8, method >> 8, method);
        }

        /** A jump with an offset of two bytes. */
        Code jump(int opcode, int target) {
            int offset = target - size();
            if (offset != (short) offset) {
                throw new IllegalArgumentException("too far: " + offset);
            }
            return op(opcode, offset >> 8, offset);
        }

        /** A jump with an offset of four bytes. */
        Code jumpWide(int opcode, int target) {
            int offset = target - size();
            return op(opcode, offset >> 24, offset >> 16, offset >> 8, offset);
        }

        /** Fills with {@code nop} up to a position. */
        Code nopsTo(int position) {
            bytes.writeBytes(new byte[position - size()]);
            return this;
        }

        /** Covers a range with a handler for every exception. */
        Code handler(int from, int to, int handler) {
            for (int part : new int[] {from, to, handler, 0}) {
                handlers.write(part >> 8);
                handlers.write(part);
            }
            return this;
        }

        /** Adds a frame: the locals are the arguments, and the stack is empty. */
        Code frame() {
            int delta = frameCount == 0 ? size() : size() - lastFrame - 1;
            frames.write(251);
            frames.write(delta >> 8);
            frames.write(delta);
            frameCount++;
            lastFrame = size();
            return this;
        }
    }
}
