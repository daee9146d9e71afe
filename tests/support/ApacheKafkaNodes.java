import java.io.FileInputStream;
import java.io.InputStream;
import java.util.Properties;

import kafka.server.KafkaConfig;
import kafka.server.KafkaRaftServer;
import kafka.tools.StorageTool;

import org.apache.kafka.common.utils.Time;

/** Several nodes of Apache Kafka in one process: formats their directories, then runs them until the process ends. */
public class ApacheKafkaNodes {
    public static void main(String[] arguments) throws Exception {
        String clusterId = arguments[0];
        for (int number = 1; number < arguments.length; number++) {
            String[] format = {"format", "--cluster-id", clusterId, "--config", arguments[number]};
            if (StorageTool.execute(format, System.out) != 0) {
                System.exit(1);
            }
        }
        for (int number = 1; number < arguments.length; number++) {
            Properties properties = new Properties();
            try (InputStream file = new FileInputStream(arguments[number])) {
                properties.load(file);
            }
            KafkaRaftServer node = new KafkaRaftServer(KafkaConfig.fromProps(properties), Time.SYSTEM);
            // A node's start waits for a quorum, which the others are needed for.
            new Thread(node::startup, "node-" + number).start();
        }
    }
}
