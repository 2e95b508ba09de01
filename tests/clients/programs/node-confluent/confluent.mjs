// confluent-kafka-javascript, by its KafkaJS interface, behind the lines of protocol.py.
import confluent from "@confluentinc/kafka-javascript";
import { PATIENCE_MS, poll, serve } from "./lines.mjs";

const { Kafka, logLevel } = confluent.KafkaJS;
const PARTITIONS = 3;
const PATIENT = { initialRetryTime: 100, maxRetryTime: 1000, retries: 100 };

const options = {};
const seen = new Set();
let admin, producer, consumer, kafka, created;

const commands = {
  async connect() {
    kafka = new Kafka({
      kafkaJS: {
        brokers: options.servers.split(","),
        clientId: options["client.id"],
        logLevel: logLevel.NOTHING,
        retry: PATIENT,
        ssl: Boolean(options.ca),
        ...login(),
      },
      ...tls(),
    });
    admin = kafka.admin();
    await admin.connect();
    producer = kafka.producer({ kafkaJS: { idempotent: true, acks: -1 }, "message.timeout.ms": PATIENCE_MS });
    await producer.connect();
  },

  async create(topic, replicas) {
    const wanted = { topic, numPartitions: PARTITIONS, replicationFactor: Number(replicas) };
    await admin.createTopics({ topics: [wanted], timeout: PATIENCE_MS });
    created = topic;
  },

  async produce(topic, partition, value) {
    const messages = [{ partition: Number(partition), value }];
    const [sent] = await producer.send({ topic, messages });
    return [sent.baseOffset];
  },

  async batch(topic, ...words) {
    const messages = [];
    for (let at = 0; at < words.length; at += 2) {
      messages.push({ partition: 0, value: words[at], timestamp: words[at + 1] });
    }
    const linger = { "linger.ms": 500 }; // so that they are one batch
    const together = kafka.producer({ kafkaJS: { idempotent: true, acks: -1 }, ...linger });
    await together.connect();
    const sent = messages.map((message) => together.send({ topic, messages: [message] }));
    const results = await Promise.allSettled(sent);
    await together.disconnect();
    return results.map(({ status, reason }) => (status === "fulfilled" ? "stored" : `${reason} (code ${reason.code})`));
  },

  async join(groupId, topic) {
    consumer = kafka.consumer({ kafkaJS: { groupId, fromBeginning: true, retry: PATIENT } });
    await consumer.connect();
    await consumer.subscribe({ topic });
    await consumer.run({ eachMessage: async ({ message }) => void seen.add(message.value.toString()) });
  },

  poll: (count) => poll(seen, count),

  async offsets(topic) {
    const ends = await asked(() => admin.fetchTopicOffsets(topic));
    return ends.map(({ partition, high }) => `${partition}=${high}`);
  },

  // This interface describes no cluster; the replicas of a topic are all brokers.
  async brokers() {
    const [{ partitions }] = await asked(() => admin.fetchTopicMetadata({ topics: [created] }));
    const all = partitions.flatMap(({ replicaNodes }) => replicaNodes);
    return [...new Set(all.map(({ id, host, port }) => `${id}=${host}:${port}`))];
  },

  async close() {
    await consumer?.disconnect();
    await producer.disconnect();
    await admin.disconnect();
  },
};

// While leaders move, some of its questions fail; its user asks again.
async function asked(ask) {
  for (const end = Date.now() + PATIENCE_MS; ; ) {
    try {
      return await ask();
    } catch (error) {
      if (Date.now() > end) throw error;
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  }
}

function login() {
  if (!options.mechanism) return {};
  const { user: username, password } = options;
  return { sasl: { mechanism: options.mechanism.toLowerCase(), username, password } };
}

function tls() {
  const files = {
    "ssl.ca.location": options.ca,
    "ssl.certificate.location": options.certificate,
    "ssl.key.location": options.key,
  };
  return Object.fromEntries(Object.entries(files).filter(([, path]) => path));
}

await serve(commands, options);
