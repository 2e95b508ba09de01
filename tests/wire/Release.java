// Prints what a release of Kafka has besides its messages: `error CODE NAME IS_RETRIABLE` for each error code, and
// `setting NAME` for each setting of a topic. Run with the release's own jars in the class path.

import java.lang.reflect.Field;
import org.apache.kafka.common.config.TopicConfig;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.protocol.Errors;

public final class Release {
    public static void main(String[] arguments) throws Exception {
        for (Errors error : Errors.values()) {
            System.out.println("error " + error.code() + " " + error.name() + " "
                + (error.exception() instanceof RetriableException));
        }
        for (Field field : TopicConfig.class.getFields()) {
            if (field.getName().endsWith("_CONFIG")) {
                System.out.println("setting " + field.get(null));
            }
        }
    }
}
