import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeSet;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AdminClient;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.ListOffsetsResult;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Kafka's own clients behind the lines of `protocol.py`: producer, consumer, share consumer, admin.
 * Options are Kafka's own properties, and `share` (yes: read by a share group). Compiled at start by Janino,
 * which knows no lambdas and infers no type arguments, hence the old-fashioned style.
 */
public class JavaClient {
    private static final String SHARE_CONSUMER = "org.apache.kafka.clients.consumer.KafkaShareConsumer";
    private static final Duration A_MOMENT = Duration.ofMillis(200);
    private static final int PARTITIONS = 3;

    private final PrintStream out = System.out;
    private final Properties properties = new Properties();
    private final TreeSet seen = new TreeSet();
    private final Map next = new HashMap();
    private final List underWay = new ArrayList();
    private boolean isShare = false;
    private Admin admin;
    private KafkaProducer producer;
    private KafkaProducer together;
    private KafkaConsumer consumer;
    private Object shareConsumer;

    public static void main(String[] args) throws Exception {
        new JavaClient().serve(new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8)));
    }

    private void serve(BufferedReader in) throws Exception {
        String line;
        while ((line = in.readLine()) != null) {
            String[] words = line.split("\t", -1);
            if (words[0].equals("option")) {
                option(words[1], words[2]);
                continue;
            }
            try {
                String told = obey(words);
                out.println(told.isEmpty() ? "done" : "done\t" + told);
            } catch (Exception exception) {
                Throwable cause = exception.getCause() == null ? exception : exception.getCause();
                out.println("failed\t" + cause.toString().replace('\n', ' ').replace('\t', ' '));
            }
            out.flush();
            if (words[0].equals("close")) {
                break;
            }
        }
        Runtime.getRuntime().halt(0);
    }

    private void option(String name, String value) {
        if (name.equals("share")) {
            isShare = value.equals("yes");
        } else {
            properties.setProperty(name, value);
        }
    }

    private String obey(String[] words) throws Exception {
        String command = words[0];
        if (command.equals("connect")) {
            admin = AdminClient.create(properties);
            producer = new KafkaProducer(with("acks", "all"), new StringSerializer(), new StringSerializer());
            return "";
        } else if (command.equals("create")) {
            NewTopic topic = new NewTopic(words[1], PARTITIONS, Short.parseShort(words[2]));
            admin.createTopics(Collections.singleton(topic)).all().get(60, TimeUnit.SECONDS);
            return "";
        } else if (command.equals("produce")) {
            return produce(producer, words[1], words[2], words[3]);
        } else if (command.equals("batch")) {
            together = together == null ? producer("linger.ms", "60000") : together;
            return String.join("\t", sendTogether(together, words[1], Arrays.asList(words).subList(2, words.length)));
        } else if (command.equals("send")) {
            underWay.add(send(producer, words[1], words[2], words[3], words[4]));
            return "";
        } else if (command.equals("told")) {
            return String.join("\t", toldOf(underWay));
        } else if (command.equals("refuse")) {
            return refuse(words[1], words[2], words[3]);
        } else if (command.equals("join")) {
            join(words[1], words[2]);
            return "";
        } else if (command.equals("poll")) {
            return poll(Integer.parseInt(words[1]));
        } else if (command.equals("offsets")) {
            return offsets(words[1]);
        } else if (command.equals("brokers")) {
            return brokers();
        } else if (command.equals("transact")) {
            return transact(words[1], words[2], words[3], words[4]);
        } else if (command.equals("close")) {
            close();
            return "";
        }
        throw new IllegalArgumentException("no such command: " + command);
    }

    private String produce(KafkaProducer by, String topic, String partition, String value) throws Exception {
        ProducerRecord record = new ProducerRecord(topic, Integer.valueOf(partition), null, value);
        return Long.toString(((RecordMetadata) by.send(record).get(180, TimeUnit.SECONDS)).offset());
    }

    private KafkaProducer producer(String name, String value) {
        return new KafkaProducer(with(name, value), new StringSerializer(), new StringSerializer());
    }

    /** Of each record (value, timestamp), "stored" or the exception that its callback gets. */
    private List sendTogether(KafkaProducer by, String topic, List words) throws Exception {
        List sent = new ArrayList();
        for (int at = 0; at < words.size(); at += 2) {
            sent.add(send(by, topic, "0", (String) words.get(at), (String) words.get(at + 1)));
        }
        by.flush();
        return toldOf(sent);
    }

    private Future send(KafkaProducer by, String topic, String partition, String value, String time) {
        return by.send(new ProducerRecord(topic, Integer.valueOf(partition), Long.valueOf(time), null, value));
    }

    private List toldOf(List sent) throws Exception {
        List told = new ArrayList();
        for (int at = 0; at < sent.size(); at++) {
            try {
                ((Future) sent.get(at)).get();
                told.add("stored");
            } catch (ExecutionException exception) {
                told.add(exception.getCause().toString());
            }
        }
        return told;
    }

    private String refuse(String topic, String id, String time) throws Exception {
        KafkaProducer writer = producer("transactional.id", id);
        String now = Long.toString(System.currentTimeMillis());
        writer.initTransactions();
        List told = new ArrayList();
        for (int transaction = 0; transaction < 3; transaction++) {
            writer.beginTransaction();
            told.addAll(Arrays.asList(new String[] {"begin", "done"}));
            List words = Arrays.asList(new String[] {"good", now, "bad", time});
            List texts = sendTogether(writer, topic, transaction == 0 ? words : words.subList(0, 2));
            for (int at = 0; at < texts.size(); at++) {
                told.add(words.get(2 * at));
                told.add(texts.get(at));
            }
            told.add("commit");
            try {
                writer.commitTransaction();
                told.add("done");
            } catch (KafkaException exception) {
                Throwable cause = exception.getCause();
                told.add(exception.toString() + (cause == null ? "" : ", caused by " + cause));
                writer.abortTransaction();
                told.addAll(Arrays.asList(new String[] {"abort", "done"}));
            }
        }
        writer.close();
        return String.join("\t", told);
    }

    private void join(String group, String topic) throws Exception {
        Properties reading = with("group.id", group);
        Collection topics = Collections.singleton(topic);
        if (isShare) {
            setGroup(group, "share.auto.offset.reset", "earliest");
            // 3.9's jars have no such class, and this program is compiled against them as well.
            shareConsumer = Class.forName(SHARE_CONSUMER)
                    .getConstructor(new Class[] {Properties.class, deserializer(), deserializer()})
                    .newInstance(new Object[] {reading, new StringDeserializer(), new StringDeserializer()});
            call(shareConsumer, "subscribe", Collection.class, topics);
        } else {
            reading.setProperty("auto.offset.reset", "earliest");
            consumer = new KafkaConsumer(reading, new StringDeserializer(), new StringDeserializer());
            consumer.subscribe(topics);
        }
    }

    private void setGroup(String group, String name, String value) throws Exception {
        AlterConfigOp set = new AlterConfigOp(new ConfigEntry(name, value), AlterConfigOp.OpType.SET);
        Map changes = new HashMap();
        ConfigResource.Type groups = ConfigResource.Type.forId((byte) 32); // GROUP, which 3.9 has no name for
        changes.put(new ConfigResource(groups, group), Collections.singleton(set));
        admin.incrementalAlterConfigs(changes).all().get(60, TimeUnit.SECONDS);
    }

    private String poll(int count) throws Exception {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(120);
        while (seen.size() < count && System.nanoTime() < deadline) {
            ConsumerRecords records = (ConsumerRecords) (isShare
                    ? call(shareConsumer, "poll", Duration.class, A_MOMENT)
                    : consumer.poll(A_MOMENT));
            Iterator each = records.iterator();
            while (each.hasNext()) {
                ConsumerRecord record = (ConsumerRecord) each.next();
                seen.add(record.value());
                next.put(new TopicPartition(record.topic(), record.partition()),
                        new OffsetAndMetadata(record.offset() + 1));
            }
        }
        if (!isShare) {
            consumer.commitSync();
        }
        return String.join("\t", seen);
    }

    private String offsets(String topic) throws Exception {
        Map asked = new LinkedHashMap();
        for (int partition = 0; partition < PARTITIONS; partition++) {
            asked.put(new TopicPartition(topic, partition), OffsetSpec.latest());
        }
        ListOffsetsResult answer = admin.listOffsets(asked);
        String[] told = new String[PARTITIONS];
        for (int partition = 0; partition < PARTITIONS; partition++) {
            Object offset = answer.partitionResult(new TopicPartition(topic, partition)).get(60, TimeUnit.SECONDS);
            told[partition] = partition + "=" + ((ListOffsetsResult.ListOffsetsResultInfo) offset).offset();
        }
        return String.join("\t", Arrays.asList(told));
    }

    private String brokers() throws Exception {
        TreeSet told = new TreeSet();
        Collection nodes = (Collection) admin.describeCluster().nodes().get(60, TimeUnit.SECONDS);
        Iterator each = nodes.iterator();
        while (each.hasNext()) {
            Node node = (Node) each.next();
            told.add(node.id() + "=" + node.host() + ":" + node.port());
        }
        return String.join("\t", told);
    }

    /** One transaction is committed, with the consumer's offsets, and one aborted; what a reader then sees. */
    private String transact(String topic, String id, String kept, String dropped) throws Exception {
        Properties writing = with("transactional.id", id);
        KafkaProducer writer = new KafkaProducer(writing, new StringSerializer(), new StringSerializer());
        writer.initTransactions();
        writer.beginTransaction();
        produce(writer, topic, "0", kept);
        if (consumer != null) {
            writer.sendOffsetsToTransaction(next, consumer.groupMetadata());
        }
        writer.commitTransaction();
        writer.beginTransaction();
        produce(writer, topic, "0", dropped);
        writer.abortTransaction();
        writer.close();
        Properties reading = with("isolation.level", "read_committed");
        KafkaConsumer reader = new KafkaConsumer(reading, new StringDeserializer(), new StringDeserializer());
        TopicPartition partition = new TopicPartition(topic, 0);
        reader.assign(Collections.singleton(partition));
        reader.seekToBeginning(Collections.singleton(partition));
        Long end = (Long) reader.endOffsets(Collections.singleton(partition)).get(partition);
        TreeSet told = new TreeSet();
        while (reader.position(partition) < end.longValue()) {
            Iterator each = reader.poll(A_MOMENT).iterator();
            while (each.hasNext()) {
                told.add(((ConsumerRecord) each.next()).value());
            }
        }
        reader.close();
        return String.join("\t", told);
    }

    private void close() throws Exception {
        producer.close(Duration.ofSeconds(30));
        if (consumer != null) {
            consumer.close(Duration.ofSeconds(30));
        }
        if (shareConsumer != null) {
            call(shareConsumer, "close", Duration.class, Duration.ofSeconds(30));
        }
        admin.close(Duration.ofSeconds(30));
    }

    private Properties with(String name, String value) {
        Properties more = new Properties();
        more.putAll(properties);
        more.setProperty(name, value);
        return more;
    }

    private static Class deserializer() throws Exception {
        return Class.forName("org.apache.kafka.common.serialization.Deserializer");
    }

    private static Object call(Object target, String name, Class kind, Object argument) throws Exception {
        Method method = target.getClass().getMethod(name, new Class[] {kind});
        return method.invoke(target, new Object[] {argument});
    }
}
