package suite;

import oracle.Oracle;

class SecondTest extends Base {
    SecondTest() {
        super(entered("suite.SecondTest.<init>()V"));
        Oracle.leave();
    }

    @Override
    int frames() {
        Oracle.enter("suite.SecondTest.frames()I");
        try {
            return 4;
        } finally {
            Oracle.leave();
        }
    }
}
