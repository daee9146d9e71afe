// kafkajs under the contract of `contract.py`: one operation per line of JSON (see `json_lines.py`).
"use strict";

const readline = require("node:readline");
const { Kafka, CompressionTypes, CompressionCodecs, logLevel } = require("kafkajs");

// kafkajs leaves these codecs to its users, who plug them in like this.
const lz4 = require("lz4js");
const xxh32 = require("lz4js/xxh32.js");
const { ZstdCodec } = require("zstd-codec");
CompressionCodecs[CompressionTypes.Snappy] = require("kafkajs-snappy");
CompressionCodecs[CompressionTypes.LZ4] = () => ({
  compress: async (encoder) => markBlocksIndependent(Buffer.from(lz4.compress(encoder.buffer))),
  decompress: async (buffer) => Buffer.from(lz4.decompress(buffer)),
});
// Its streaming half also reads frames that do not tell their size, which is what most producers write.
const zstd = new Promise((resolve) => ZstdCodec.run((binding) => resolve(new binding.Streaming())));
CompressionCodecs[CompressionTypes.ZSTD] = () => ({
  compress: async (encoder) => Buffer.from((await zstd).compress(encoder.buffer)),
  decompress: async (buffer) => Buffer.from((await zstd).decompress(buffer)),
});

// Kafka refuses LZ4 frames whose blocks may refer to earlier ones. lz4js makes no such blocks but does not say so in
// the frame's flags; the header's checksum is the second byte of xxHash32 over flags and block size.
function markBlocksIndependent(frame) {
  const FLAGS_AT = 4;
  frame[FLAGS_AT] |= 0x20;
  frame[FLAGS_AT + 2] = (xxh32.hash(0, frame, FLAGS_AT, 2) >> 8) & 0xff;
  return frame;
}

const CODECS = {
  none: CompressionTypes.None,
  gzip: CompressionTypes.GZIP,
  snappy: CompressionTypes.Snappy,
  lz4: CompressionTypes.LZ4,
  zstd: CompressionTypes.ZSTD,
};
const TOPIC_RESOURCE = 2;
const READ_TIMEOUT_MS = 30_000;

// kafkajs logs to standard output by default, which carries our answers.
const logCreator = () => (entry) => console.error(JSON.stringify(entry));
// Set by json_lines.py.
const security = JSON.parse(process.env.TIDELOG_TEST_SECURITY ?? "{}");
const brokers = [process.argv[2].split(",")[0]];
const kafka = new Kafka({ clientId: "interop", brokers, logLevel: logLevel.WARN, logCreator, ...security });
let readers = 0;

const decode = (text) => (text === null ? null : Buffer.from(text, "base64"));
const encode = (buffer) => (buffer === null || buffer === undefined ? null : Buffer.from(buffer).toString("base64"));

async function withAdmin(work) {
  const admin = kafka.admin();
  await admin.connect();
  try {
    return await work(admin);
  } finally {
    await admin.disconnect();
  }
}

async function errorCodeOf(work) {
  try {
    await work();
    return 0;
  } catch (error) {
    const cause = error.errors ? error.errors[0] : error;
    if (cause.code === undefined) throw error;
    return cause.code;
  }
}

// kafkajs takes headers as an object; a repeated name is an array.
function headersToObject(pairs) {
  const headers = {};
  for (const [name, value] of pairs) {
    const decoded = decode(value);
    if (name in headers) headers[name] = [].concat(headers[name], decoded);
    else headers[name] = decoded;
  }
  return headers;
}

function headersToPairs(headers) {
  return Object.entries(headers ?? {}).flatMap(([name, value]) =>
    Array.isArray(value) ? value.map((one) => [name, encode(one)]) : [[name, encode(value)]],
  );
}

// The only way to read with kafkajs is as a member of a group.
async function readAsMember({ topic, group, count, accept, afterJoin, commit }) {
  const consumer = kafka.consumer({ groupId: group, maxWaitTimeInMs: 200, rebalanceTimeout: 10_000 });
  const messages = [];
  await consumer.connect();
  try {
    await consumer.subscribe({ topics: [topic], fromBeginning: true });
    await new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => reject(new Error(`only ${messages.length} of ${count} messages came`)),
        READ_TIMEOUT_MS,
      );
      const finish = () => {
        clearTimeout(timer);
        resolve();
      };
      consumer.on(consumer.events.CRASH, ({ payload }) => reject(payload.error));
      consumer
        .run({
          autoCommit: false,
          eachMessage: async ({ partition, message }) => {
            if (messages.length >= count || !accept(partition, Number(message.offset))) return;
            messages.push({
              key: encode(message.key),
              value: encode(message.value),
              timestamp: Number(message.timestamp),
              headers: headersToPairs(message.headers),
              partition,
              offset: Number(message.offset),
            });
            if (messages.length === count) finish();
          },
        })
        .catch(reject);
      afterJoin(consumer);
    });
    if (commit) {
      const next = new Map();
      for (const { partition, offset } of messages) next.set(partition, offset + 1);
      await consumer.commitOffsets(
        [...next].map(([partition, offset]) => ({ topic, partition, offset: String(offset) })),
      );
    }
  } finally {
    await consumer.disconnect();
  }
  return messages;
}

const operations = {
  createTopic: ({ topic, partitions, configs }) =>
    withAdmin((admin) =>
      errorCodeOf(() =>
        admin.createTopics({
          waitForLeaders: true,
          topics: [
            {
              topic,
              numPartitions: partitions,
              replicationFactor: 1,
              configEntries: Object.entries(configs).map(([name, value]) => ({ name, value })),
            },
          ],
        }).then((created) => {
          // kafkajs hides TOPIC_ALREADY_EXISTS behind `false`.
          if (!created) throw Object.assign(new Error("exists"), { code: 36 });
        }),
      ),
    ),

  deleteTopic: ({ topic }) => withAdmin((admin) => errorCodeOf(() => admin.deleteTopics({ topics: [topic] }))),

  partitionCount: ({ topic }) =>
    withAdmin(async (admin) => {
      const topics = await admin.listTopics();
      if (!topics.includes(topic)) return 0;
      const metadata = await admin.fetchTopicMetadata({ topics: [topic] });
      return metadata.topics[0].partitions.length;
    }),

  describeTopic: ({ topic }) =>
    withAdmin(async (admin) => {
      const answer = await admin.describeConfigs({
        includeSynonyms: false,
        resources: [{ type: TOPIC_RESOURCE, name: topic }],
      });
      return Object.fromEntries(
        answer.resources[0].configEntries.map((entry) => [entry.configName, entry.configValue]),
      );
    }),

  describeCluster: () =>
    withAdmin(async (admin) => {
      const cluster = await admin.describeCluster();
      return {
        clusterId: cluster.clusterId,
        controllerId: cluster.controller,
        brokers: cluster.brokers.map(({ nodeId, host, port }) => ({ id: nodeId, host, port })),
      };
    }),

  produce: async ({ topic, messages, compression, idempotent }) => {
    const producer = kafka.producer({ idempotent, allowAutoTopicCreation: false });
    await producer.connect();
    try {
      const sent = await producer.send({
        topic,
        acks: -1,
        compression: CODECS[compression],
        messages: messages.map((message) => ({
          key: decode(message.key),
          value: decode(message.value),
          timestamp: String(message.timestamp),
          headers: headersToObject(message.headers),
          partition: message.partition,
        })),
      });
      const next = new Map(sent.map(({ partition, baseOffset }) => [partition, Number(baseOffset)]));
      return messages.map(({ partition }) => {
        const offset = next.get(partition);
        next.set(partition, offset + 1);
        return offset;
      });
    } finally {
      await producer.disconnect();
    }
  },

  read: ({ topic, partition, start, count }) =>
    readAsMember({
      topic,
      group: `reader-${process.pid}-${readers++}`,
      count,
      accept: (from, offset) => from === partition && offset >= start,
      afterJoin: (consumer) => consumer.seek({ topic, partition, offset: String(start) }),
      commit: false,
    }),

  offsetForTime: ({ topic, timestamp, partition }) =>
    withAdmin(async (admin) => {
      const [ends, found] = [
        await admin.fetchTopicOffsets(topic),
        await admin.fetchTopicOffsetsByTimestamp(topic, timestamp),
      ];
      const of = (offsets) => offsets.find((entry) => entry.partition === partition);
      // Where nothing is that late kafkajs answers with the end of the partition.
      const offset = Number(of(found).offset);
      return offset < 0 || offset === Number(of(ends).high) ? null : offset;
    }),

  readInGroup: ({ topic, group, count }) =>
    readAsMember({ topic, group, count, accept: () => true, afterJoin: () => {}, commit: true }),

  committedOffset: ({ topic, group, partition }) =>
    withAdmin(async (admin) => {
      const [{ partitions }] = await admin.fetchOffsets({ groupId: group, topics: [topic] });
      const offset = Number(partitions.find((entry) => entry.partition === partition)?.offset ?? -1);
      return offset < 0 ? null : offset;
    }),
};

async function main() {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const { operation, arguments: given } = JSON.parse(line);
    let answer;
    try {
      answer = { result: await operations[operation](given) };
    } catch (error) {
      answer = { error: String(error.stack ?? error) };
    }
    process.stdout.write(JSON.stringify(answer) + "\n");
  }
  process.exit(0);
}

main();
