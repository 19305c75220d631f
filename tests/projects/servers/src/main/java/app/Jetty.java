package app;

import jakarta.servlet.http.HttpServlet;
import org.eclipse.jetty.ee10.servlet.ServletContextHandler;
import org.eclipse.jetty.ee10.servlet.ServletHolder;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;

final class Jetty {
    private Jetty() {}

    public static void main(String[] args) throws Exception {
        Server server = new Server(0);
        ServletContextHandler handler = new ServletContextHandler();
        handler.setContextPath("/");
        add(handler, "/first", new Servlets.First());
        add(handler, "/second", new Servlets.Second());
        server.setHandler(handler);
        server.start();
        Servlets.load(((ServerConnector) server.getConnectors()[0]).getLocalPort());
    }

    private static void add(ServletContextHandler handler, String path, HttpServlet servlet) {
        ServletHolder holder = new ServletHolder(servlet);
        holder.setAsyncSupported(true);
        handler.addServlet(holder, path);
    }
}
