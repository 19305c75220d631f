package app
import io.kotest.core.spec.style.*
import io.kotest.matchers.shouldBe
import kotlinx.coroutines.*
class AllTest : FunSpec({
    test("passes with blanks") { Work.steps(3) }
    test("fails") { Work.steps(4); 1 shouldBe 2 }
    xtest("off") { Work.steps(99) }
    context("inner") { test("deep") { Work.steps(7) } }
    test("waits") { Work.steps(5); delay(5); Work.steps(6) }
    test("elsewhere") { withContext(Dispatchers.IO) { Work.steps(8) } }
})
class StringTest : StringSpec({
    "a string" { Work.steps(9) }
})
class BehaviourTest : BehaviorSpec({
    given("a cart") { `when`("it is paid") { then("it is empty") { Work.steps(10) } } }
})
