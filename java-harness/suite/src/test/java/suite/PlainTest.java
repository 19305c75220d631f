package suite;

import static org.junit.jupiter.api.Assertions.assertEquals;

import oracle.Oracle;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class PlainTest {
    PlainTest() {
        Oracle.enter("suite.PlainTest.<init>()V");
        Oracle.leave();
    }

    @BeforeEach
    void prepare() {
        Oracle.enter("suite.PlainTest.prepare()V");
        try {
            Work.chain(2);
        } finally {
            Oracle.leave();
        }
    }

    @Test
    void empty() {
        Oracle.enter("suite.PlainTest.empty()V");
        try {
            
        } finally {
            Oracle.leave();
        }
    }

    @Test
    void chain1() {
        Oracle.enter("suite.PlainTest.chain1()V");
        try {
            assertEquals(1, Work.chain(1));
        } finally {
            Oracle.leave();
        }
    }

    @Test
    void chain2() {
        Oracle.enter("suite.PlainTest.chain2()V");
        try {
            assertEquals(2, Work.chain(2));
        } finally {
            Oracle.leave();
        }
    }

    @Test
    void chain10() {
        Oracle.enter("suite.PlainTest.chain10()V");
        try {
            assertEquals(10, Work.chain(10));
        } finally {
            Oracle.leave();
        }
    }

    @Test
    void chain200() {
        Oracle.enter("suite.PlainTest.chain200()V");
        try {
            assertEquals(200, Work.chain(200));
        } finally {
            Oracle.leave();
        }
    }

    @Test
    void fork0() {
        Oracle.enter("suite.PlainTest.fork0()V");
        try {
            assertEquals(5, new Work(5).fork(0));
        } finally {
            Oracle.leave();
        }
    }

    @Test
    void fork3() {
        Oracle.enter("suite.PlainTest.fork3()V");
        try {
            assertEquals(40, new Work(5).fork(3));
        } finally {
            Oracle.leave();
        }
    }

    @Test
    void fork6() {
        Oracle.enter("suite.PlainTest.fork6()V");
        try {
            assertEquals(320, new Work(5).fork(6));
        } finally {
            Oracle.leave();
        }
    }

    @Test
    void loop() {
        Oracle.enter("suite.PlainTest.loop()V");
        try {
            assertEquals(999, Work.loop(1000));
        } finally {
            Oracle.leave();
        }
    }

    @AfterEach
    void tidy() {
        Oracle.enter("suite.PlainTest.tidy()V");
        try {
            Work.chain(1);
        } finally {
            Oracle.leave();
        }
    }
}
