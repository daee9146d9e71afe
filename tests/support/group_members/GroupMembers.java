// Members of consumer groups, each under a name: one step per line of JSON (see `java.py`).
// Started from source: `java -cp <jars> GroupMembers.java <bootstrap servers>`.

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
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ConsumerGroupDescription;
import org.apache.kafka.clients.admin.MemberDescription;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.SubscriptionPattern;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

public class GroupMembers {
    private static final ObjectMapper JSON = new ObjectMapper();

    private final String bootstrapServers;
    private final Map<String, KafkaConsumer<byte[], byte[]>> members = new HashMap<>();

    private GroupMembers(String bootstrapServers) {
        this.bootstrapServers = bootstrapServers;
    }

    public static void main(String[] arguments) throws IOException {
        // Standard output carries the answers only.
        PrintStream answers = System.out;
        System.setOut(System.err);
        GroupMembers members = new GroupMembers(arguments[0]);
        BufferedReader requests = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        String line;
        while ((line = requests.readLine()) != null) {
            JsonNode request = JSON.readTree(line);
            ObjectNode answer = JSON.createObjectNode();
            try {
                answer.set("result", members.run(request.get("operation").asText(), request.get("arguments")));
            } catch (Exception error) {
                error.printStackTrace();
                answer.put("error", error.toString());
            }
            answers.println(JSON.writeValueAsString(answer));
            answers.flush();
        }
        Runtime.getRuntime().halt(0);
    }

    private JsonNode run(String operation, JsonNode given) throws Exception {
        String name = given.has("member") ? given.get("member").asText() : null;
        switch (operation) {
            case "open":
                members.put(name, open(given));
                return NullNode.getInstance();
            case "poll":
                return poll(members.get(name));
            case "assignment":
                return assignment(members.get(name));
            case "commit":
                members.get(name).commitSync(Duration.ofSeconds(20));
                return NullNode.getInstance();
            case "close":
                members.remove(name).close(Duration.ofSeconds(20));
                return NullNode.getInstance();
            case "copy":
                return copy(members.get(name), given);
            case "describe":
                return describe(given.get("group").asText());
            default:
                throw new IllegalArgumentException(operation);
        }
    }

    private KafkaConsumer<byte[], byte[]> open(JsonNode given) {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", bootstrapServers);
        properties.put("group.protocol", "consumer");
        properties.put("auto.offset.reset", "earliest");
        properties.put("enable.auto.commit", "false");
        given.get("settings").fields().forEachRemaining(each -> properties.put(each.getKey(), each.getValue().asText()));
        ByteArrayDeserializer bytes = new ByteArrayDeserializer();
        KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(properties, bytes, bytes);
        if (given.has("pattern")) {
            consumer.subscribe(new SubscriptionPattern(given.get("pattern").asText()));
        } else {
            consumer.subscribe(List.of(given.get("topic").asText()));
        }
        return consumer;
    }

    private static JsonNode poll(KafkaConsumer<byte[], byte[]> consumer) {
        ArrayNode found = JSON.createArrayNode();
        for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(100))) {
            found.addArray().add(record.partition()).add(new String(record.value(), StandardCharsets.UTF_8));
        }
        return found;
    }

    private JsonNode copy(KafkaConsumer<byte[], byte[]> consumer, JsonNode given) {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", bootstrapServers);
        properties.put("transactional.id", given.get("transactionalId").asText());
        ByteArraySerializer bytes = new ByteArraySerializer();
        int left = given.get("count").asInt();
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(properties, bytes, bytes)) {
            producer.initTransactions();
            long deadline = System.nanoTime() + Duration.ofSeconds(30).toNanos();
            while (left > 0 && System.nanoTime() < deadline) {
                ConsumerRecords<byte[], byte[]> records = consumer.poll(Duration.ofMillis(100));
                if (records.isEmpty()) {
                    continue;
                }
                producer.beginTransaction();
                for (ConsumerRecord<byte[], byte[]> record : records) {
                    producer.send(new ProducerRecord<>(given.get("target").asText(), record.value()));
                }
                producer.sendOffsetsToTransaction(records.nextOffsets(), consumer.groupMetadata());
                producer.commitTransaction();
                left -= records.count();
            }
        }
        return JSON.valueToTree(left);
    }

    private static JsonNode assignment(KafkaConsumer<byte[], byte[]> consumer) {
        ArrayNode found = JSON.createArrayNode();
        for (TopicPartition partition : consumer.assignment()) {
            found.addArray().add(partition.topic()).add(partition.partition());
        }
        return found;
    }

    private JsonNode describe(String group) throws Exception {
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", bootstrapServers))) {
            ConsumerGroupDescription described =
                    admin.describeConsumerGroups(List.of(group)).describedGroups().get(group).get();
            ObjectNode answer = JSON.createObjectNode();
            answer.put("type", described.type().toString());
            answer.put("state", described.groupState().toString());
            answer.put("assignor", described.partitionAssignor());
            ArrayNode all = answer.putArray("members");
            for (MemberDescription member : described.members()) {
                ArrayNode partitions = all.addObject().put("id", member.consumerId()).putArray("partitions");
                for (TopicPartition partition : member.assignment().topicPartitions()) {
                    partitions.addArray().add(partition.topic()).add(partition.partition());
                }
            }
            return answer;
        }
    }
}
