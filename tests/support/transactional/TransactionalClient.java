// The Java client under the contract of `contract.py`: one step per line of JSON (see `json_lines.py`).
// Started from source: `java -cp <jars> TransactionalClient.java <bootstrap servers>`.

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.NullNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

public class TransactionalClient {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final long TIMEOUT_SECONDS = 30;

    private final String bootstrapServers;
    private final Map<String, KafkaProducer<String, String>> producers = new HashMap<>();

    private TransactionalClient(String bootstrapServers) {
        this.bootstrapServers = bootstrapServers;
    }

    public static void main(String[] arguments) throws IOException {
        // Standard output carries the answers only.
        PrintStream answers = System.out;
        System.setOut(System.err);
        TransactionalClient client = new TransactionalClient(arguments[0]);
        BufferedReader requests = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        String line;
        while ((line = requests.readLine()) != null) {
            JsonNode request = JSON.readTree(line);
            ObjectNode answer = JSON.createObjectNode();
            try {
                answer.set("result", client.run(request.get("operation").asText(), request.get("arguments")));
            } catch (Exception error) {
                error.printStackTrace();
                answer.put("error", error + (error.getCause() == null ? "" : " caused by " + error.getCause()));
            }
            answers.println(JSON.writeValueAsString(answer));
            answers.flush();
        }
        // Producers whose transactions are open would wait for brokers that may be gone.
        Runtime.getRuntime().halt(0);
    }

    private JsonNode run(String operation, JsonNode arguments) throws Exception {
        KafkaProducer<String, String> producer =
                arguments.has("producer") ? producers.get(arguments.get("producer").asText()) : null;
        switch (operation) {
            case "init":
                init(arguments);
                break;
            case "begin":
                producer.beginTransaction();
                break;
            case "send":
                send(producer, arguments);
                break;
            case "sendOffsets":
                TopicPartition partition =
                        new TopicPartition(arguments.get("topic").asText(), arguments.get("partition").asInt());
                producer.sendOffsetsToTransaction(
                        Map.of(partition, new OffsetAndMetadata(arguments.get("offset").asLong())),
                        new ConsumerGroupMetadata(arguments.get("group").asText()));
                break;
            case "commit":
                producer.commitTransaction();
                break;
            case "abort":
                producer.abortTransaction();
                break;
            case "close":
                producers.remove(arguments.get("producer").asText()).close(Duration.ofSeconds(2));
                break;
            case "copy":
                copy(producer, arguments);
                break;
            case "read":
                return read(arguments);
            default:
                throw new IllegalArgumentException(operation);
        }
        return NullNode.getInstance();
    }

    private void init(JsonNode arguments) {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", bootstrapServers);
        properties.put("transactional.id", arguments.get("transactionalId").asText());
        properties.put("transaction.timeout.ms", arguments.get("timeoutMs").asText());
        properties.put("max.block.ms", TIMEOUT_SECONDS * 1000);
        KafkaProducer<String, String> producer =
                new KafkaProducer<>(properties, new StringSerializer(), new StringSerializer());
        producers.put(arguments.get("producer").asText(), producer);
        producer.initTransactions();
    }

    private static void send(KafkaProducer<String, String> producer, JsonNode arguments) throws Exception {
        ProducerRecord<String, String> record = new ProducerRecord<>(
                arguments.get("topic").asText(), arguments.get("partition").asInt(), null,
                arguments.get("value").asText());
        try {
            producer.send(record).get(TIMEOUT_SECONDS, TimeUnit.SECONDS);
        } catch (ExecutionException failure) {
            throw (Exception) failure.getCause();
        }
    }

    private void copy(KafkaProducer<String, String> producer, JsonNode arguments) {
        int count = arguments.get("count").asInt();
        int copied = 0;
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(TIMEOUT_SECONDS);
        try (KafkaConsumer<String, String> consumer = consumer(arguments.get("group").asText(), true)) {
            consumer.subscribe(List.of(arguments.get("source").asText()));
            while (copied < count) {
                if (System.nanoTime() > deadline) {
                    throw new IllegalStateException("only " + copied + " of " + count + " records were there");
                }
                ConsumerRecords<String, String> records = consumer.poll(Duration.ofMillis(200));
                if (records.isEmpty()) {
                    continue;
                }
                producer.beginTransaction();
                for (ConsumerRecord<String, String> record : records) {
                    producer.send(new ProducerRecord<>(
                            arguments.get("target").asText(), record.partition(), null, record.value()));
                }
                Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
                for (TopicPartition partition : records.partitions()) {
                    offsets.put(partition, new OffsetAndMetadata(consumer.position(partition)));
                }
                producer.sendOffsetsToTransaction(offsets, consumer.groupMetadata());
                producer.commitTransaction();
                copied += records.count();
            }
        }
    }

    private JsonNode read(JsonNode arguments) {
        int count = arguments.get("count").asInt();
        ArrayNode values = JSON.createArrayNode();
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(TIMEOUT_SECONDS);
        TopicPartition partition =
                new TopicPartition(arguments.get("topic").asText(), arguments.get("partition").asInt());
        try (KafkaConsumer<String, String> consumer = consumer(null, arguments.get("committed").asBoolean())) {
            consumer.assign(List.of(partition));
            consumer.seekToBeginning(List.of(partition));
            while (values.size() < count) {
                if (System.nanoTime() > deadline) {
                    throw new IllegalStateException("only " + values + " were there");
                }
                for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(200))) {
                    if (values.size() < count) {
                        values.add(record.value());
                    }
                }
            }
        }
        return values;
    }

    private KafkaConsumer<String, String> consumer(String group, boolean committed) {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", bootstrapServers);
        if (group != null) {
            properties.put("group.id", group);
        }
        properties.put("auto.offset.reset", "earliest");
        properties.put("enable.auto.commit", "false");
        properties.put("max.poll.records", "10");
        properties.put("isolation.level", committed ? "read_committed" : "read_uncommitted");
        return new KafkaConsumer<>(properties, new StringDeserializer(), new StringDeserializer());
    }
}
