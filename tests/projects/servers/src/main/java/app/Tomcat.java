package app;

import jakarta.servlet.http.HttpServlet;
import org.apache.catalina.Context;
import org.apache.catalina.Wrapper;

final class Tomcat {
    private Tomcat() {}

    public static void main(String[] args) throws Exception {
        org.apache.catalina.startup.Tomcat server = new org.apache.catalina.startup.Tomcat();
        server.setBaseDir(args[0]);
        server.setPort(0);
        server.setSilent(true);
        Context context = server.addContext("", args[0]);
        add(context, "first", new Servlets.First());
        add(context, "second", new Servlets.Second());
        server.getConnector();
        server.start();
        Servlets.load(server.getConnector().getLocalPort());
    }

    private static void add(Context context, String name, HttpServlet servlet) {
        Wrapper wrapper = org.apache.catalina.startup.Tomcat.addServlet(context, name, servlet);
        wrapper.setAsyncSupported(true);
        context.addServletMappingDecoded("/" + name, name);
    }
}
