package suite;

import static org.junit.jupiter.api.Assertions.assertEquals;

import oracle.Oracle;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.RepetitionInfo;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class NumberedTest {
    NumberedTest() {
        Oracle.enter("suite.NumberedTest.<init>()V");
        Oracle.leave();
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4, 5, 60})
    void ints(int frames) {
        Oracle.enter("suite.NumberedTest.ints(I)V");
        try {
            assertEquals(frames, Work.chain(frames));
        } finally {
            Oracle.leave();
        }
    }

    @ParameterizedTest(name = "{0}\t\n/odd/")
    @ValueSource(strings = {"2", " 2", "3"})
    void texts(String text) {
        Oracle.enter("suite.NumberedTest.texts(Ljava/lang/String;)V");
        try {
            assertEquals(Integer.parseInt(text.trim()), Work.chain(2));
        } finally {
            Oracle.leave();
        }
    }

    @RepeatedTest(3)
    void again(RepetitionInfo info) {
        Oracle.enter("suite.NumberedTest.again(Lorg/junit/jupiter/api/RepetitionInfo;)V");
        try {
            Work.chain(info.getCurrentRepetition());
        } finally {
            Oracle.leave();
        }
    }
}
