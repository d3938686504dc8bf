/** The roots that the mesh trusts and the revocation lists, as they stand on the bus. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { it } from "node:test";
import { type Bus, connectBus, filters } from "@flotilla/bus";
import { certificatePem, generatePrivateKey, issueRoot } from "@flotilla/pki";
import { createLogger } from "@flotilla/runtime";
import { createTrustPublisher } from "./trust-publisher.ts";

const key = await generatePrivateKey("ecdsa-p256");
const times = { notBeforeMs: Date.UTC(2026), notAfterMs: Date.UTC(2036) };
const rootsPem = certificatePem(
  issueRoot({ serial: Buffer.alloc(16, 1), subject: { commonName: "root" }, ...times }, key),
);

async function publishing(maxMessageBytes: number) {
  const lines: string[] = [];
  const log = createLogger("ca", "info", { write: (line) => void lines.push(JSON.parse(line).msg) });
  const options = { url: `embedded:${randomUUID()}`, clientName: "ca", log };
  const embedded = await connectBus(options, new AbortController().signal);
  const bus: Bus = Object.create(embedded, { maxMessageBytes: { value: maxMessageBytes } });
  const bound = new Proxy(bus, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, name === "maxMessageBytes" ? target : embedded);
      return typeof value === "function" ? value.bind(embedded) : value;
    },
  });
  const publish = createTrustPublisher({ bus: bound, namespace: "mesh", nowMs: () => 1, log });
  const stored = async () => {
    const found = (await embedded.lastValues(filters.everything)).find(({ subject }) => subject.includes("mesh"));
    return { sequence: found?.sequence, text: Buffer.from(found?.payload ?? []).toString() };
  };
  return { publish, stored, lines, [Symbol.asyncDispose]: () => embedded[Symbol.asyncDispose]() };
}

const room = 64 * 1024;

it("roots and lists are published once, and again when either changes", async () => {
  await using bus = await publishing(room + 100);
  await bus.publish(rootsPem, "list one");
  const first = await bus.stored();
  assert.ok(first.text.includes("list one") && first.text.includes("BEGIN CERTIFICATE"));
  await bus.publish(rootsPem, "list one");
  assert.equal((await bus.stored()).sequence, first.sequence);
  await bus.publish(rootsPem, "list two");
  const second = await bus.stored();
  assert.ok((second.sequence ?? 0) > (first.sequence ?? 0) && second.text.includes("list two"));
  assert.deepEqual(
    bus.lines.filter((line) => line.includes("larger")),
    [],
  );
});

it("lists that fill a message are published, larger ones are left out with an error", async () => {
  await using bus = await publishing(room + 100);
  await bus.publish(rootsPem, "f".repeat(100));
  assert.ok((await bus.stored()).text.includes("fff"));
  await bus.publish(rootsPem, "g".repeat(101));
  const { text } = await bus.stored();
  assert.ok(!text.includes("ggg") && text.includes("BEGIN CERTIFICATE"));
  assert.deepEqual(
    bus.lines.filter((line) => line.includes("larger")),
    ["revocation lists are larger than a message: only ca refuses the certificates in them"],
  );
});
