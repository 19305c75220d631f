import java.io.IOException;
import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassHierarchyResolver;
import java.lang.classfile.ClassHierarchyResolver.ClassHierarchyInfo;
import java.lang.constant.ClassDesc;
import java.lang.reflect.AccessFlag;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * Verifies every class file below a directory with the verifier of the Java library, which needs JDK 24
 * or later and also checks classes that the JVM does not verify, such as {@code java.lang.Object}. Jars that
 * the classes need follow the directory. Prints the errors: file and message. The last line is
 * {@code verified} and the number of class files.
 */
final class Verify {
    private Verify() {}

    public static void main(String[] arguments) throws IOException {
        List<Path> files;
        try (Stream<Path> found = Files.walk(Path.of(arguments[0]))) {
            files = found.filter(file -> file.toString().endsWith(".class")).sorted().toList();
        }
        Map<ClassDesc, ClassHierarchyInfo> known = new HashMap<>();
        for (Path file : files) {
            remember(file, known);
        }
        List<URL> jars = new ArrayList<>();
        for (int i = 1; i < arguments.length; i++) {
            jars.add(Path.of(arguments[i]).toUri().toURL());
        }
        ClassLoader loader = new URLClassLoader(jars.toArray(URL[]::new));
        ClassHierarchyResolver resolver = known::get;
        resolver = resolver.orElse(ClassHierarchyResolver.ofResourceParsing(loader));
        ClassFile context = ClassFile.of(ClassFile.ClassHierarchyResolverOption.of(resolver));
        for (Path file : files) {
            for (String error : verify(context, file)) {
                System.out.println(file + " " + error);
            }
        }
        System.out.println("verified " + files.size());
    }

    private static void remember(Path file, Map<ClassDesc, ClassHierarchyInfo> known) {
        try {
            var model = ClassFile.of().parse(file);
            boolean isInterface = model.flags().has(AccessFlag.INTERFACE);
            var superclass = model.superclass().map(entry -> entry.asSymbol()).orElse(null);
            known.put(
                    model.thisClass().asSymbol(),
                    isInterface
                            ? ClassHierarchyInfo.ofInterface()
                            : ClassHierarchyInfo.ofClass(superclass));
        } catch (IllegalArgumentException | IOException unreadable) {
            // Verifying it says so.
        }
    }

    private static List<String> verify(ClassFile context, Path file) throws IOException {
        List<String> errors = new ArrayList<>();
        try {
            for (VerifyError error : context.verify(Files.readAllBytes(file))) {
                errors.add(error.getMessage().lines().findFirst().orElse(""));
            }
        } catch (IllegalArgumentException unreadable) {
            errors.add("unreadable: " + unreadable.getMessage());
        }
        return errors;
    }
}
