package real;

import com.github.javaparser.StaticJavaParser;
import com.github.javaparser.ast.CompilationUnit;
import com.github.javaparser.ast.expr.MethodCallExpr;

/** JavaParser: parses a class, finds calls in it, and prints it. */
final class Sources implements Main.Work {
    private final String source;

    Sources() {
        StringBuilder text = new StringBuilder("package a.b;\nimport java.util.*;\nclass C<T extends Comparable<T>> {\n");
        for (int method = 0; method < 120; method++) {
            text.append("  int m").append(method).append("(List<T> list, int n) {\n");
            text.append("    for (T t : list) { if (t.compareTo(list.get(n % 3)) > 0) { n += list.size() * 2 - 1; } }\n");
            text.append("    return Objects.hash(n, list) + (n > 5 ? m0(list, n - 1) : list.hashCode());\n  }\n");
        }
        source = text.append("}\n").toString();
    }

    @Override
    public long run(int round) {
        CompilationUnit unit = StaticJavaParser.parse(source);
        return unit.findAll(MethodCallExpr.class).size() + unit.toString().length();
    }
}
