// Decompresses what stands on standard input as Kafka's own classes do, and writes what they make of it to
// standard output. Run by test_java_decoders.py, with the jars of one version of Kafka in the class path.
//
// Input: a count, then each blob as codec (a byte), size and bytes. Output: in which variant lz4-java runs, then
// for each blob how many different readings there are, and each reading as size and bytes; size -1 for an error.
// Sizes and counts are ints, big-endian.
//
// Each blob is read four times: into buffers that hold zeros before, and others; in small reads, as a broker
// reads records, and in one that is larger than any buffer inside, as it reads large values.

import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import net.jpountz.lz4.LZ4Factory;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.utils.BufferSupplier;

public class Decoders {
    static final int MOST = 1 << 22;

    public static void main(String[] args) throws Exception {
        DataInputStream in = new DataInputStream(new BufferedInputStream(System.in));
        DataOutputStream out = new DataOutputStream(new BufferedOutputStream(System.out));
        out.writeUTF(LZ4Factory.fastestInstance().toString());
        for (int left = in.readInt(); left > 0; left--) {
            byte codec = in.readByte();
            byte[] blob = new byte[in.readInt()];
            in.readFully(blob);
            List<byte[]> readings = new ArrayList<>();
            for (byte filled : new byte[] {0, 0x5a})
                for (int size : new int[] {512, MOST + 1}) {
                    byte[] reading = read(codec, blob, filled, size);
                    if (readings.stream().noneMatch(other -> Arrays.equals(other, reading)))
                        readings.add(reading);
                }
            out.writeInt(readings.size());
            for (byte[] reading : readings) {
                out.writeInt(reading == null ? -1 : reading.length);
                if (reading != null)
                    out.write(reading);
            }
        }
        out.flush();
    }

    static byte[] read(byte codec, byte[] blob, byte filled, int size) {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        try (InputStream in = of(codec).wrapForInput(ByteBuffer.wrap(blob), (byte) 2, new Filled(filled))) {
            byte[] piece = new byte[size];
            int empty = 0;
            for (int got; (got = in.read(piece, 0, size)) >= 0; ) {
                empty = got == 0 ? empty + 1 : 0;
                all.write(piece, 0, got);
                if (all.size() > MOST || empty > 1000)
                    return null;
            }
            return all.toByteArray();
        } catch (Throwable error) {
            return null;
        }
    }

    static Compression of(byte codec) {
        switch (codec) {
            case 1: return Compression.gzip().build();
            case 2: return Compression.snappy().build();
            case 3: return Compression.lz4().build();
            case 4: return Compression.zstd().build();
            default: throw new IllegalArgumentException();
        }
    }

    /** Buffers as they are used again by a broker's thread: with something in them. */
    static class Filled extends BufferSupplier {
        final byte with;

        Filled(byte with) {
            this.with = with;
        }

        public ByteBuffer get(int size) {
            ByteBuffer buffer = ByteBuffer.allocate(size);
            Arrays.fill(buffer.array(), with);
            return buffer;
        }

        public void release(ByteBuffer buffer) { }

        public void close() { }
    }
}
