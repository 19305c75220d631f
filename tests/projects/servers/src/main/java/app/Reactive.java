package app;

import java.time.Duration;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;
import reactor.netty.DisposableServer;
import reactor.netty.http.client.HttpClient;
import reactor.netty.http.server.HttpServer;
import reactor.netty.resources.ConnectionProvider;

/** Streams of Reactor that ask a server, by four connections. */
final class Reactive {
    private Reactive() {}

    public static void main(String[] args) throws Exception {
        DisposableServer server = HttpServer.create().host("127.0.0.1").port(0)
                .handle((request, answer) -> answer.sendString(Mono.just("answer").delayElement(Duration.ofMillis(5))))
                .bindNow();
        ConnectionProvider connections =
                ConnectionProvider.builder("pool").maxConnections(4).pendingAcquireMaxCount(Work.REQUESTS).build();
        HttpClient client = HttpClient.create(connections).host("127.0.0.1").port(server.port());
        Work.make(id -> request(client, id));
    }

    private static void request(HttpClient client, String id) {
        Mono.fromCallable(() -> Work.stepOf(id, "loaded"))
                .subscribeOn(Schedulers.boundedElastic())
                .delayElement(Duration.ofMillis(5))
                .map(same -> Work.stepOf(id, "asked"))
                .flatMap(same -> client.get().uri("/").responseContent().aggregate().asString())
                .publishOn(Schedulers.parallel())
                .subscribe(answer -> Work.lastStep(id, answer));
    }
}
