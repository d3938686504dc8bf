/** For tests: the part of a NATS server that our client speaks to, on a port of its own, with JetStream in memory. */
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { type ConsumerInMemory, JetStreamInMemory, pendingOf, type StoredInMemory } from "./jetstream.fixture.ts";
import { matchesFilter } from "./topics.ts";

export interface NatsInMemory extends AsyncDisposable {
  readonly url: string;
  readonly jetstream: JetStreamInMemory;
  /** Subjects of requests and messages, in order. */
  readonly calls: string[];
  /** Asked before each message or request is taken: true and nothing answers. */
  silence: (subject: string) => boolean;
  /** Asked before each delivery: true and it is lost on its way, counted by the consumer. */
  losesDelivery: (message: StoredInMemory) => boolean;
  /** Headers of the heartbeats beside the count, each with its end of line. */
  heartbeat: string | undefined;
  /** False: connections are accepted and get no word, as by a server that stands still. */
  greets: boolean;
  readonly connections: number;
  /** Ends every connection; clients connect again. */
  drop(): void;
}

interface Client {
  readonly socket: Socket;
  readonly subjects: Map<string, string>;
}

interface Sent {
  readonly subject: string;
  readonly reply: string | undefined;
  readonly headers: Buffer;
  readonly payload: Buffer;
}

const heartbeatMs = 40;
const none = Buffer.alloc(0);

/** `more` is added to what the server reports of itself. */
export async function startNatsInMemory(more: object = {}): Promise<NatsInMemory> {
  const jetstream = new JetStreamInMemory();
  const clients = new Set<Client>();
  const calls: string[] = [];
  const subscriptionsOf = (to: string) =>
    [...clients].flatMap(({ socket, subjects }) =>
      [...subjects].filter(([, filter]) => matchesFilter(to, filter)).map(([id]) => ({ socket, id })),
    );
  /** `to` is what was subscribed to: a delivery keeps the subject of its message. */
  const send = ({ subject, reply, headers, payload }: Sent, to = subject): boolean => {
    const receivers = subscriptionsOf(to);
    for (const { socket, id } of receivers) {
      const about = `${subject} ${id} ${reply === undefined ? "" : `${reply} `}`;
      const total = headers.length + payload.length;
      socket.write(headers.length === 0 ? `MSG ${about}${total}\r\n` : `HMSG ${about}${headers.length} ${total}\r\n`);
      socket.write(Buffer.concat([headers, payload, Buffer.from("\r\n")]));
    }
    return receivers.length > 0;
  };
  const answer = (to: string | undefined, body: object): void => {
    if (to !== undefined)
      send({ subject: to, reply: undefined, headers: none, payload: Buffer.from(JSON.stringify(body)) });
  };
  const receive = (sent: Sent): void => {
    const { subject, reply, headers, payload } = sent;
    const isCall = subject.startsWith("$JS.API.");
    calls.push(subject);
    if (server.silence(subject)) return;
    const body = isCall
      ? jetstream.answer(subject.slice("$JS.API.".length), payload.toString())
      : jetstream.store(subject, payload, headers);
    if (body !== undefined) answer(reply, body);
    else if (!send(sent) && reply !== undefined)
      send({ subject: reply, reply: undefined, headers: Buffer.from("NATS/1.0 503\r\n\r\n"), payload: none });
    for (const consumer of jetstream.consumers.values()) deliver(consumer);
  };
  const deliver = (consumer: ConsumerInMemory): void => {
    const pending = pendingOf(consumer);
    for (const [i, message] of pending.entries()) {
      consumer.reached = message.sequence;
      const place = `${message.sequence}.${++consumer.delivered}.${message.atMs}000000.${pending.length - i - 1}`;
      const reply = `$JS.ACK.${consumer.stream.config.name}.${consumer.id}.1.${place}`;
      const { subject, headers, payload } = message;
      if (server.losesDelivery(message)) continue;
      if (!deliverTo(consumer, { subject, reply, headers, payload })) return;
    }
  };
  /** A consumer without a listener is removed. */
  const deliverTo = ({ id, inbox }: ConsumerInMemory, sent: Sent): boolean => {
    const isHeard = send(sent, inbox);
    if (!isHeard) jetstream.consumers.delete(id);
    return isHeard;
  };
  const beat = setInterval(() => {
    for (const consumer of jetstream.consumers.values()) {
      const text = `NATS/1.0 100 Idle Heartbeat\r\nNats-Last-Consumer: ${consumer.delivered}\r\n${server.heartbeat ?? ""}\r\n`;
      const { inbox } = consumer;
      deliverTo(consumer, { subject: inbox, reply: undefined, headers: Buffer.from(text), payload: none });
    }
  }, heartbeatMs);
  const listener = createServer((socket) => {
    const client: Client = { socket, subjects: new Map() };
    clients.add(client);
    socket.on("error", () => socket.destroy());
    socket.on("close", () => clients.delete(client));
    readLines(client, receive);
    if (!server.greets) return;
    const about = { server_id: "memory", version: "2.11.0", proto: 1, headers: true, max_payload: 1_048_576 };
    socket.write(`INFO ${JSON.stringify({ ...about, jetstream: true, ...more })}\r\n`);
  });
  await once(listener.listen(0, "127.0.0.1"), "listening");
  const drop = (): void => {
    for (const { socket } of clients) socket.destroy();
  };
  const server: NatsInMemory = {
    url: `nats://127.0.0.1:${(listener.address() as AddressInfo).port}`,
    ...{ jetstream, calls, silence: () => false, losesDelivery: () => false, heartbeat: undefined, drop },
    greets: true,
    get connections() {
      return clients.size;
    },
    async [Symbol.asyncDispose]() {
      clearInterval(beat);
      drop();
      listener.close();
      await once(listener, "close");
    },
  };
  return server;
}

function readLines({ socket, subjects }: Client, receive: (sent: Sent) => void): void {
  let held: Buffer = none;
  socket.on("data", (bytes: Buffer) => {
    held = Buffer.concat([held, bytes]);
    for (let end = held.indexOf("\r\n"); end >= 0; end = held.indexOf("\r\n")) {
      const [word = "", ...rest] = held.subarray(0, end).toString().split(" ");
      const isMessage = word === "PUB" || word === "HPUB";
      const total = isMessage ? Number(rest.at(-1)) : 0;
      const next = isMessage ? end + 2 + total + 2 : end + 2;
      if (held.length < next) return;
      const body = held.subarray(end + 2, end + 2 + total);
      held = held.subarray(next);
      if (word === "PING") socket.write("PONG\r\n");
      else if (word === "SUB") subjects.set(rest.at(-1) ?? "", rest[0] ?? "");
      else if (word === "UNSUB") subjects.delete(rest[0] ?? "");
      else if (isMessage) {
        const split = word === "HPUB" ? Number(rest.at(-2)) : 0;
        const reply = rest.length === (word === "HPUB" ? 4 : 3) ? rest[1] : undefined;
        const [headers, payload] = [Buffer.from(body.subarray(0, split)), Buffer.from(body.subarray(split))];
        receive({ subject: rest[0] ?? "", reply, headers, payload });
      }
    }
  });
}
