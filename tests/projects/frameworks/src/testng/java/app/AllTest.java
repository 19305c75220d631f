package app;

import static org.testng.Assert.assertTrue;

import org.testng.*;
import org.testng.annotations.*;

public class AllTest {
    public static class Again implements IRetryAnalyzer {
        private int tries;
        public boolean retry(ITestResult result) { return tries++ < 1; }
    }

    static int runs;
    @Test public void passes() { Work.steps(3); }
    @Test public void fails() { Work.steps(4); assertTrue(false); }
    @Test public void aborts() { Work.steps(2); throw new SkipException("not here"); }
    @Test(enabled = false) public void off() { Work.steps(99); }
    @Test(dependsOnMethods = "fails") public void depends() { Work.steps(98); }
    @Test(invocationCount = 2) public void again() { Work.steps(10); }
    @Test public void helper() throws Exception { Work.inThread(9); }
    @Test(retryAnalyzer = Again.class) public void flaky() { Work.steps(20 + runs); assertTrue(runs++ > 0); }
    @DataProvider public Object[][] few() { return new Object[][] {{1}, {2}}; }
    @Test(dataProvider = "few") public void param(int n) { Work.steps(n); assertTrue(n != 2); }
    @DataProvider(parallel = true) public Object[][] many() { return new Object[][] {{101}, {102}, {103}}; }
    @Test(dataProvider = "many") public void parallel(int n) throws Exception { Work.slow(n); }
}
