// The Java client under the contract of `contract.py`: one operation per line of JSON (see `json_lines.py`).
// Started from source: `java -cp <jars> InteropClient.java <bootstrap servers>`.

import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.DescribeClusterResult;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.OffsetAndTimestamp;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.utils.Exit;

public class InteropClient {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final long TIMEOUT_SECONDS = 30;

    private final String bootstrapServers;

    private InteropClient(String bootstrapServers) {
        this.bootstrapServers = bootstrapServers;
    }

    public static void main(String[] arguments) throws IOException {
        // Standard output carries the answers only.
        PrintStream answers = System.out;
        System.setOut(System.err);
        InteropClient client = new InteropClient(arguments[0]);
        BufferedReader requests = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        String line;
        while ((line = requests.readLine()) != null) {
            JsonNode request = JSON.readTree(line);
            ObjectNode answer = JSON.createObjectNode();
            try {
                answer.set("result", client.run(request.get("operation").asText(), request.get("arguments")));
            } catch (Exception error) {
                error.printStackTrace();
                answer.put("error", error.toString());
            }
            answers.println(JSON.writeValueAsString(answer));
            answers.flush();
        }
    }

    private JsonNode run(String operation, JsonNode given) throws Exception {
        return switch (operation) {
            case "createTopic" -> createTopic(given);
            case "deleteTopic" -> deleteTopic(given);
            case "partitionCount" -> partitionCount(given);
            case "describeTopic" -> describeTopic(given);
            case "describeCluster" -> describeCluster();
            case "produce" -> produce(given);
            case "read" -> read(given);
            case "offsetForTime" -> offsetForTime(given);
            case "readInGroup" -> readInGroup(given);
            case "committedOffset" -> committedOffset(given);
            case "runTool" -> runTool(given);
            default -> throw new IllegalArgumentException("unknown operation " + operation);
        };
    }

    private JsonNode createTopic(JsonNode given) throws Exception {
        Map<String, String> configs = new HashMap<>();
        given.get("configs").fields().forEachRemaining(entry -> configs.put(entry.getKey(), entry.getValue().asText()));
        NewTopic topic = new NewTopic(topicOf(given), given.get("partitions").asInt(), (short) 1).configs(configs);
        try (Admin admin = admin()) {
            return errorCode(admin.createTopics(List.of(topic)).all());
        }
    }

    private JsonNode deleteTopic(JsonNode given) throws Exception {
        try (Admin admin = admin()) {
            return errorCode(admin.deleteTopics(List.of(topicOf(given))).all());
        }
    }

    private JsonNode partitionCount(JsonNode given) throws Exception {
        String topic = topicOf(given);
        try (Admin admin = admin()) {
            return JSON.valueToTree(wait(admin.describeTopics(List.of(topic)).allTopicNames()).get(topic).partitions().size());
        } catch (ExecutionException error) {
            if (error.getCause() instanceof UnknownTopicOrPartitionException) {
                return JSON.valueToTree(0);
            }
            throw error;
        }
    }

    private JsonNode describeTopic(JsonNode given) throws Exception {
        ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, topicOf(given));
        ObjectNode answer = JSON.createObjectNode();
        try (Admin admin = admin()) {
            for (ConfigEntry entry : wait(admin.describeConfigs(List.of(resource)).all()).get(resource).entries()) {
                answer.put(entry.name(), entry.value());
            }
        }
        return answer;
    }

    private JsonNode describeCluster() throws Exception {
        try (Admin admin = admin()) {
            DescribeClusterResult cluster = admin.describeCluster();
            ArrayNode brokers = JSON.createArrayNode();
            for (Node node : wait(cluster.nodes())) {
                brokers.addObject().put("id", node.id()).put("host", node.host()).put("port", node.port());
            }
            ObjectNode answer = JSON.createObjectNode();
            answer.put("clusterId", wait(cluster.clusterId()));
            answer.put("controllerId", wait(cluster.controller()).id());
            answer.set("brokers", brokers);
            return answer;
        }
    }

    private JsonNode produce(JsonNode given) throws Exception {
        Properties settings = settings();
        settings.put("acks", "all");
        settings.put("linger.ms", "5");
        settings.put("compression.type", given.get("compression").asText());
        settings.put("enable.idempotence", given.get("idempotent").asText());
        ByteArraySerializer serializer = new ByteArraySerializer();
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        ArrayNode offsets = JSON.createArrayNode();
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(settings, serializer, serializer)) {
            for (JsonNode message : given.get("messages")) {
                ProducerRecord<byte[], byte[]> record = new ProducerRecord<>(
                    topicOf(given),
                    message.get("partition").asInt(),
                    message.get("timestamp").asLong(),
                    decode(message.get("key")),
                    decode(message.get("value")));
                for (JsonNode header : message.get("headers")) {
                    record.headers().add(header.get(0).asText(), decode(header.get(1)));
                }
                sent.add(producer.send(record));
            }
            producer.flush();
            for (Future<RecordMetadata> future : sent) {
                offsets.add(future.get(TIMEOUT_SECONDS, TimeUnit.SECONDS).offset());
            }
        }
        return offsets;
    }

    private JsonNode read(JsonNode given) {
        TopicPartition partition = partitionOf(given);
        try (KafkaConsumer<byte[], byte[]> consumer = consumer(null, given.get("count").asInt())) {
            consumer.assign(List.of(partition));
            consumer.seek(partition, given.get("start").asLong());
            return poll(consumer, given.get("count").asInt());
        }
    }

    private JsonNode offsetForTime(JsonNode given) {
        TopicPartition partition = partitionOf(given);
        try (KafkaConsumer<byte[], byte[]> consumer = consumer(null, 1)) {
            OffsetAndTimestamp found =
                consumer.offsetsForTimes(Map.of(partition, given.get("timestamp").asLong())).get(partition);
            return JSON.valueToTree(found == null ? null : found.offset());
        }
    }

    private JsonNode readInGroup(JsonNode given) {
        int count = given.get("count").asInt();
        try (KafkaConsumer<byte[], byte[]> consumer = consumer(given.get("group").asText(), count)) {
            consumer.subscribe(List.of(topicOf(given)));
            ArrayNode messages = poll(consumer, count);
            consumer.commitSync();
            return messages;
        }
    }

    private JsonNode committedOffset(JsonNode given) {
        TopicPartition partition = partitionOf(given);
        try (KafkaConsumer<byte[], byte[]> consumer = consumer(given.get("group").asText(), 1)) {
            OffsetAndMetadata found = consumer.committed(Set.of(partition)).get(partition);
            return JSON.valueToTree(found == null ? null : found.offset());
        }
    }

    // Kafka's command-line tools end the process when they are done; here they only end themselves.
    private static class ToolEnded extends RuntimeException {}

    private JsonNode runTool(JsonNode given) throws Exception {
        List<String> arguments = new ArrayList<>();
        given.get("arguments").forEach(argument -> arguments.add(argument.asText()));
        Method main = Class.forName(given.get("mainClass").asText()).getMethod("main", String[].class);
        ByteArrayOutputStream output = new ByteArrayOutputStream();
        ObjectNode answer = JSON.createObjectNode();
        InputStream standardInput = System.in;
        PrintStream standardOutput = System.out;
        PrintStream standardError = System.err;
        PrintStream captured = new PrintStream(output, true, StandardCharsets.UTF_8);
        System.setIn(new ByteArrayInputStream(given.get("input").asText().getBytes(StandardCharsets.UTF_8)));
        System.setOut(captured);
        System.setErr(captured);
        List<Runnable> atTheEnd = new ArrayList<>();
        Exit.setShutdownHookAdder((name, hook) -> atTheEnd.add(hook));
        Exit.setExitProcedure((code, message) -> {
            // Some tools take our exception for a failure of theirs, print it and exit once more: the first one counts.
            if (!answer.has("code")) {
                answer.put("code", code);
                answer.put("output", output.toString(StandardCharsets.UTF_8));
            }
            throw new ToolEnded();
        });
        try {
            main.invoke(null, (Object) arguments.toArray(new String[0]));
            if (!answer.has("code")) {
                answer.put("code", 0);
                answer.put("output", output.toString(StandardCharsets.UTF_8));
            }
        } catch (InvocationTargetException error) {
            if (!(error.getCause() instanceof ToolEnded)) {
                throw error;
            }
        } finally {
            atTheEnd.forEach(Runnable::run);
            Exit.resetShutdownHookAdder();
            Exit.resetExitProcedure();
            System.setIn(standardInput);
            System.setOut(standardOutput);
            System.setErr(standardError);
        }
        return answer;
    }

    private ArrayNode poll(KafkaConsumer<byte[], byte[]> consumer, int count) {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(TIMEOUT_SECONDS);
        ArrayNode messages = JSON.createArrayNode();
        while (messages.size() < count) {
            if (System.nanoTime() > deadline) {
                throw new IllegalStateException("only " + messages.size() + " of " + count + " messages came");
            }
            for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(500))) {
                ObjectNode message = messages.addObject();
                message.put("key", encode(record.key()));
                message.put("value", encode(record.value()));
                message.put("timestamp", record.timestamp());
                message.put("partition", record.partition());
                message.put("offset", record.offset());
                ArrayNode headers = message.putArray("headers");
                for (Header header : record.headers()) {
                    headers.addArray().add(header.key()).add(encode(header.value()));
                }
            }
        }
        return messages;
    }

    private KafkaConsumer<byte[], byte[]> consumer(String group, int maximumOfOnePoll) {
        Properties settings = settings();
        settings.put("auto.offset.reset", "earliest");
        settings.put("enable.auto.commit", "false");
        settings.put("max.poll.records", Integer.toString(maximumOfOnePoll));
        if (group != null) {
            settings.put("group.id", group);
        }
        ByteArrayDeserializer deserializer = new ByteArrayDeserializer();
        return new KafkaConsumer<>(settings, deserializer, deserializer);
    }

    private Admin admin() {
        return Admin.create(settings());
    }

    private Properties settings() {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrapServers);
        settings.putAll(security());
        return settings;
    }

    /** Set by json_lines.py. */
    private static Map<String, String> security() {
        try {
            return JSON.readValue(
                System.getenv().getOrDefault("TIDELOG_TEST_SECURITY", "{}"), new TypeReference<>() {});
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    private static String topicOf(JsonNode given) {
        return given.get("topic").asText();
    }

    private static TopicPartition partitionOf(JsonNode given) {
        return new TopicPartition(topicOf(given), given.get("partition").asInt());
    }

    private static <T> T wait(KafkaFuture<T> future) throws Exception {
        return future.get(TIMEOUT_SECONDS, TimeUnit.SECONDS);
    }

    private static JsonNode errorCode(KafkaFuture<Void> future) throws Exception {
        try {
            wait(future);
            return JSON.valueToTree(0);
        } catch (ExecutionException error) {
            return JSON.valueToTree(Errors.forException(error.getCause()).code());
        }
    }

    private static byte[] decode(JsonNode text) {
        return text == null || text.isNull() ? null : Base64.getDecoder().decode(text.asText());
    }

    private static String encode(byte[] data) {
        return data == null ? null : Base64.getEncoder().encodeToString(data);
    }
}
