package harness;

import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.function.IntSupplier;

/**
 * A class with a map of its lines, as Kotlin's compiler writes it for code that it copies. The letters at the ends of lines
 * are their names in tests.
 */
public final class Inlined {
    private Inlined() {}

    public static void main(String[] args) throws Exception {
        Class<?> type = new Loader().loadClass("harness.Inlined$Caller");
        IntSupplier caller = (IntSupplier) type.getDeclaredConstructor().newInstance();
        System.out.println(caller.getAsInt() + caller.getAsInt());
    }

    private static int line() {
        return new Throwable().getStackTrace()[0].getLineNumber(); // @g
    }

    /** What the map is for. */
    public static final class Caller implements IntSupplier {
        static final String ATTRIBUTE = "SourceDebugExtension";

        @Override
        public int getAsInt() {
            int sum = 1; // @a
            sum += ATTRIBUTE.length(); // @b: line 7 of harness/Other.kt
            sum *= 2; // @c: line 8 of it
            sum -= work(); // @d: line 300 of lib/Far.kt
            return sum; // @e
        }

        private static int work() {
            return new Throwable().getStackTrace()[1].getLineNumber() > 0 ? 4 : 0; // @f
        }
    }

    private static final class Loader extends ClassLoader {
        Loader() {
            super(Inlined.class.getClassLoader());
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (!name.equals("harness.Inlined$Caller")) {
                return super.loadClass(name, resolve);
            }
            try (InputStream in = Inlined.class.getResourceAsStream("Inlined$Caller.class")) {
                byte[] bytes = withMap(in.readAllBytes(), map());
                return defineClass(name, bytes, 0, bytes.length);
            } catch (IOException e) {
                throw new ClassNotFoundException(name, e);
            }
        }
    }

    private static String map() {
        // The lines of the class follow that one.
        int a = line() + 9;
        return String.join(
                "\n",
                "SMAP",
                "Inlined.java",
                "Kotlin",
                "*S Kotlin",
                "*F",
                "+ 1 Inlined.java",
                "harness/Inlined$Caller",
                "+ 2 Other.kt",
                "harness/OtherKt",
                "+ 3 Far.kt",
                "lib/deep/FarKt",
                "*L",
                "1#1," + a + ":1",
                "7#2,2:" + (a + 1),
                "300#3:" + (a + 3),
                "*S KotlinDebug",
                "*F",
                "+ 1 Inlined.java",
                "harness/Inlined$Caller",
                "*L",
                a + "#1:" + (a + 1) + ",3",
                "*E",
                "");
    }

    /** Adds an attribute to a class whose constants have its name. */
    private static byte[] withMap(byte[] type, String map) throws IOException {
        DataInputStream in = new DataInputStream(new java.io.ByteArrayInputStream(type));
        in.skipBytes(8);
        int count = in.readUnsignedShort();
        int name = 0;
        for (int index = 1; index < count; index++) {
            int tag = in.readUnsignedByte();
            switch (tag) {
                case 1:
                    name = in.readUTF().equals(Caller.ATTRIBUTE) ? index : name;
                    break;
                case 5:
                case 6:
                    in.skipBytes(8);
                    index++;
                    break;
                case 7:
                case 8:
                case 16:
                    in.skipBytes(2);
                    break;
                case 15:
                    in.skipBytes(3);
                    break;
                default:
                    in.skipBytes(4);
            }
        }
        in.skipBytes(6);
        in.skipBytes(2 * in.readUnsignedShort());
        for (int members = 0; members < 2; members++) {
            for (int left = in.readUnsignedShort(); left > 0; left--) {
                in.skipBytes(6);
                skipAttributes(in, in.readUnsignedShort());
            }
        }
        int at = type.length - in.available();
        int attributes = in.readUnsignedShort();
        byte[] text = map.getBytes(StandardCharsets.UTF_8);
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(bytes);
        out.write(type, 0, at);
        out.writeShort(attributes + 1);
        out.write(type, at + 2, type.length - at - 2);
        out.writeShort(name);
        out.writeInt(text.length);
        out.write(text);
        return bytes.toByteArray();
    }

    private static void skipAttributes(DataInputStream in, int count) throws IOException {
        for (int left = count; left > 0; left--) {
            in.skipBytes(2);
            in.skipBytes(in.readInt());
        }
    }
}
