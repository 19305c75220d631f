package dev.flow;

import org.testng.ITestContext;
import org.testng.ITestListener;
import org.testng.ITestResult;

/**
 * Marks where each test of TestNG begins and ends, on the thread that runs it. TestNG finds this listener
 * if the jar is on the class path.
 */
public final class TestNGListener implements ITestListener {
    private static final String NAME = "dev.flow.name";

    /** For TestNG. */
    public TestNGListener() {}

    @Override
    public void onTestStart(ITestResult test) {
        if (isRun()) {
            Flow.testStarted(name(test), null);
        }
    }

    @Override
    public void onTestSuccess(ITestResult test) {
        end(test, TestOutcome.PASSED);
    }

    @Override
    public void onTestFailure(ITestResult test) {
        end(test, TestOutcome.FAILED);
    }

    @Override
    public void onTestFailedButWithinSuccessPercentage(ITestResult test) {
        onTestFailure(test);
    }

    @Override
    public void onTestSkipped(ITestResult test) {
        // A test that skips itself has been started.
        end(test, TestOutcome.SKIPPED);
    }

    @Override
    public void onStart(ITestContext context) {}

    @Override
    public void onFinish(ITestContext context) {}

    private static void end(ITestResult test, TestOutcome outcome) {
        if (isRun()) {
            Flow.testEnded(name(test), outcome, TestOutcome.reason(test.getThrowable()));
        }
    }

    /** Whether tests are run, not only listed: TestNG's engine for the JUnit Platform does that first. */
    private static boolean isRun() {
        return !Boolean.getBoolean("testng.mode.dryrun");
    }

    /**
     * {@code com.app.OrderTest.total}, followed by the number of each set of parameters. Stored with the
     * test, because TestNG may change the number before the test has ended.
     */
    private static String name(ITestResult test) {
        Object known = test.getAttribute(NAME);
        if (known instanceof String) {
            return (String) known;
        }
        String name = test.getTestClass().getName() + "." + test.getMethod().getMethodName();
        Object[] parameters = test.getParameters();
        if (parameters != null && parameters.length > 0) {
            name += "[" + (index(test) + 1) + "]";
        }
        test.setAttribute(NAME, name);
        return name;
    }

    /**
     * Which set of parameters it is. The result itself knows, but its interface has the method only in newer versions. The count of
     * the method is that of all threads.
     */
    private static int index(ITestResult test) {
        try {
            return (Integer) test.getClass().getMethod("getParameterIndex").invoke(test);
        } catch (ReflectiveOperationException older) {
            return test.getMethod().getParameterInvocationCount();
        }
    }
}
