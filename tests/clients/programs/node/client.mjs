// kafkajs behind the lines of protocol.py.
import { readFileSync } from "node:fs";
import kafkajs from "kafkajs";
import { PATIENCE_MS, poll, serve } from "./lines.mjs";

const { Kafka, logLevel, Partitioners } = kafkajs;
const PARTITIONS = 3;
const PATIENT = { initialRetryTime: 100, maxRetryTime: 1000, retries: 100 };

const options = {};
const seen = new Set();
let kafka, admin, producer, consumer;

const commands = {
  async connect() {
    kafka = new Kafka({
      brokers: options.servers.split(","),
      clientId: options["client.id"],
      logLevel: logLevel.NOTHING,
      retry: PATIENT,
      ssl: tls(),
      sasl: options.mechanism && {
        mechanism: options.mechanism.toLowerCase(),
        username: options.user,
        password: options.password,
      },
    });
    admin = kafka.admin();
    await admin.connect();
    producer = kafka.producer({
      idempotent: true,
      createPartitioner: Partitioners.DefaultPartitioner,
      retry: PATIENT,
    });
    await producer.connect();
  },

  async create(topic, replicas) {
    // waitForLeaders asks any broker at once, and fails where that one has not heard of the topic yet (KRaft).
    const wanted = { topic, numPartitions: PARTITIONS, replicationFactor: Number(replicas) };
    await admin.createTopics({ topics: [wanted], timeout: PATIENCE_MS, waitForLeaders: false });
  },

  async produce(topic, partition, value) {
    const messages = [{ partition: Number(partition), value }];
    const [sent] = await producer.send({ topic, acks: -1, messages });
    return [sent.baseOffset];
  },

  async batch(topic, ...words) {
    const messages = [];
    for (let at = 0; at < words.length; at += 2) {
      messages.push({ partition: 0, value: words[at], timestamp: words[at + 1] });
    }
    try {
      await producer.send({ topic, acks: -1, messages });
    } catch (error) {
      return messages.map(() => `${error} (type ${error.type}, code ${error.code})`);
    }
    return messages.map(() => "stored");
  },

  async join(groupId, topic) {
    consumer = kafka.consumer({ groupId, retry: PATIENT, maxWaitTimeInMs: 200 });
    await consumer.connect();
    await consumer.subscribe({ topic, fromBeginning: true });
    await consumer.run({ eachMessage: async ({ message }) => seen.add(message.value.toString()) });
  },

  poll: (count) => poll(seen, count),

  async offsets(topic) {
    const ends = await asked(() => admin.fetchTopicOffsets(topic));
    return ends.map(({ partition, high }) => `${partition}=${high}`);
  },

  async brokers() {
    const { brokers } = await admin.describeCluster();
    return brokers.map(({ nodeId, host, port }) => `${nodeId}=${host}:${port}`);
  },

  async close() {
    await consumer?.disconnect();
    await producer.disconnect();
    await admin.disconnect();
  },
};

// While leaders move the admin client leaves it to its user to ask again, and keeps what it knows of them for minutes.
async function asked(ask) {
  for (const end = Date.now() + PATIENCE_MS; ; ) {
    try {
      return await ask();
    } catch (error) {
      if (!error.retriable || Date.now() > end) throw error;
      await admin.disconnect();
      admin = kafka.admin();
      await admin.connect();
    }
  }
}

function tls() {
  if (!options.ca) return undefined;
  const files = { ca: options.ca, cert: options.certificate, key: options.key };
  const named = Object.entries(files).filter(([, path]) => path);
  return Object.fromEntries(named.map(([name, path]) => [name, readFileSync(path, "utf8")]));
}

await serve(commands, options);
