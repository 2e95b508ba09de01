// Writes the names of certificates' subjects as Java spells them (`X500Principal.getName()`, which Kafka's principals
// are made of). Run by test_x509_names.py.
//
// Input: each name in DER, in base64, one a line. Output: the spelling of each in base64, or "-" if Java rejects it.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import javax.security.auth.x500.X500Principal;

public class Names {
    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        StringBuilder out = new StringBuilder();
        for (String line; (line = in.readLine()) != null; ) {
            out.append(spelled(Base64.getDecoder().decode(line))).append('\n');
        }
        System.out.print(out);
    }

    static String spelled(byte[] name) {
        try {
            byte[] text = new X500Principal(name).getName().getBytes(StandardCharsets.UTF_8);
            return Base64.getEncoder().encodeToString(text);
        } catch (IllegalArgumentException rejected) {
            return "-";
        }
    }
}
