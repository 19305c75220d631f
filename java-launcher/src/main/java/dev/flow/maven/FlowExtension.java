package dev.flow.maven;

import dev.flow.launcher.Recording;
import java.io.File;
import java.io.IOException;
import java.lang.ProcessBuilder.Redirect;
import java.util.Map;
import java.util.Properties;
import javax.inject.Named;
import javax.inject.Singleton;
import org.apache.maven.eventspy.AbstractEventSpy;
import org.apache.maven.execution.ExecutionEvent;
import org.apache.maven.execution.MavenSession;
import org.apache.maven.execution.MojoExecutionEvent;
import org.apache.maven.execution.MojoExecutionListener;
import org.apache.maven.plugin.MojoExecution;
import org.apache.maven.plugin.MojoExecutionException;
import org.apache.maven.plugin.descriptor.Parameter;
import org.codehaus.plexus.util.xml.Xpp3Dom;

/**
 * An extension of Maven that records the JVMs that a build starts, as {@code flow record -- mvn} does.
 *
 * <p>Before each goal with a parameter {@code environmentVariables}, such as those of Surefire, Failsafe and
 * {@code exec:exec}, it adds variables that load the agent. The first one starts the recording. Properties:
 *
 * <ul>
 * <li>{@code flow}: {@code false} records nothing
 * <li>{@code flow.options}: options of {@code flow record}, separated by blanks
 * </ul>
 */
@Named
@Singleton
public final class FlowExtension extends AbstractEventSpy implements MojoExecutionListener {
    private static final String ENVIRONMENT = "environmentVariables";

    private Recording recording;
    private IOException failure;

    /** Creates the extension, for Maven. */
    public FlowExtension() {}

    @Override
    public void onEvent(Object event) {
        if (event instanceof ExecutionEvent && ((ExecutionEvent) event).getType() == ExecutionEvent.Type.MojoStarted) {
            ExecutionEvent started = (ExecutionEvent) event;
            Map<String, Parameter> parameters = started.getMojoExecution().getMojoDescriptor().getParameterMap();
            if (parameters.containsKey(ENVIRONMENT) && !"false".equals(property(started.getSession(), "flow", ""))) {
                record(started.getSession(), started.getMojoExecution());
            }
        }
    }

    /** Maven only logs what an event spy throws, so the goal fails here. */
    @Override
    public synchronized void beforeMojoExecution(MojoExecutionEvent event) throws MojoExecutionException {
        if (failure != null) {
            throw new MojoExecutionException(failure.getMessage() + "; -Dflow=false builds without flow", failure);
        }
    }

    @Override
    public void afterMojoExecutionSuccess(MojoExecutionEvent event) {}

    @Override
    public void afterExecutionFailure(MojoExecutionEvent event) {}

    @Override
    public synchronized void close() {
        if (recording != null) {
            recording.close();
        }
    }

    private synchronized void record(MavenSession session, MojoExecution goal) {
        try {
            if (recording == null && failure == null) {
                File project = session.getRequest().getMultiModuleProjectDirectory();
                recording = Recording.start(property(session, "flow.options", ""), "mvn", project,
                    new File(System.getProperty("user.dir")), Redirect.INHERIT);
            }
        } catch (IOException error) {
            failure = error;
        }
        if (recording != null) {
            Xpp3Dom environment = child(goal.getConfiguration(), ENVIRONMENT);
            recording.variables(name -> child(environment, name).getValue())
                .forEach((name, value) -> child(environment, name).setValue(value));
        }
    }

    /** Returns an element, which is created if it is missing. */
    private static Xpp3Dom child(Xpp3Dom parent, String name) {
        if (parent.getChild(name) == null) {
            parent.addChild(new Xpp3Dom(name));
        }
        return parent.getChild(name);
    }

    /** Returns a property of the command line, or else of the first project. */
    private static String property(MavenSession session, String name, String otherwise) {
        Properties ofProject = session.getTopLevelProject().getProperties();
        return session.getUserProperties().getProperty(name, ofProject.getProperty(name, otherwise));
    }
}
