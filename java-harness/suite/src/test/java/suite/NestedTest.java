package suite;

import java.util.List;
import oracle.Oracle;
import org.junit.jupiter.api.DynamicContainer;
import org.junit.jupiter.api.DynamicNode;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.function.Executable;

class NestedTest {
    NestedTest() {
        Oracle.enter("suite.NestedTest.<init>()V");
        Oracle.leave();
    }

    @Nested
    class Inner {
        Inner() {
            Oracle.enter("suite.NestedTest$Inner.<init>(Lsuite/NestedTest;)V");
            Oracle.leave();
        }

        @Test
        void inside() {
            Oracle.enter("suite.NestedTest$Inner.inside()V");
            try {
                Work.chain(3);
            } finally {
                Oracle.leave();
            }
        }

        @Nested
        class Innermost {
            Innermost() {
                Oracle.enter("suite.NestedTest$Inner$Innermost.<init>(Lsuite/NestedTest$Inner;)V");
                Oracle.leave();
            }

            @Test
            void deepInside() {
                Oracle.enter("suite.NestedTest$Inner$Innermost.deepInside()V");
                try {
                    Work.chain(5);
                } finally {
                    Oracle.leave();
                }
            }
        }
    }

    /** A dynamic test: a class, because compilers name lambdas differently. */
    private static final class Dynamic implements Executable {
        private final int frames;

        Dynamic(int frames) {
            Oracle.enter("suite.NestedTest$Dynamic.<init>(I)V");
            this.frames = frames;
            Oracle.leave();
        }

        @Override
        public void execute() {
            Oracle.enter("suite.NestedTest$Dynamic.execute()V");
            try {
                Work.chain(frames);
            } finally {
                Oracle.leave();
            }
        }
    }

    @TestFactory
    List<DynamicNode> dynamic() {
        return List.of(
                DynamicTest.dynamicTest("one", new Dynamic(1)),
                DynamicContainer.dynamicContainer(
                        "more",
                        List.of(
                                DynamicTest.dynamicTest("two", new Dynamic(2)),
                                DynamicTest.dynamicTest("one", new Dynamic(7)))));
    }
}
