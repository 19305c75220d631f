package dev.flow.gradle;

import dev.flow.launcher.Recording;
import java.io.File;
import java.io.IOException;
import java.lang.ProcessBuilder.Redirect;
import java.util.Map;
import org.gradle.StartParameter;
import org.gradle.api.Action;
import org.gradle.api.GradleException;
import org.gradle.api.Plugin;
import org.gradle.api.Project;
import org.gradle.api.Task;
import org.gradle.api.provider.Property;
import org.gradle.api.provider.Provider;
import org.gradle.api.services.BuildService;
import org.gradle.api.services.BuildServiceParameters;
import org.gradle.api.tasks.JavaExec;
import org.gradle.api.tasks.testing.Test;
import org.gradle.process.ProcessForkOptions;

/**
 * A plugin of Gradle that records the JVMs of tests and of {@code JavaExec} tasks, as {@code flow
 * record --gradle} does.
 *
 * <p>The first task that runs starts the recording, which ends with the build. Tasks get variables in the environment
 * of their JVM, which Gradle does not compare: a task that is up to date or in a cache stays so, and is not recorded.
 * Properties of the build, such as {@code -Pflow=false}:
 *
 * <ul>
 * <li>{@code flow}: {@code false} records nothing
 * <li>{@code flow.options}: options of {@code flow record}, separated by blanks
 * </ul>
 */
public final class FlowPlugin implements Plugin<Project> {
    /** Creates the plugin, for Gradle. */
    public FlowPlugin() {}

    @Override
    public void apply(Project project) {
        if ("false".equals(project.findProperty("flow"))) {
            return;
        }
        StartParameter started = project.getGradle().getStartParameter();
        Provider<Service> service = project.getGradle().getSharedServices()
            .registerIfAbsent("flow", Service.class, spec -> {
                spec.getParameters().getOptions().set(project.getProviders().gradleProperty("flow.options").orElse(""));
                spec.getParameters().getProject().set(project.getRootDir());
                spec.getParameters().getFrom().set(started.getCurrentDir());
            });
        Action<Task> record = new Record(service);
        Action<Task> each = task -> {
            task.usesService(service);
            task.doFirst(record);
        };
        project.getTasks().withType(Test.class).configureEach(each);
        project.getTasks().withType(JavaExec.class).configureEach(each);
    }

    /** Adds the variables to a task when it begins: until then a build may replace its environment. */
    private static final class Record implements Action<Task> {
        private final Provider<Service> service;

        Record(Provider<Service> service) {
            this.service = service;
        }

        @Override
        public void execute(Task task) {
            ProcessForkOptions jvm = (ProcessForkOptions) task;
            Map<String, Object> ofProject = jvm.getEnvironment();
            jvm.environment(service.get().recording().variables(ofProject::get));
        }
    }

    /** The recording of a build. Gradle closes it when the build has ended. */
    public abstract static class Service implements BuildService<Service.Parameters>, AutoCloseable {
        private Recording recording;

        /** What Gradle passes to the service. */
        public interface Parameters extends BuildServiceParameters {
            /**
             * Returns the options of {@code flow record}.
             *
             * @return words separated by blanks
             */
            Property<String> getOptions();

            /**
             * Returns the directory of the project.
             *
             * @return that of the root project
             */
            Property<File> getProject();

            /**
             * Returns the directory in which the user started the build.
             *
             * @return an absolute path
             */
            Property<File> getFrom();
        }

        /** Starts to record, unless an earlier task has. */
        synchronized Recording recording() {
            if (recording == null) {
                Parameters given = getParameters();
                try {
                    // The daemon's stderr is not the user's, so the messages come at the end, through Gradle.
                    recording = Recording.start(given.getOptions().get(), "gradle", given.getProject().get(),
                        given.getFrom().get(), Redirect.PIPE);
                } catch (IOException error) {
                    throw new GradleException(error.getMessage() + "; -Pflow=false builds without flow", error);
                }
            }
            return recording;
        }

        @Override
        public synchronized void close() {
            if (recording != null) {
                recording.close();
            }
        }
    }
}
