package harness;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.Arrays;

/** Class files made at run time, by replacing names in the file of a compiled class by others of the same length. */
final class Templates {
    /** The number of digits in the names of {@link Template0000}. */
    private static final int MAX_NUMBER = 9999;

    private Templates() {}

    /** The class file of {@code harness.<simpleName>}, as compiled. */
    static byte[] read(String simpleName) throws IOException {
        String resource = "/harness/" + simpleName + ".class";
        try (InputStream in = Templates.class.getResourceAsStream(resource)) {
            if (in == null) {
                throw new IOException("no resource " + resource);
            }
            return in.readAllBytes();
        }
    }

    /** Replaces every occurrence of {@code from}; both must have the same length in the encoding of class files. */
    static void replace(byte[] classFile, String from, String to) throws IOException {
        byte[] old = modifiedUtf8(from);
        byte[] now = modifiedUtf8(to);
        if (old.length != now.length) {
            throw new IllegalArgumentException(from + " has " + old.length + " bytes, the other " + now.length);
        }
        for (int at = 0; at + old.length <= classFile.length; at++) {
            if (Arrays.equals(classFile, at, at + old.length, old, 0, old.length)) {
                System.arraycopy(now, 0, classFile, at, now.length);
            }
        }
    }

    private static byte[] modifiedUtf8(String text) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        new DataOutputStream(bytes).writeUTF(text);
        // writeUTF puts the length, two bytes, in front.
        return Arrays.copyOfRange(bytes.toByteArray(), 2, bytes.size());
    }

    /** Returns {@link Template0000} under another number: {@code Template0007}, with a method {@code m0007}. */
    static byte[] numbered(byte[] template, int number) throws IOException {
        if (number < 0 || number > MAX_NUMBER) {
            throw new IllegalArgumentException("number " + number + " is not in 0.." + MAX_NUMBER);
        }
        String digits = String.format("%04d", number);
        byte[] classFile = template.clone();
        replace(classFile, "Template0000", "Template" + digits);
        replace(classFile, "m0000", "m" + digits);
        return classFile;
    }

    /** A loader that defines the given class. */
    static final class Loader extends ClassLoader {
        Loader() {
            super(Templates.class.getClassLoader());
        }

        /** Defines the class and creates an object of it with the constructor without parameters. */
        Object instantiate(byte[] classFile) throws ReflectiveOperationException {
            Class<?> type = defineClass(null, classFile, 0, classFile.length);
            return type.getDeclaredConstructor().newInstance();
        }

        /** Defines the class. */
        Class<?> define(byte[] classFile) {
            return defineClass(null, classFile, 0, classFile.length);
        }
    }
}
