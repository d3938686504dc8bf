/** Transactions of the API as groups of configuration: joined while the reader is busy. */
import assert from "node:assert/strict";
import { it } from "node:test";
import type { Config } from "@flotilla/model";
import { aConfig } from "../store/config-store.conformance.ts";
import type { DurableStore } from "../store/durable/durable-store.ts";
import type { Transaction } from "../store/durable/transaction.ts";
import { apiSource } from "./api-source.ts";
import type { ConfigGroup } from "./config-source.ts";

function open() {
  let commit: (transaction: Transaction) => void = () => undefined;
  const durable = {
    store: { name: "api" },
    all: () => [],
    problems: () => [],
    onCommit: (listener: typeof commit) => {
      commit = listener;
      return () => undefined;
    },
  } as unknown as DurableStore;
  let version = 0;
  const write = (timeMs: number, puts: readonly Config[], caller?: string, deletes: Transaction["deletes"] = []) =>
    commit({
      version: ++version,
      id: `${version}`,
      timeMs,
      puts,
      deletes,
      closed: [],
      ...(caller !== undefined && { caller }),
    });
  const stop = new AbortController();
  const groups = apiSource(durable, "default").groups(stop.signal)[Symbol.asyncIterator]();
  const next = async () => (await groups.next()).value as ConfigGroup;
  return { write, next, end: () => groups.return?.() };
}

const short = ({ changes }: ConfigGroup) => changes.map(({ op, key }) => `${op} ${key.name}`);
const sidecar = (name: string) => aConfig("Sidecar", "shop", name, {});

it("transactions that wait together are one group, of the time of the first and with the last change of each object", async () => {
  const { write, next, end } = open();
  assert.deepEqual((await next()).changes, []);
  write(10, [sidecar("a"), sidecar("b")], "shop/one");
  write(20, [sidecar("c")], "shop/two", [sidecar("a").key]);
  const joined = await next();
  assert.deepEqual(short(joined), ["delete a", "put b", "put c"]);
  assert.deepEqual([joined.eventTimeMs, joined.caller], [10, "shop/one, shop/two"]);
  write(30, [sidecar("d")]);
  const last = await next();
  assert.deepEqual([short(last), last.eventTimeMs, last.caller], [["put d"], 30, undefined]);
  await end();
});
