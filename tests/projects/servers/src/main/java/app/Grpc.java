package app;

import io.grpc.CallOptions;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.MethodDescriptor;
import io.grpc.MethodDescriptor.MethodType;
import io.grpc.Server;
import io.grpc.ServerBuilder;
import io.grpc.ServerServiceDefinition;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.ServerCalls;
import io.grpc.stub.StreamObserver;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** A server whose answers come from a pool. */
final class Grpc {
    private static final MethodDescriptor<String, String> GET =
            MethodDescriptor.<String, String>newBuilder(new Text(), new Text())
                    .setType(MethodType.UNARY)
                    .setFullMethodName("shop.Orders/Get")
                    .build();
    private static final ExecutorService POOL = Executors.newFixedThreadPool(3);

    private Grpc() {}

    public static void main(String[] args) throws Exception {
        ServerServiceDefinition service =
                ServerServiceDefinition.builder("shop.Orders")
                        .addMethod(GET, ServerCalls.asyncUnaryCall(Grpc::request))
                        .build();
        Server server = ServerBuilder.forPort(0).addService(service).build().start();
        ManagedChannel channel =
                ManagedChannelBuilder.forAddress("127.0.0.1", server.getPort()).usePlaintext().build();
        for (int id = 0; id < Work.REQUESTS; id++) {
            String answer = ClientCalls.blockingUnaryCall(channel, GET, CallOptions.DEFAULT, "" + id);
            if (!answer.equals("" + id)) {
                throw new AssertionError(id);
            }
        }
        System.exit(0);
    }

    private static void request(String id, StreamObserver<String> answer) {
        Work.step(id, "requested");
        POOL.execute(() -> answered(id, answer));
    }

    private static void answered(String id, StreamObserver<String> answer) {
        Work.step(id, "answered");
        answer.onNext(id);
        answer.onCompleted();
    }

    private static final class Text implements MethodDescriptor.Marshaller<String> {
        @Override
        public InputStream stream(String text) {
            return new ByteArrayInputStream(text.getBytes());
        }

        @Override
        public String parse(InputStream stream) {
            try {
                return new String(stream.readAllBytes());
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }
}
