package app;
import io.cucumber.java.en.*;
import io.cucumber.java.Before;
public class Steps {
    @Before public void before() { Work.steps(1); }
    @Given("work {int}") public void work(int n) { Work.steps(n); }
    @Given("slow {int}") public void slow(int n) throws Exception { Work.slow(n); }
    @Then("fail") public void fail() { throw new AssertionError("no"); }
    @Then("pending") public void pending() { throw new io.cucumber.java.PendingException(); }
}
