package suite;

import static org.junit.Assert.assertEquals;

import oracle.Oracle;
import org.junit.Test;

public class OldTest {
    public OldTest() {
        Oracle.enter("suite.OldTest.<init>()V");
        Oracle.leave();
    }

    @Test
    public void old() {
        Oracle.enter("suite.OldTest.old()V");
        try {
            assertEquals(3, Work.chain(3));
        } finally {
            Oracle.leave();
        }
    }

    @Test
    public void oldFailing() {
        Oracle.enter("suite.OldTest.oldFailing()V");
        try {
            Work.fail(2);
        } finally {
            Oracle.leave();
        }
    }
}
