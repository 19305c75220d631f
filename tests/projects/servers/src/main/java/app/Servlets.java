package app;

import jakarta.servlet.AsyncContext;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.LockSupport;

/** The first servlet begins a request, a thread of the server continues it, and the second servlet answers. */
final class Servlets {
    private Servlets() {}

    static final class First extends HttpServlet {
        @Override
        protected void doGet(HttpServletRequest request, HttpServletResponse response) {
            request(request.startAsync(), request.getParameter("id"));
        }

        private static void request(AsyncContext context, String id) {
            Work.step(id, "requested");
            Thread thread = Thread.currentThread();
            context.start(() -> started(context, id, thread));
        }

        private static void started(AsyncContext context, String id, Thread thread) {
            Work.step(id, "started");
            // Otherwise the thread that began the request may continue it, without any hand-over.
            while (isBusy(thread)) {
                LockSupport.parkNanos(1_000_000);
            }
            context.dispatch("/second?id=" + id);
        }

        private static boolean isBusy(Thread thread) {
            for (StackTraceElement frame : thread.getStackTrace()) {
                String name = frame.getClassName();
                if (name.endsWith("ServletChannel") || name.endsWith("CoyoteAdapter") || name.endsWith("Http11Processor")) {
                    return true;
                }
            }
            return false;
        }
    }

    static final class Second extends HttpServlet {
        @Override
        protected void doGet(HttpServletRequest request, HttpServletResponse response) throws IOException {
            String id = request.getParameter("id");
            Work.step(id, "dispatched");
            response.getWriter().print(id);
        }
    }

    /** Makes all requests at once. */
    static void load(int port) {
        HttpClient client = HttpClient.newHttpClient();
        List<CompletableFuture<String>> answers = new ArrayList<>();
        for (int id = 0; id < Work.REQUESTS; id++) {
            URI uri = URI.create("http://127.0.0.1:" + port + "/first?id=" + id);
            HttpRequest request = HttpRequest.newBuilder(uri).build();
            answers.add(client.sendAsync(request, BodyHandlers.ofString()).thenApply(answer -> answer.body()));
        }
        for (int id = 0; id < Work.REQUESTS; id++) {
            if (!answers.get(id).join().equals(Integer.toString(id))) {
                throw new AssertionError(id);
            }
        }
        System.exit(0);
    }
}
