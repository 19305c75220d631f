package oracle;

import java.util.ArrayDeque;
import java.util.Deque;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.support.descriptor.MethodSource;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;

/** Reports to the oracle which test a thread runs. */
public final class OracleListener implements TestExecutionListener {
    private final ThreadLocal<Deque<Object[]>> outer = ThreadLocal.withInitial(ArrayDeque::new);

    @Override
    public void executionStarted(TestIdentifier test) {
        if (test.isTest()) {
            outer.get().push(new Object[] {Oracle.begin()});
        }
    }

    @Override
    public void executionFinished(TestIdentifier test, TestExecutionResult result) {
        if (test.isTest()) {
            Oracle.end(name(test), outer.get().pop()[0]);
        }
    }

    /** Returns the class, the method, and all numbers of the unique id. */
    private static String name(TestIdentifier test) {
        MethodSource source = (MethodSource) test.getSource().orElseThrow();
        StringBuilder name = new StringBuilder(source.getClassName()).append('.').append(source.getMethodName());
        for (String segment : test.getUniqueId().split("/")) {
            if (segment.contains(":#")) {
                name.append('[').append(segment.substring(segment.indexOf(":#") + 2));
            }
        }
        return name.toString();
    }
}
