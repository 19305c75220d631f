package suite;

import oracle.Oracle;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

@Execution(ExecutionMode.CONCURRENT)
class ParallelTest {
    ParallelTest() {
        Oracle.enter("suite.ParallelTest.<init>()V");
        Oracle.leave();
    }

    @Test
    void p0() {
        Oracle.enter("suite.ParallelTest.p0()V");
        try {
            for (int i = 0; i < 20; i++) {
                Work.chain(1);
                Thread.yield();
            }
        } finally {
            Oracle.leave();
        }
    }

    @Test
    void p1() {
        Oracle.enter("suite.ParallelTest.p1()V");
        try {
            for (int i = 0; i < 21; i++) {
                Work.chain(2);
                Thread.yield();
            }
        } finally {
            Oracle.leave();
        }
    }

    @Test
    void p2() {
        Oracle.enter("suite.ParallelTest.p2()V");
        try {
            for (int i = 0; i < 22; i++) {
                Work.chain(3);
                Thread.yield();
            }
        } finally {
            Oracle.leave();
        }
    }

    @Test
    void p3() {
        Oracle.enter("suite.ParallelTest.p3()V");
        try {
            for (int i = 0; i < 23; i++) {
                Work.chain(4);
                Thread.yield();
            }
        } finally {
            Oracle.leave();
        }
    }

    @Test
    void p4() {
        Oracle.enter("suite.ParallelTest.p4()V");
        try {
            for (int i = 0; i < 24; i++) {
                Work.chain(5);
                Thread.yield();
            }
        } finally {
            Oracle.leave();
        }
    }

    @Test
    void p5() {
        Oracle.enter("suite.ParallelTest.p5()V");
        try {
            for (int i = 0; i < 25; i++) {
                Work.chain(6);
                Thread.yield();
            }
        } finally {
            Oracle.leave();
        }
    }

    @Test
    void p6() {
        Oracle.enter("suite.ParallelTest.p6()V");
        try {
            for (int i = 0; i < 26; i++) {
                Work.chain(7);
                Thread.yield();
            }
        } finally {
            Oracle.leave();
        }
    }

    @Test
    void p7() {
        Oracle.enter("suite.ParallelTest.p7()V");
        try {
            for (int i = 0; i < 27; i++) {
                Work.chain(8);
                Thread.yield();
            }
        } finally {
            Oracle.leave();
        }
    }
}
