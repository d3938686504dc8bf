/** For tests: the commands that our store gives to a Redis, answered on a port of its own out of memory. */
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { claimScript, releaseScript, writeScript } from "./redis-scripts.ts";

type Reply = null | number | Buffer | Failure | readonly Reply[] | { readonly simple: string };

class Failure extends Error {}

interface Held {
  readonly value: Buffer | Map<string, Buffer>;
  readonly untilMs: number;
}

export interface RedisInMemory extends AsyncDisposable {
  readonly url: string;
  /** Values by key, expired ones too. */
  readonly held: Map<string, Held>;
  /** The words of each command, in capitals. */
  readonly commands: string[];
  /** Asked before each command: an error is the answer to it. */
  refusal: (command: string) => string | undefined;
  drop(): void;
}

const ok: Reply = { simple: "OK" };
const wrongType = () => new Failure("WRONGTYPE Operation against a key holding the wrong kind of value");

export async function startRedisInMemory(): Promise<RedisInMemory> {
  const held = new Map<string, Held>();
  const sockets = new Set<Socket>();
  const commands: string[] = [];
  const listener = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => socket.destroy());
    socket.on("close", () => sockets.delete(socket));
    let queued: (readonly Buffer[])[] | undefined;
    readCommands(socket, (words) => {
      const name = String(words[0]).toUpperCase();
      commands.push(name);
      const refusal = server.refusal(name);
      if (refusal !== undefined) return new Failure(refusal);
      if (name === "MULTI") queued = [];
      else if (name === "EXEC") {
        const work = queued ?? [];
        queued = undefined;
        return work.map((one) => run(held, one));
      } else if (queued !== undefined) {
        queued.push(words);
        return { simple: "QUEUED" };
      } else return run(held, words);
      return ok;
    });
  });
  await once(listener.listen(0, "127.0.0.1"), "listening");
  const drop = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  const server: RedisInMemory = {
    url: `redis://127.0.0.1:${(listener.address() as AddressInfo).port}`,
    ...{ held, commands, refusal: () => undefined, drop },
    async [Symbol.asyncDispose]() {
      drop();
      listener.close();
      await once(listener, "close");
    },
  };
  return server;
}

function run(held: Map<string, Held>, [command, ...words]: readonly Buffer[]): Reply {
  try {
    return answer(held, String(command).toUpperCase(), words);
  } catch (error) {
    if (error instanceof Failure) return error;
    throw error;
  }
}

function answer(held: Map<string, Held>, command: string, words: readonly Buffer[]): Reply {
  const [key = "", ...texts] = words.map(String);
  const live = (name: string): Held | undefined => {
    const found = held.get(name);
    if (found !== undefined && found.untilMs <= Date.now()) held.delete(name);
    return held.get(name);
  };
  const hashOf = (name: string): Map<string, Buffer> => {
    const value = live(name)?.value ?? new Map<string, Buffer>();
    if (Buffer.isBuffer(value)) throw wrongType();
    return value;
  };
  const textOf = (name: string): Buffer | null => {
    const value = live(name)?.value ?? null;
    if (value instanceof Map) throw wrongType();
    return value;
  };
  const expire = (name: string, ms: number): Reply => {
    const found = live(name);
    if (found !== undefined) held.set(name, { ...found, untilMs: Date.now() + ms });
    return found === undefined ? 0 : 1;
  };
  const put = (name: string, pairs: readonly Buffer[]): void => {
    const hash = hashOf(name);
    for (let i = 0; i + 1 < pairs.length; i += 2) hash.set(String(pairs[i]), Buffer.from(pairs[i + 1] ?? ""));
    held.set(name, { value: hash, untilMs: live(name)?.untilMs ?? Number.POSITIVE_INFINITY });
  };
  const remove = (names: readonly string[]): number => names.filter((name) => held.delete(name)).length;
  const removeFields = (name: string, fields: readonly string[]): number => {
    const hash = hashOf(name);
    const count = fields.filter((field) => hash.delete(field)).length;
    if (hash.size === 0) held.delete(name);
    return count;
  };
  const scripts: Readonly<Record<string, (keys: readonly string[], args: readonly Buffer[]) => number>> = {
    [claimScript]: ([lock = ""], [token, life]) => {
      const before = live(lock)?.value;
      if (Buffer.isBuffer(before) && String(before) !== String(token)) {
        if ((live(lock)?.untilMs ?? 0) > Date.now() + Number(life)) expire(lock, Number(life));
        return 0;
      }
      held.set(lock, { value: Buffer.from(token ?? ""), untilMs: Date.now() + Number(life) });
      return 1;
    },
    [releaseScript]: ([lock = ""], [token]) => (String(textOf(lock)) === String(token) ? remove([lock]) : 0),
    [writeScript]: ([lock = "", entries = "", about = ""], args) => {
      const [token, life, checksum, size, puts] = args.map(String);
      if (String(textOf(lock)) !== token || String(hashOf(about).get("checksum") ?? "") !== checksum) return 0;
      if (hashOf(entries).size !== Number(size)) return 0;
      expire(lock, Number(life));
      const gone = 5 + 2 * Number(puts);
      put(entries, args.slice(5, gone));
      const rest = gone + 1 + Number(args[gone]);
      removeFields(entries, args.slice(gone + 1, rest).map(String));
      remove([about]);
      put(about, args.slice(rest));
      return 1;
    },
  };
  switch (command) {
    case "INFO":
      return Buffer.from("redis_version:7.2.0\r\nloading:0\r\n");
    case "SET":
      held.set(key, { value: Buffer.from(words[1] ?? ""), untilMs: Date.now() + Number(texts[2] ?? "Infinity") });
      return ok;
    case "DEL":
      return remove([key, ...texts]);
    case "PEXPIRE":
      return expire(key, Number(texts[0]));
    case "MGET":
      return [key, ...texts].map((name) => (live(name)?.value instanceof Map ? null : textOf(name)));
    case "HSET":
      put(key, words.slice(1));
      return 1;
    case "HDEL":
      return removeFields(key, texts);
    case "HLEN":
      return hashOf(key).size;
    case "HGETALL":
      return [...hashOf(key)].flatMap(([field, value]) => [Buffer.from(field), value]);
    case "SCAN":
      return scan(
        [...held.keys()].filter((name) => live(name) !== undefined),
        Number(key),
        texts[1] ?? "",
      );
    case "EVAL": {
      const count = Number(texts[0]);
      return scripts[key]?.(texts.slice(1, 1 + count), words.slice(2 + count)) ?? new Failure("ERR unknown script");
    }
    default:
      return ok;
  }
}

/** Two keys at a time, so that a caller has to go on. */
function scan(names: readonly string[], cursor: number, pattern: string): Reply {
  const some = names.slice(cursor, cursor + 2).filter((name) => name.startsWith(pattern.replace(/\*$/, "")));
  const next = cursor + 2 >= names.length ? 0 : cursor + 2;
  return [Buffer.from(String(next)), some.map((name) => Buffer.from(name))];
}

function readCommands(socket: Socket, take: (words: readonly Buffer[]) => Reply): void {
  let held: Buffer = Buffer.alloc(0);
  socket.on("data", (bytes: Buffer) => {
    held = Buffer.concat([held, bytes]);
    for (;;) {
      const found = parseCommand(held);
      if (found === undefined) return;
      held = held.subarray(found.length);
      socket.write(encode(take(found.words)));
    }
  });
}

function parseCommand(bytes: Buffer): { readonly words: readonly Buffer[]; readonly length: number } | undefined {
  let at = 0;
  const number = (): number | undefined => {
    const end = bytes.indexOf("\r\n", at);
    if (end < 0) return undefined;
    const value = Number(bytes.subarray(at + 1, end));
    at = end + 2;
    return value;
  };
  const count = number();
  if (count === undefined) return undefined;
  const words: Buffer[] = [];
  while (words.length < count) {
    const length = number();
    if (length === undefined || bytes.length < at + length + 2) return undefined;
    words.push(Buffer.from(bytes.subarray(at, at + length)));
    at += length + 2;
  }
  return { words, length: at };
}

function encode(reply: Reply): Buffer {
  if (reply === null) return Buffer.from("$-1\r\n");
  if (typeof reply === "number") return Buffer.from(`:${reply}\r\n`);
  if (reply instanceof Failure) return Buffer.from(`-${reply.message}\r\n`);
  if (Buffer.isBuffer(reply)) return Buffer.concat([Buffer.from(`$${reply.length}\r\n`), reply, Buffer.from("\r\n")]);
  if ("simple" in reply) return Buffer.from(`+${reply.simple}\r\n`);
  return Buffer.concat([Buffer.from(`*${reply.length}\r\n`), ...reply.map(encode)]);
}
