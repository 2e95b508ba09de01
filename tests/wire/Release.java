// Prints what a release of Kafka has besides its messages: `error CODE NAME IS_RETRIABLE` for each error code, and
// `setting NAME DEFAULT` for each setting of a topic. Run with the release's own jars in the class path.

import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.storage.internals.log.LogConfig;

public final class Release {
    public static void main(String[] arguments) {
        for (Errors error : Errors.values()) {
            System.out.println("error " + error.code() + " " + error.name() + " "
                + (error.exception() instanceof RetriableException));
        }
        ConfigDef settings = LogConfig.configDefCopy();
        for (String name : settings.names()) {
            ConfigDef.ConfigKey setting = (ConfigDef.ConfigKey) settings.configKeys().get(name);
            System.out.println("setting " + name + " " + setting.defaultValue);
        }
    }
}
