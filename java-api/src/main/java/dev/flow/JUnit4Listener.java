package dev.flow;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.Ignore;
import org.junit.runner.Description;
import org.junit.runner.notification.Failure;

/**
 * Marks where each test of JUnit 4 begins and ends, on the thread that runs it, where neither JUnit's launcher nor TestNG runs
 * it. JUnit 4 finds no listeners by itself: the agent makes its class {@code RunNotifier} call the method of the same
 * name here, first thing.
 */
public final class JUnit4Listener {
    private static final Map<Description, Failure> FAILED = new ConcurrentHashMap<>();
    private static final Map<Description, Failure> ABORTED = new ConcurrentHashMap<>();

    private JUnit4Listener() {}

    /** A test begins. */
    public static void fireTestStarted(Description test) {
        Flow.testStarted(name(test), test.getDisplayName());
    }

    /** A test fails, or what surrounds several. */
    public static void fireTestFailure(Failure failure) {
        note(FAILED, failure);
    }

    /** There is nothing to test. */
    public static void fireTestAssumptionFailed(Failure failure) {
        note(ABORTED, failure);
    }

    /** A test has ended. */
    public static void fireTestFinished(Description test) {
        Failure failed = FAILED.remove(test);
        Failure aborted = ABORTED.remove(test);
        TestOutcome outcome = TestOutcome.PASSED;
        String reason = null;
        if (failed != null) {
            outcome = TestOutcome.FAILED;
            reason = TestOutcome.reason(failed.getException());
        } else if (aborted != null) {
            outcome = TestOutcome.ABORTED;
            reason = TestOutcome.reason(aborted.getException());
        }
        Flow.testEnded(name(test), outcome, reason);
    }

    /** A test is not run, or none of a class. */
    public static void fireTestIgnored(Description test) {
        Ignore why = test.getAnnotation(Ignore.class);
        Flow.testEnded(name(test), TestOutcome.SKIPPED, why == null ? null : why.value());
    }

    private static void note(Map<Description, Failure> failures, Failure failure) {
        Description test = failure.getDescription();
        if (test != null && test.isTest()) {
            failures.putIfAbsent(test, failure);
        }
    }

    /** {@code com.app.OrderTest.total}, followed by the number of each set of parameters. */
    private static String name(Description test) {
        String method = test.getMethodName();
        return method == null ? test.getDisplayName() : test.getClassName() + "." + method;
    }
}
