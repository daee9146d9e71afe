// Writes tests/client/murmur2_vectors.csv: hashes and partitions of 10,000 keys, as Kafka's Java client computes them.
//
//   java -cp "$KAFKA_JARS/*" tools/Murmur2Vectors.java > tests/client/murmur2_vectors.csv
//
// Line i (from 0) is about the first i mod 65 bytes of SHA-512 of the decimal text of i: the hash in hexadecimal, and
// the partition of this key in a topic of 1 + i mod 97 partitions. The test makes the same keys.

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.Arrays;
import org.apache.kafka.clients.producer.internals.BuiltInPartitioner;
import org.apache.kafka.common.utils.Utils;

public class Murmur2Vectors {
    public static void main(String[] arguments) throws Exception {
        MessageDigest digest = MessageDigest.getInstance("SHA-512");
        StringBuilder lines = new StringBuilder();
        for (int i = 0; i < 10_000; i++) {
            byte[] bytes = digest.digest(Integer.toString(i).getBytes(StandardCharsets.US_ASCII));
            byte[] key = Arrays.copyOf(bytes, i % 65);
            int partition = BuiltInPartitioner.partitionForKey(key, 1 + i % 97);
            lines.append(String.format("%08x,%d%n", Utils.murmur2(key), partition));
        }
        System.out.print(lines);
    }
}
