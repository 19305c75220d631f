package suite;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import oracle.Oracle;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Disabled;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.function.Executable;

class FailingTest {
    FailingTest() {
        Oracle.enter("suite.FailingTest.<init>()V");
        Oracle.leave();
    }

    @Test
    void wrong() {
        Oracle.enter("suite.FailingTest.wrong()V");
        try {
            assertEquals(4, Work.chain(3));
        } finally {
            Oracle.leave();
        }
    }

    @Test
    void throwing() {
        Oracle.enter("suite.FailingTest.throwing()V");
        try {
            Work.fail(5);
        } finally {
            Oracle.leave();
        }
    }

    @Test
    void caught() {
        Oracle.enter("suite.FailingTest.caught()V");
        try {
            assertThrows(IllegalStateException.class, new Executable() {
    {
        // Its constructor.
        Oracle.enter("suite.FailingTest$1.<init>(Lsuite/FailingTest;)V");
        Oracle.leave();
    }

                @Override
                public void execute() {
                    Oracle.enter("suite.FailingTest$1.execute()V");
                    try {
                        Work.fail(3);
                    } finally {
                        Oracle.leave();
                    }
                }
            });
        } finally {
            Oracle.leave();
        }
    }

    @Test
    void aborted() {
        Oracle.enter("suite.FailingTest.aborted()V");
        try {
            Work.chain(2);
            Assumptions.assumeTrue(Work.chain(1) == 0);
        } finally {
            Oracle.leave();
        }
    }

    @Disabled("not now")
    @Test
    void disabled() {
        Oracle.enter("suite.FailingTest.disabled()V");
        try {
            Work.chain(2);
        } finally {
            Oracle.leave();
        }
    }

    @Timeout(30)
    @Test
    void timeout() {
        Oracle.enter("suite.FailingTest.timeout()V");
        try {
            Work.chain(2);
        } finally {
            Oracle.leave();
        }
    }
}
