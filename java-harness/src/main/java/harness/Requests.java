package harness;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.URL;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.logging.Level;
import java.util.logging.Logger;

/** HTTP requests of the JDK's clients to the JDK's server, and messages of the JDK's loggers. */
public final class Requests {
    private static final Logger LOG = Logger.getLogger("harness");

    private Requests() {}

    public static void main(String[] args) throws Exception {
        LOG.setUseParentHandlers(false);
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/orders", Requests::handle);
        server.start();
        String address = "http://localhost:" + server.getAddress().getPort();
        for (int order = 1; order <= 3; order++) {
            send(address + "/orders/" + order);
        }
        open(address + "/orders/old");
        server.stop(0);
        System.out.println("done");
        System.exit(0);
    }

    private static void handle(HttpExchange exchange) throws IOException {
        LOG.info("order requested");
        LOG.log(Level.WARNING, "no order {0} of {1}", new Object[] {exchange.getRequestURI().getPath(), 17});
        LOG.fine("is not logged");
        exchange.sendResponseHeaders(204, -1);
        exchange.close();
    }

    private static void send(String address) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(URI.create(address)).DELETE().build();
        HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.discarding());
    }

    private static void open(String address) throws IOException {
        HttpURLConnection connection = (HttpURLConnection) new URL(address).openConnection();
        connection.setRequestMethod("PUT");
        if (connection.getResponseCode() != 204) {
            throw new IllegalStateException();
        }
        try (InputStream body = connection.getInputStream()) {
            body.readAllBytes();
        }
    }
}
