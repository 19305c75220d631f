package suite;

import oracle.Oracle;

class FirstTest extends Base {
    FirstTest() {
        super(entered("suite.FirstTest.<init>()V"));
        Oracle.leave();
    }

    @Override
    int frames() {
        Oracle.enter("suite.FirstTest.frames()I");
        try {
            return 2;
        } finally {
            Oracle.leave();
        }
    }
}
