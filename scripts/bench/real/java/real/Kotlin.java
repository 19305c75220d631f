package real;

import java.nio.file.Files;
import java.nio.file.Path;
import org.jetbrains.kotlin.cli.common.ExitCode;
import org.jetbrains.kotlin.cli.jvm.K2JVMCompiler;

/** The Kotlin compiler: compiles a file. */
final class Kotlin implements Main.Work {
    private final Path dir = Files.createTempDirectory("real-kotlin");
    private final Path source = dir.resolve("Shop.kt");

    Kotlin() throws Exception {
        StringBuilder text = new StringBuilder("data class Order(val id: Int, val total: Double, val tags: List<String>)\n");
        for (int number = 0; number < 60; number++) {
            text.append("fun f").append(number).append("(orders: List<Order>): Map<String, Double> =\n");
            text.append("    orders.filter { it.total > ").append(number).append(" }.flatMap { o -> o.tags.map { it to o.total } }\n");
            text.append("        .groupBy({ it.first }, { it.second }).mapValues { (_, v) -> v.sum() }\n");
        }
        Files.writeString(source, text);
    }

    @Override
    public long run(int round) {
        String out = dir.resolve("out" + round).toString();
        String path = System.getProperty("java.class.path");
        ExitCode code = new K2JVMCompiler().exec(System.err, source.toString(), "-d", out, "-no-stdlib",
                "-no-reflect", "-classpath", path, "-nowarn");
        if (code != ExitCode.OK) {
            throw new IllegalStateException(code.toString());
        }
        return code.getCode();
    }
}
