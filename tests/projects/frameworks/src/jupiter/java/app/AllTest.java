package app;

import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;
import static org.junit.jupiter.api.DynamicContainer.dynamicContainer;
import static org.junit.jupiter.api.DynamicTest.dynamicTest;

import java.util.stream.Stream;
import org.junit.jupiter.api.*;
import org.junit.jupiter.api.parallel.*;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class AllTest {
    @BeforeEach void before() { Work.steps(1); }
    @Test void passes() { Work.steps(3); }
    @Test void fails() { Work.steps(4); assertTrue(false); }
    @Test void aborts() { Work.steps(2); assumeTrue(false); }
    @Test @Disabled void off() { Work.steps(99); }
    @ParameterizedTest @ValueSource(ints = {1, 2, 3}) void param(int n) { Work.steps(n); assertTrue(n != 2); }
    @RepeatedTest(2) void again(RepetitionInfo info) { Work.steps(10 + info.getCurrentRepetition()); }
    @TestFactory Stream<DynamicNode> made() {
        return Stream.of(dynamicTest("a", () -> Work.steps(5)),
            dynamicContainer("c", Stream.of(dynamicTest("b", () -> Work.steps(6)))));
    }
    @Nested class Inner { @Test void deep() { Work.steps(7); } }
}

@Isolated class AloneTest {
    @Test void helper() throws Exception { Work.inThread(9); }
}

@Disabled class OffTest {
    @Test void one() { Work.steps(98); }
}

@Execution(ExecutionMode.CONCURRENT) class ParallelTest {
    @Test void p1() throws Exception { Work.slow(101); }
    @Test void p2() throws Exception { Work.slow(102); }
    @Test void p3() throws Exception { Work.slow(103); assertTrue(false); }
}

class FlakyTest {
    static int runs;
    @Test void flaky() { Work.steps(20 + runs); assertTrue(runs++ > 0); }
}
