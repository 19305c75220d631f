package real;

import groovy.lang.GroovyShell;
import org.mozilla.javascript.Context;
import org.mozilla.javascript.Scriptable;

/** Scripts of other languages on the JVM: compiled and run in each round. */
final class Scripts {
    private Scripts() {}

    static final class Groovy implements Main.Work {
        private static final String SCRIPT =
                "def fib(n) { n < 2 ? n : fib(n - 1) + fib(n - 2) }\n"
                        + "def words = (1..200).collect { \"word ${it % 13}\" }\n"
                        + "def counts = words.groupBy { it }.collectEntries { k, v -> [k, v.size()] }\n"
                        + "fib(16) + counts.values().sum() + counts.findAll { it.value > 14 }.size()\n";

        @Override
        public long run(int round) {
            return ((Number) new GroovyShell().evaluate(SCRIPT)).longValue();
        }
    }

    static final class Rhino implements Main.Work {
        private static final String SCRIPT =
                "function Point(x, y) { this.x = x; this.y = y; }\n"
                        + "Point.prototype.add = function (o) { return new Point(this.x + o.x, this.y + o.y); };\n"
                        + "var p = new Point(0, 0), words = {};\n"
                        + "for (var i = 0; i < 20000; i++) { p = p.add(new Point(i, 1)); words['k' + i % 50] = i; }\n"
                        + "var keys = Object.keys(words).map(function (k) { return words[k]; });\n"
                        + "p.x + p.y + keys.length;\n";

        @Override
        public long run(int round) {
            Context context = Context.enter();
            try {
                Scriptable scope = context.initStandardObjects();
                return ((Number) context.evaluateString(scope, SCRIPT, "script", 1, null)).longValue();
            } finally {
                Context.exit();
            }
        }
    }
}
