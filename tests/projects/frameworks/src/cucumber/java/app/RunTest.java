package app;
import org.junit.platform.suite.api.*;
@Suite @IncludeEngines("cucumber") @SelectPackages("app")
@ConfigurationParameter(key = "cucumber.glue", value = "app")
@ConfigurationParameter(key = "cucumber.execution.parallel.enabled", value = "true")
public class RunTest { }
