import javax.tools.ToolProvider;

/** Compiles a file into a directory with the javac of this JVM. */
final class Compile {
    public static void main(String[] arguments) {
        int status =
                ToolProvider.getSystemJavaCompiler()
                        .run(null, null, null, "-d", arguments[1], arguments[0]);
        System.out.println(status == 0 ? "ran" : "failed");
    }
}
