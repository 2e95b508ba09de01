import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.protocol.Errors;

/** Prints every error code, its name, and whether a producer that meets it sends again. */
public final class ErrorCodes {
    public static void main(String[] arguments) {
        for (Errors error : Errors.values()) {
            System.out.println(
                error.code() + " " + error.name() + " " + (error.exception() instanceof RetriableException));
        }
    }
}
