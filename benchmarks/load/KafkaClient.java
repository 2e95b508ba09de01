import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.Future;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Kafka's own producer or consumer under load. `benchmarks/clients.py` says what its words and lines mean.
 * Compiled at start by Janino, which knows no lambdas and infers no type arguments.
 */
public class KafkaClient {
    private static final int VALUE_BYTES = 1000;
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private final String topic;
    private final List values = new ArrayList();
    private KafkaProducer producer;
    private KafkaConsumer consumer;

    public static void main(String[] words) throws Exception {
        new KafkaClient(words[0], words[1], words[2], words[3], words[4]).serve(Integer.parseInt(words[5]));
    }

    private KafkaClient(String role, String bootstrap, String topic, String codec, String path) throws Exception {
        this.topic = topic;
        byte[] whole = Files.readAllBytes(Paths.get(path));
        for (int at = 0; at < whole.length; at += VALUE_BYTES)
            values.add(Arrays.copyOfRange(whole, at, at + VALUE_BYTES));
        Properties properties = new Properties();
        properties.setProperty("bootstrap.servers", bootstrap);
        if (role.equals("send")) {
            properties.setProperty("compression.type", codec);
            producer = new KafkaProducer(properties, new ByteArraySerializer(), new ByteArraySerializer());
        } else {
            consumer = new KafkaConsumer(properties, new ByteArrayDeserializer(), new ByteArrayDeserializer());
        }
    }

    private void serve(int warmUp) throws Exception {
        for (int count = 0; count < warmUp; count++) run(1);
        System.out.println("ready");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        String line;
        while ((line = in.readLine()) != null) {
            long begun = System.nanoTime();
            run(Integer.parseInt(line));
            System.out.println((System.nanoTime() - begun) / 1e9);
        }
        System.exit(0);
    }

    private void run(int records) throws Exception {
        if (producer != null) send(records);
        else read(records);
    }

    private void send(int records) throws Exception {
        List sent = new ArrayList();
        for (int number = 0; number < records; number++)
            sent.add(producer.send(new ProducerRecord(topic, values.get(number % values.size()))));
        producer.flush();
        for (Iterator each = sent.iterator(); each.hasNext(); ) ((Future) each.next()).get();
    }

    private void read(int records) throws Exception {
        List partitions = new ArrayList();
        for (Iterator each = consumer.partitionsFor(topic).iterator(); each.hasNext(); )
            partitions.add(new TopicPartition(topic, ((PartitionInfo) each.next()).partition()));
        consumer.assign(partitions);
        consumer.seekToBeginning(partitions);
        long until = System.nanoTime() + PATIENCE.toNanos();
        for (int left = records; left > 0; ) {
            left -= consumer.poll(Duration.ofMillis(100)).count();
            if (System.nanoTime() > until) throw new IllegalStateException(left + " records did not arrive");
        }
        consumer.unsubscribe();
    }
}
