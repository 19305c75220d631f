package dev.flow;

import java.util.ArrayDeque;
import java.util.Deque;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.TestSource;
import org.junit.platform.engine.support.descriptor.MethodSource;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.TestPlan;

/**
 * Marks where each test of the JUnit Platform begins and ends, on the thread that runs it. The launcher
 * finds this listener if the jar is on the class path.
 */
public final class JUnitListener implements TestExecutionListener {
    private volatile TestPlan plan;

    /** For the launcher. */
    public JUnitListener() {}

    @Override
    public void testPlanExecutionStarted(TestPlan started) {
        plan = started;
    }

    @Override
    public void executionStarted(TestIdentifier test) {
        // What contains tests, such as a feature of Spock with a table of data, ends after they began.
        if (isMarked(test) && !test.isContainer()) {
            Flow.testStarted(name(test), test.getDisplayName());
        }
    }

    @Override
    public void executionSkipped(TestIdentifier test, String reason) {
        if (isMarked(test)) {
            Flow.testEnded(name(test), TestOutcome.SKIPPED, reason);
            return;
        }
        TestPlan all = plan;
        if (all != null) {
            // JUnit reports nothing else about the tests in a skipped container.
            for (TestIdentifier inside : all.getDescendants(test)) {
                if (isMarked(inside)) {
                    Flow.testEnded(name(inside), TestOutcome.SKIPPED, reason);
                }
            }
        }
    }

    @Override
    public void executionFinished(TestIdentifier test, TestExecutionResult result) {
        TestExecutionResult.Status status = result.getStatus();
        boolean isNews = !test.isContainer() || status != TestExecutionResult.Status.SUCCESSFUL;
        if (!isMarked(test) || !isNews) {
            return;
        }
        // No switch: javac would give it a class, which the JVM would load while the first test runs.
        TestOutcome outcome = TestOutcome.FAILED;
        if (status == TestExecutionResult.Status.SUCCESSFUL) {
            outcome = TestOutcome.PASSED;
        } else if (status == TestExecutionResult.Status.ABORTED) {
            outcome = TestOutcome.ABORTED;
        }
        String reason = TestOutcome.reason(result.getThrowable().orElse(null));
        Flow.testEnded(name(test), outcome, reason);
    }

    /** Whether it is a test, and not one that TestNG runs, whose own listener marks it. */
    private static boolean isMarked(TestIdentifier test) {
        return test.isTest() && !test.getUniqueId().startsWith("[engine:testng]");
    }

    /**
     * {@code com.app.OrderTest.total}, with the types of parameters if there are any, and the number of
     * each invocation: {@code com.app.OrderTest.total(int)[2]}. The same in every run, so that runs can be
     * compared; the display name of a test may be anything.
     */
    private String name(TestIdentifier test) {
        TestSource source = test.getSource().orElse(null);
        if (!(source instanceof MethodSource)) {
            return pathOf(test);
        }
        MethodSource method = (MethodSource) source;
        String types = method.getMethodParameterTypes();
        String name = method.getClassName() + "." + method.getMethodName();
        String last = test.getLegacyReportingName();
        if (last.startsWith(method.getMethodName() + "[") && (types == null || types.isEmpty())) {
            // A parameterised test of JUnit 4 has its number there. Those of JUnit 5 have parentheses before it.
            return method.getClassName() + "." + last;
        }
        if (types != null && !types.isEmpty()) {
            StringBuilder shown = new StringBuilder();
            for (String type : types.split(", *")) {
                shown.append(shown.length() == 0 ? "" : ", ").append(typeName(type));
            }
            name += "(" + shown + ")";
        }
        return name + numbers(test.getUniqueId());
    }

    /**
     * The type of a parameter as in Java, without its package, which is enough to tell overloaded methods apart:
     * {@code String[]} of {@code [Ljava.lang.String;}.
     */
    private static String typeName(String type) {
        int dimensions = 0;
        while (type.startsWith("[", dimensions)) {
            dimensions++;
        }
        String element = type.substring(dimensions);
        if (dimensions > 0 && element.length() == 1) {
            int primitive = "ZBCSIJFD".indexOf(element);
            String[] names = {"boolean", "byte", "char", "short", "int", "long", "float", "double"};
            element = primitive < 0 ? element : names[primitive];
        } else if (dimensions > 0 && element.startsWith("L") && element.endsWith(";")) {
            element = element.substring(1, element.length() - 1);
        }
        StringBuilder name = new StringBuilder(element.replaceAll("[\\w.$]*[.$](?=\\w)", ""));
        for (int i = 0; i < dimensions; i++) {
            name.append("[]");
        }
        return name.toString();
    }

    /**
     * The numbers of invocations and dynamic tests in a unique id: {@code [2]}, or {@code [1][3]}. Spock counts its
     * iterations from 0.
     */
    private static String numbers(String uniqueId) {
        StringBuilder numbers = new StringBuilder();
        for (String segment : uniqueId.split("/")) {
            String before = segment.startsWith("[iteration:") ? ":" : ":#";
            int number = segment.indexOf(before);
            if (number >= 0 && segment.endsWith("]")) {
                numbers.append('[').append(segment, number + before.length(), segment.length());
            }
        }
        return numbers.toString();
    }

    /** For engines whose tests are not methods: the names from the outermost container on. */
    private String pathOf(TestIdentifier test) {
        Deque<String> names = new ArrayDeque<>();
        TestPlan all = plan;
        TestIdentifier at = test;
        while (at != null) {
            TestIdentifier parent = all == null ? null : all.getParent(at).orElse(null);
            if (parent != null || names.isEmpty()) {
                // Not the engine itself.
                names.addFirst(at.getLegacyReportingName());
            }
            at = parent;
        }
        return String.join(" > ", names);
    }
}
