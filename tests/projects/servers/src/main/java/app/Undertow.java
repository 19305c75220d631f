package app;

import io.undertow.servlet.Servlets;
import io.undertow.servlet.api.DeploymentInfo;
import io.undertow.servlet.api.DeploymentManager;
import java.net.InetSocketAddress;

final class Undertow {
    private Undertow() {}

    public static void main(String[] args) throws Exception {
        DeploymentInfo info = Servlets.deployment().setContextPath("/").setDeploymentName("app").setClassLoader(Undertow.class.getClassLoader())
            .addServlet(Servlets.servlet("first", app.Servlets.First.class).addMapping("/first").setAsyncSupported(true))
            .addServlet(Servlets.servlet("second", app.Servlets.Second.class).addMapping("/second").setAsyncSupported(true));
        DeploymentManager manager = Servlets.defaultContainer().addDeployment(info);
        manager.deploy();
        // Half of the requests keep their thread until another thread has dispatched.
        io.undertow.Undertow server = io.undertow.Undertow.builder().addHttpListener(0, "127.0.0.1").setWorkerThreads(Work.REQUESTS)
            .setHandler(manager.start()).build();
        server.start();
        app.Servlets.load(((InetSocketAddress) server.getListenerInfo().get(0).getAddress()).getPort());
    }
}
