import java.util.Properties;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.KStream;

/**
 * A Streams application that copies one topic into another by way of a topic of its own (`repartition`). Arguments:
 * the two topics, then NAME=VALUE of Kafka Streams. Compiled at start by Janino, which knows no lambdas.
 */
public class StreamsApp {
    public static void main(String[] args) throws Exception {
        Properties properties = new Properties();
        for (int at = 2; at < args.length; at++) {
            int equals = args[at].indexOf('=');
            properties.put(args[at].substring(0, equals), args[at].substring(equals + 1));
        }
        StreamsBuilder builder = new StreamsBuilder();
        KStream in = builder.stream(args[0]);
        in.repartition().to(args[1]);
        KafkaStreams streams = new KafkaStreams(builder.build(), properties);
        streams.start();
        Thread.sleep(Long.MAX_VALUE);
    }
}
