package suite;

import oracle.Oracle;
import org.junit.jupiter.api.Test;

abstract class Base {
    Base(int ignored) {
        Oracle.enter("suite.Base.<init>(I)V");
        Oracle.leave();
    }

    /** Logs the entry of a subclass's constructor, which comes before this one's. */
    static int entered(String constructor) {
        Oracle.enter(constructor);
        Oracle.enter("suite.Base.entered(Ljava/lang/String;)I");
        Oracle.leave();
        return 0;
    }

    abstract int frames();

    @Test
    void inherited() {
        Oracle.enter("suite.Base.inherited()V");
        try {
            Work.chain(frames());
        } finally {
            Oracle.leave();
        }
    }
}
