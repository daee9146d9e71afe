// A Kafka Streams program: counts the records of each key, with exactly_once_v2, until so many have been counted.
// Started from source: `java -cp <jars> StreamsCopy.java <source> <sink> <records>`; settings are JSON on standard input.

import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.time.Duration;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.state.Stores;

public class StreamsCopy {
    public static void main(String[] arguments) throws Exception {
        Map<String, String> given = new ObjectMapper().readValue(System.in, new TypeReference<>() {});
        Properties settings = new Properties();
        settings.putAll(given);
        settings.put("application.id", "count-" + arguments[1]);
        settings.put("processing.guarantee", "exactly_once_v2");
        settings.put("commit.interval.ms", "100");
        settings.put("auto.offset.reset", "earliest");
        CountDownLatch left = new CountDownLatch(Integer.parseInt(arguments[2]));
        StreamsBuilder builder = new StreamsBuilder();
        builder.stream(arguments[0], Consumed.with(Serdes.String(), Serdes.String()))
            .peek((key, value) -> left.countDown())
            .groupByKey()
            .count(Materialized.<String, Long>as(Stores.inMemoryKeyValueStore("counts"))
                .withKeySerde(Serdes.String()).withValueSerde(Serdes.Long()).withCachingDisabled())
            .toStream()
            .mapValues(String::valueOf)
            .to(arguments[1], Produced.with(Serdes.String(), Serdes.String()));
        AtomicReference<Throwable> failure = new AtomicReference<>();
        try (KafkaStreams streams = new KafkaStreams(builder.build(), settings)) {
            streams.setUncaughtExceptionHandler(error -> {
                failure.set(error);
                while (left.getCount() > 0) {
                    left.countDown();
                }
                return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
            });
            streams.start();
            if (!left.await(120, TimeUnit.SECONDS)) {
                throw new IllegalStateException(left.getCount() + " records have not come");
            }
            // What was counted is committed before it ends.
            streams.close(Duration.ofSeconds(30));
        }
        if (failure.get() != null) {
            throw new IllegalStateException("the stream has ended", failure.get());
        }
    }
}
