import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Base64;
import java.util.Properties;
import org.apache.kafka.clients.producer.Callback;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Kafka's own producer. It reads a command per line and writes a line for each result that an application sees.
 * java_producer.py drives it. Janino compiles it at each start, so that it needs no Java compiler. Janino
 * supports no lambdas and infers no type arguments, hence the old-fashioned style.
 *
 * Input lines, with fields separated by tabs, bytes in base64, "-" for null:
 *   option NAME VALUE                  a property of the producer; the value is in base64
 *   start                              makes the producer, and begins to serve its transactions if it has any
 *   send TOPIC PARTITION TIMESTAMP KEY VALUE [NAME VALUE]...      the pairs are headers
 *   flush | begin | commit | abort     as in KafkaProducer; close ends the program
 * Output lines:
 *   ack NUMBER PARTITION OFFSET TIMESTAMP      NUMBER counts the sends from 0
 *   error NUMBER EXCEPTION MESSAGE             the message is in base64
 *   done COMMAND | failed COMMAND EXCEPTION MESSAGE               for every line that is not option or send
 * If its input ends without close, the caller is gone, and the program ends. It reads no input during a flush,
 * which takes two minutes if the brokers are gone too. The guard (guard.py) kills it in that case.
 */
public class RecordSender {
    private static final String NULL = "-";

    private final BufferedWriter out =
            new BufferedWriter(new OutputStreamWriter(System.out, StandardCharsets.UTF_8), 1 << 16);
    private final Properties properties = new Properties();
    private KafkaProducer producer;
    private long sends = 0;

    public static void main(String[] args) throws Exception {
        new RecordSender().serve(
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8), 1 << 16));
    }

    private void serve(BufferedReader in) throws IOException {
        String line;
        while ((line = in.readLine()) != null) {
            String[] fields = line.split("\t", -1);
            if (fields[0].equals("option")) {
                properties.setProperty(fields[1], new String(bytes(fields[2]), StandardCharsets.UTF_8));
            } else if (fields[0].equals("send")) {
                send(sends++, fields);
            } else {
                obey(fields[0]);
            }
        }
        Runtime.getRuntime().halt(1);
    }

    private void obey(String command) throws IOException {
        try {
            if (command.equals("start")) {
                start();
            } else if (command.equals("flush")) {
                producer.flush();
            } else if (command.equals("begin")) {
                producer.beginTransaction();
            } else if (command.equals("commit")) {
                producer.commitTransaction();
            } else if (command.equals("abort")) {
                producer.abortTransaction();
            } else if (command.equals("close")) {
                producer.close(Duration.ofSeconds(30));
            } else {
                throw new IllegalArgumentException("no such command");
            }
            tell("done\t" + command, true);
        } catch (Exception exception) {
            tell("failed\t" + command + "\t" + described(exception), true);
        }
        if (command.equals("close")) {
            Runtime.getRuntime().halt(0);
        }
    }

    private void start() {
        producer = new KafkaProducer(properties, new ByteArraySerializer(), new ByteArraySerializer());
        if (properties.containsKey("transactional.id")) {
            producer.initTransactions();
        }
    }

    private void send(final long number, String[] fields) throws IOException {
        try {
            Integer partition = fields[2].equals(NULL) ? null : Integer.valueOf(fields[2]);
            Long timestamp = fields[3].equals(NULL) ? null : Long.valueOf(fields[3]);
            ProducerRecord record =
                    new ProducerRecord(fields[1], partition, timestamp, bytes(fields[4]), bytes(fields[5]));
            for (int i = 6; i + 1 < fields.length; i += 2) {
                record.headers().add(fields[i], bytes(fields[i + 1]));
            }
            producer.send(record, new Callback() {
                public void onCompletion(RecordMetadata metadata, Exception exception) {
                    complete(number, metadata, exception);
                }
            });
        } catch (Exception exception) {
            // Rejected at once (a negative timestamp, a fatal state). Then the callback is not called.
            complete(number, null, exception);
        }
    }

    /** The producer's own thread calls it as well. */
    private void complete(long number, RecordMetadata metadata, Exception exception) {
        try {
            if (exception == null) {
                tell("ack\t" + number + "\t" + metadata.partition() + "\t" + metadata.offset() + "\t"
                        + metadata.timestamp(), false);
            } else {
                tell("error\t" + number + "\t" + described(exception), false);
            }
        } catch (IOException broken) {
            Runtime.getRuntime().halt(1); // nobody reads the output any more
        }
    }

    private synchronized void tell(String line, boolean atOnce) throws IOException {
        out.write(line);
        out.write('\n');
        if (atOnce) {
            out.flush();
        }
    }

    private static String described(Exception exception) {
        String message = exception.getMessage();
        String text = message == null ? NULL
                : Base64.getEncoder().encodeToString(message.getBytes(StandardCharsets.UTF_8));
        return exception.getClass().getSimpleName() + "\t" + text;
    }

    private static byte[] bytes(String field) {
        return field.equals(NULL) ? null : Base64.getDecoder().decode(field);
    }
}
