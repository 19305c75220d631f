package app;

import static org.junit.Assert.assertTrue;

import org.junit.Test;
import org.junit.runner.RunWith;
import org.junit.runners.Parameterized;
import org.junit.runners.Parameterized.Parameters;

@RunWith(Parameterized.class)
public class ParamTest {
    private final int n;
    public ParamTest(int n) { this.n = n; }
    @Parameters public static Object[] data() { return new Object[] {101, 102, 103}; }
    @Test public void param() throws Exception { Work.slow(n); assertTrue(n != 102); }
}
