import java.time.Duration;
import java.util.Properties;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;

/** Commits transactions one after the other, and prints the milliseconds that each has taken. */
public class SequentialTransactions {
    public static void main(String[] arguments) throws Exception {
        String servers = arguments[0];
        String topic = arguments[1];
        String transactionalId = arguments[2];
        int transactions = Integer.parseInt(arguments[3]);
        int records = Integer.parseInt(arguments[4]);
        Properties properties = new Properties();
        properties.put("bootstrap.servers", servers);
        properties.put("transactional.id", transactionalId);
        properties.put("linger.ms", "0");
        properties.put("key.serializer", "org.apache.kafka.common.serialization.ByteArraySerializer");
        properties.put("value.serializer", "org.apache.kafka.common.serialization.ByteArraySerializer");
        byte[] value = new byte[100];
        KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(properties);
        producer.initTransactions();
        for (int number = 0; number < transactions; number++) {
            long started = System.nanoTime();
            producer.beginTransaction();
            for (int record = 0; record < records; record++) {
                producer.send(new ProducerRecord<>(topic, value));
            }
            producer.commitTransaction();
            System.out.println((System.nanoTime() - started) / 1e6);
        }
        producer.close(Duration.ofSeconds(10));
    }
}
