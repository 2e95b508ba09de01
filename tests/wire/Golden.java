// Prints the bytes in golden.txt: each is what Kafka's own classes write. Run by test_golden.py, or
//   java -cp 'JARS/*' tests/wire/Golden.java
// with the jars of Kafka 4.3.1.

import java.nio.ByteBuffer;
import java.util.HexFormat;
import java.util.List;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.message.ApiVersionsResponseData;
import org.apache.kafka.common.message.ProduceRequestData;
import org.apache.kafka.common.message.ProduceResponseData;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.MessageUtil;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.SimpleRecord;

public class Golden {
    static final long TIME = 1767225600000L;

    public static void main(String[] args) {
        produce();
        print("api_versions_response unsupported", 0, new ApiVersionsResponseData().setErrorCode((short) 35)
            .setApiKeys(new ApiVersionsResponseData.ApiVersionCollection(List.of(
                new ApiVersionsResponseData.ApiVersion()
                    .setApiKey((short) 18).setMinVersion((short) 0).setMaxVersion((short) 4)).iterator())));
        for (Compression codec : List.of(Compression.NONE, Compression.gzip().build(),
                Compression.snappy().build(), Compression.lz4().build(), Compression.zstd().build()))
            print("record_batch " + codec.type().name, records(codec).buffer());
    }

    static MemoryRecords records(Compression codec) {
        return MemoryRecords.withRecords(codec,
            new SimpleRecord(TIME, "k".getBytes(), "v".getBytes()),
            new SimpleRecord(TIME + 5, null, "w".getBytes()));
    }

    static void produce() {
        for (int v : new int[] {3, 7, 8, 9, 12})
            print("produce_request", v, new ProduceRequestData().setAcks((short) -1).setTimeoutMs(30000)
                .setTopicData(new ProduceRequestData.TopicProduceDataCollection(List.of(
                    new ProduceRequestData.TopicProduceData().setName("t").setPartitionData(List.of(
                        new ProduceRequestData.PartitionProduceData().setIndex(3)
                            .setRecords(records(Compression.NONE))))).iterator())));
        for (int v : new int[] {3, 5, 8, 9, 12}) {
            print("produce_response accepted", v, answer(new ProduceResponseData.PartitionProduceResponse()
                .setIndex(0).setBaseOffset(42).setLogStartOffset(0)));
            print("produce_response rejected", v, answer(new ProduceResponseData.PartitionProduceResponse()
                .setIndex(3).setErrorCode((short) 32).setBaseOffset(-1)
                .setRecordErrors(List.of(new ProduceResponseData.BatchIndexAndErrorMessage()
                    .setBatchIndex(1).setBatchIndexErrorMessage("m")))
                .setErrorMessage("One or more records have been rejected due to invalid timestamp")));
        }
        for (int v : new int[] {10, 12})
            print("produce_response moved", v, answer(new ProduceResponseData.PartitionProduceResponse()
                .setIndex(0).setErrorCode((short) 6).setBaseOffset(-1)
                .setCurrentLeader(new ProduceResponseData.LeaderIdAndEpoch().setLeaderId(2).setLeaderEpoch(5)))
                .setNodeEndpoints(new ProduceResponseData.NodeEndpointCollection(List.of(
                    new ProduceResponseData.NodeEndpoint().setNodeId(2).setHost("b2").setPort(9092)).iterator())));
    }

    static ProduceResponseData answer(ProduceResponseData.PartitionProduceResponse partition) {
        return new ProduceResponseData().setResponses(new ProduceResponseData.TopicProduceResponseCollection(
            List.of(new ProduceResponseData.TopicProduceResponse().setName("t")
                .setPartitionResponses(List.of(partition))).iterator()));
    }

    static void print(String name, int version, ApiMessage message) {
        print(name + " v" + version, MessageUtil.toByteBufferAccessor(message, (short) version).buffer());
    }

    static void print(String name, ByteBuffer bytes) {
        byte[] copy = new byte[bytes.remaining()];
        bytes.duplicate().get(copy);
        System.out.println((name + ": " + HexFormat.of().formatHex(copy)).trim());
    }
}
