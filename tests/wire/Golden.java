// Prints the bytes in golden.txt: each is what Kafka's own classes write. Run by test_golden.py, or
//   java -cp 'JARS/*' tests/wire/Golden.java
// with the jars of Kafka 4.3.1.

import java.nio.ByteBuffer;
import java.util.HexFormat;
import java.util.List;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.message.ApiVersionsRequestData;
import org.apache.kafka.common.message.ApiVersionsResponseData;
import org.apache.kafka.common.message.DescribeClusterResponseData;
import org.apache.kafka.common.message.FindCoordinatorResponseData;
import org.apache.kafka.common.message.MetadataResponseData;
import org.apache.kafka.common.message.ProduceRequestData;
import org.apache.kafka.common.message.ProduceResponseData;
import org.apache.kafka.common.message.RequestHeaderData;
import org.apache.kafka.common.message.ResponseHeaderData;
import org.apache.kafka.common.message.SaslAuthenticateResponseData;
import org.apache.kafka.common.message.ShareAcknowledgeResponseData;
import org.apache.kafka.common.message.ShareFetchResponseData;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.MessageUtil;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.SimpleRecord;

public class Golden {
    static final long TIME = 1767225600000L;
    static final Uuid TOPIC = new Uuid(0x0102030405060708L, 0x090a0b0c0d0e0f10L);

    public static void main(String[] args) {
        produce();
        headers();
        apiVersions();
        addresses();
        for (short v : List.of((short) 0, (short) 1, (short) 2))
            print("sasl_authenticate_response", v, new SaslAuthenticateResponseData()
                .setAuthBytes(new byte[] {(byte) 0xaa}).setSessionLifetimeMs(60000));
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

    static void headers() {
        for (int v : new int[] {1, 2})
            print("request_header", v, new RequestHeaderData().setRequestApiKey((short) 0)
                .setRequestApiVersion((short) 9).setCorrelationId(7).setClientId("c"));
        for (int v : new int[] {0, 1})
            print("response_header", v, new ResponseHeaderData().setCorrelationId(7));
    }

    static void apiVersions() {
        print("api_versions_response unsupported", 0, new ApiVersionsResponseData().setErrorCode((short) 35)
            .setApiKeys(new ApiVersionsResponseData.ApiVersionCollection(List.of(offer(18, 0, 4)).iterator())));
        for (int v : new int[] {0, 3, 4}) {
            ApiVersionsResponseData offers = new ApiVersionsResponseData()
                .setApiKeys(new ApiVersionsResponseData.ApiVersionCollection(
                    List.of(offer(0, 0, 13), offer(18, 0, 4)).iterator()));
            if (v >= 3)
                offers.setFinalizedFeaturesEpoch(11).setFinalizedFeatures(
                    new ApiVersionsResponseData.FinalizedFeatureKeyCollection(List.of(
                        new ApiVersionsResponseData.FinalizedFeatureKey().setName("transaction.version")
                            .setMinVersionLevel((short) 2).setMaxVersionLevel((short) 2)).iterator()));
            print("api_versions_response", v, offers);
            print("api_versions_request", v, v < 3 ? new ApiVersionsRequestData()
                : new ApiVersionsRequestData().setClientSoftwareName("x").setClientSoftwareVersion("1"));
        }
    }

    static ApiVersionsResponseData.ApiVersion offer(int key, int min, int max) {
        return new ApiVersionsResponseData.ApiVersion()
            .setApiKey((short) key).setMinVersion((short) min).setMaxVersion((short) max);
    }

    static void addresses() {
        for (int v : new int[] {0, 1, 3, 9, 12, 13})
            print("metadata_response", v, new MetadataResponseData()
                .setBrokers(new MetadataResponseData.MetadataResponseBrokerCollection(List.of(
                    new MetadataResponseData.MetadataResponseBroker()
                        .setNodeId(1).setHost("b1").setPort(9092)).iterator()))
                .setControllerId(v == 0 ? -1 : 1).setClusterId(v < 2 ? null : "cid")
                .setTopics(new MetadataResponseData.MetadataResponseTopicCollection(List.of(
                    new MetadataResponseData.MetadataResponseTopic().setName("t")
                        .setTopicId(v < 10 ? Uuid.ZERO_UUID : TOPIC)
                        .setPartitions(List.of(new MetadataResponseData.MetadataResponsePartition()
                            .setLeaderId(1).setLeaderEpoch(v < 7 ? -1 : 4)
                            .setReplicaNodes(List.of(1)).setIsrNodes(List.of(1))))).iterator())));
        for (int v : new int[] {0, 1, 3})
            print("find_coordinator_response", v, new FindCoordinatorResponseData()
                .setErrorMessage(v == 0 ? "" : null).setNodeId(1).setHost("b1").setPort(9092));
        for (int v : new int[] {4, 6})
            print("find_coordinator_response", v, new FindCoordinatorResponseData().setCoordinators(List.of(
                new FindCoordinatorResponseData.Coordinator()
                    .setKey("g").setNodeId(1).setHost("b1").setPort(9092).setErrorMessage(""))));
        for (int v : new int[] {0, 1, 2})
            print("describe_cluster_response", v, new DescribeClusterResponseData()
                .setClusterId("cid").setControllerId(1)
                .setBrokers(new DescribeClusterResponseData.DescribeClusterBrokerCollection(List.of(
                    new DescribeClusterResponseData.DescribeClusterBroker()
                        .setBrokerId(1).setHost("b1").setPort(9092)).iterator())));
        for (int v : new int[] {1, 2})
            print("share_fetch_response", v, new ShareFetchResponseData().setAcquisitionLockTimeoutMs(30000)
                .setResponses(new ShareFetchResponseData.ShareFetchableTopicResponseCollection(List.of(
                    new ShareFetchResponseData.ShareFetchableTopicResponse().setTopicId(TOPIC)
                        .setPartitions(List.of(new ShareFetchResponseData.PartitionData().setErrorCode((short) 6)
                            .setCurrentLeader(new ShareFetchResponseData.LeaderIdAndEpoch()
                                .setLeaderId(2).setLeaderEpoch(5))
                            .setRecords(records(Compression.NONE))
                            .setAcquiredRecords(List.of(new ShareFetchResponseData.AcquiredRecords()
                                .setFirstOffset(1).setLastOffset(2).setDeliveryCount((short) 3)))))).iterator()))
                .setNodeEndpoints(new ShareFetchResponseData.NodeEndpointCollection(List.of(
                    new ShareFetchResponseData.NodeEndpoint().setNodeId(2).setHost("b2").setPort(9092)
                        .setRack("r")).iterator())));
        for (int v : new int[] {1, 2})
            print("share_acknowledge_response", v, new ShareAcknowledgeResponseData()
                .setAcquisitionLockTimeoutMs(v < 2 ? 0 : 30000)
                .setResponses(new ShareAcknowledgeResponseData.ShareAcknowledgeTopicResponseCollection(List.of(
                    new ShareAcknowledgeResponseData.ShareAcknowledgeTopicResponse().setTopicId(TOPIC)
                        .setPartitions(List.of(new ShareAcknowledgeResponseData.PartitionData()
                            .setErrorCode((short) 6).setCurrentLeader(
                                new ShareAcknowledgeResponseData.LeaderIdAndEpoch()
                                    .setLeaderId(2).setLeaderEpoch(5))))).iterator()))
                .setNodeEndpoints(new ShareAcknowledgeResponseData.NodeEndpointCollection(List.of(
                    new ShareAcknowledgeResponseData.NodeEndpoint().setNodeId(2).setHost("b2").setPort(9092))
                    .iterator())));
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
