import java.nio.file.Files;
import java.nio.file.Path;
import jdk.internal.org.objectweb.asm.ClassReader;
import jdk.internal.org.objectweb.asm.ClassVisitor;
import jdk.internal.org.objectweb.asm.ClassWriter;
import jdk.internal.org.objectweb.asm.MethodVisitor;
import jdk.internal.org.objectweb.asm.Opcodes;

/** Raises the stack and the local variables of the probes at the start of methods; {@code FlowProbe} says why. */
public final class Claim {
    /** With words of 8 bytes more than a page of 4 KiB, and 640 bytes to spare. C2 takes time for each. */
    private static final int STACK = 592;

    /** More than the operand stack of any other probe, with what its method has on the stack. */
    private static final int LOCALS = 40;

    /** How much more an interpreted probe with a sequence number takes: two Java calls and a native one. */
    private static final int NUMBERED = 128;

    private Claim() {}

    public static void main(String[] args) throws Exception {
        Path file = Path.of(args[0]);
        ClassReader reader = new ClassReader(Files.readAllBytes(file));
        ClassWriter writer = new ClassWriter(reader, 0);
        reader.accept(new Probes(writer), 0);
        Files.write(file, writer.toByteArray());
    }

    private static final class Probes extends ClassVisitor {
        Probes(ClassVisitor next) {
            super(Opcodes.ASM8, next);
        }

        @Override
        public MethodVisitor visitMethod(int access, String name, String descriptor, String signature, String[] thrown) {
            MethodVisitor method = super.visitMethod(access, name, descriptor, signature, thrown);
            if (name.matches("numbered[1-4]")) {
                return new Larger(method, NUMBERED);
            }
            return name.matches("append[1-4]|timed[1-4]|appendSlowly|firstPlace") ? new Larger(method, 0) : method;
        }
    }

    private static final class Larger extends MethodVisitor {
        private final int more;

        Larger(MethodVisitor next, int more) {
            super(Opcodes.ASM8, next);
            this.more = more;
        }

        @Override
        public void visitMaxs(int stack, int locals) {
            super.visitMaxs(stack + STACK + more, locals + LOCALS + more);
        }
    }
}
