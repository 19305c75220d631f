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
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;

/** The first servlet begins a request, a thread of the server continues it, and the second servlet answers. */
final class Servlets {
    private Servlets() {}

    /**
     * Of every three requests, one is dispatched by a task once the servlet has returned, one by a task before that, and one by the servlet
     * itself. Otherwise it would be a matter of luck which thread continues a request.
     */
    static final class First extends HttpServlet {
        @Override
        protected void doGet(HttpServletRequest request, HttpServletResponse response) {
            request(request.startAsync(), request.getParameter("id"));
        }

        private static void request(AsyncContext context, String id) {
            Work.step(id, "requested");
            int way = Integer.parseInt(id) % 3;
            Thread thread = Thread.currentThread();
            CountDownLatch dispatched = new CountDownLatch(1);
            Runnable task = () -> started(context, id, way == 0 ? thread : null, dispatched);
            if (way == 2) {
                task.run();
            } else {
                context.start(task);
            }
            if (way == 1) {
                await(dispatched);
            }
        }

        /** Dispatches, if {@code thread} is given once that thread has left the servlet. */
        private static void started(AsyncContext context, String id, Thread thread, CountDownLatch dispatched) {
            Work.step(id, "started");
            while (thread != null && isBusy(thread)) {
                LockSupport.parkNanos(1_000_000);
            }
            context.dispatch("/second?id=" + id);
            dispatched.countDown();
        }

        private static void await(CountDownLatch latch) {
            try {
                latch.await();
            } catch (InterruptedException unexpected) {
                throw new IllegalStateException(unexpected);
            }
        }

        private static boolean isBusy(Thread thread) {
            for (StackTraceElement frame : thread.getStackTrace()) {
                String name = frame.getClassName();
                if (name.endsWith("ServletChannel") || name.endsWith("CoyoteAdapter") || name.endsWith("Http11Processor")
                        || name.endsWith("HttpTransferEncoding") || name.endsWith("Connectors")) {
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
