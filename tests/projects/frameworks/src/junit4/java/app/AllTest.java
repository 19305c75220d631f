package app;

import static org.junit.Assert.assertTrue;
import static org.junit.Assume.assumeTrue;

import org.junit.*;

public class AllTest {
    static int runs;
    @Before public void before() { Work.steps(1); }
    @Test public void passes() { Work.steps(3); }
    @Test public void fails() { Work.steps(4); assertTrue(false); }
    @Test public void aborts() { Work.steps(2); assumeTrue(false); }
    @Test @Ignore("off") public void off() { Work.steps(99); }
    @Test(expected = IllegalStateException.class) public void expected() { Work.steps(5); throw new IllegalStateException(); }
    @Test(timeout = 60_000) public void limited() { Work.steps(6); }
    @Test public void helper() throws Exception { Work.inThread(9); }
    @Test public void flaky() { Work.steps(20 + runs); assertTrue(runs++ > 0); }
}
