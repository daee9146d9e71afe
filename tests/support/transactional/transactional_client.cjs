// kafkajs under the contract of `contract.py`: one step per line of JSON (see `json_lines.py`).
"use strict";

const readline = require("node:readline");
const { Kafka, logLevel } = require("kafkajs");

const TIMEOUT_MS = 30_000;

// kafkajs logs to standard output by default, which carries our answers.
const logCreator = () => (entry) => console.error(JSON.stringify(entry));
const kafka = new Kafka({ clientId: "transactions", brokers: [process.argv[2]], logLevel: logLevel.WARN, logCreator });
// By name: the producer and its open transaction.
const producers = new Map();
let readers = 0;

const operations = {
  async init({ producer, transactionalId, timeoutMs }) {
    const opened = kafka.producer({
      transactionalId,
      transactionTimeout: timeoutMs,
      idempotent: true,
      maxInFlightRequests: 1,
      retry: { retries: 5 },
    });
    await opened.connect();
    // kafkajs initialises with the first transaction; the contract wants it now, so that predecessors are fenced.
    const first = await opened.transaction();
    await first.abort();
    producers.set(producer, { opened, transaction: null });
  },
  async begin({ producer }) {
    const kept = producers.get(producer);
    kept.transaction = await kept.opened.transaction();
  },
  async send({ producer, topic, value, partition }) {
    await producers.get(producer).transaction.send({ topic, acks: -1, messages: [{ value, partition }] });
  },
  async sendOffsets({ producer, group, topic, offset, partition }) {
    const topics = [{ topic, partitions: [{ partition, offset: String(offset) }] }];
    await producers.get(producer).transaction.sendOffsets({ consumerGroupId: group, topics });
  },
  async commit({ producer }) {
    await producers.get(producer).transaction.commit();
  },
  async abort({ producer }) {
    await producers.get(producer).transaction.abort();
  },
  async close({ producer }) {
    const kept = producers.get(producer);
    producers.delete(producer);
    await kept.opened.disconnect();
  },
  async copy({ producer, group, source, target, count }) {
    const { opened } = producers.get(producer);
    const consumer = kafka.consumer({ groupId: group, readUncommitted: false });
    await consumer.connect();
    await consumer.subscribe({ topics: [source], fromBeginning: true });
    let copied = 0;
    await within(`copy ${count} records`, async (done) => {
      await consumer.run({
        autoCommit: false,
        eachBatch: async ({ batch }) => {
          if (batch.isEmpty() || copied >= count) return;
          const transaction = await opened.transaction();
          const messages = batch.messages.map(({ value }) => ({ value, partition: batch.partition }));
          await transaction.send({ topic: target, acks: -1, messages });
          const offset = String(Number(batch.lastOffset()) + 1);
          const topics = [{ topic: source, partitions: [{ partition: batch.partition, offset }] }];
          await transaction.sendOffsets({ consumerGroupId: group, topics });
          await transaction.commit();
          copied += messages.length;
          if (copied >= count) done();
        },
      });
    }).finally(() => consumer.disconnect());
  },
  async read({ topic, committed, count, partition }) {
    const groupId = `transactional-reader-${process.pid}-${readers++}`;
    const consumer = kafka.consumer({ groupId, readUncommitted: !committed });
    await consumer.connect();
    await consumer.subscribe({ topics: [topic], fromBeginning: true });
    const values = [];
    await within(`read ${count} values`, async (done) => {
      await consumer.run({
        eachMessage: async ({ partition: from, message }) => {
          if (from === partition && values.length < count) values.push(message.value.toString());
          if (values.length >= count) done();
        },
      });
      if (count === 0) done();
    }).finally(() => consumer.disconnect());
    return values;
  },
};

function within(what, work) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`could not ${what} in time`)), TIMEOUT_MS);
    const done = () => {
      clearTimeout(timer);
      resolve();
    };
    work(done).catch(reject);
  });
}

function describe(error) {
  const types = [];
  for (let each = error; each; each = each.cause || each.originalError) types.push(each.type || "", String(each));
  return types.filter(Boolean).join(" | ");
}

const requests = readline.createInterface({ input: process.stdin });
let last = Promise.resolve();
requests.on("line", (line) => {
  const { operation, arguments: given } = JSON.parse(line);
  last = last.then(async () => {
    let answer;
    try {
      answer = { result: (await operations[operation](given)) ?? null };
    } catch (error) {
      console.error(error);
      answer = { error: describe(error) };
    }
    process.stdout.write(JSON.stringify(answer) + "\n");
  });
});
requests.on("close", () => process.exit(0));
