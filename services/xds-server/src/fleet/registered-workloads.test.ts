import assert from "node:assert/strict";
import { test } from "node:test";
import { connectBus } from "@flotilla/bus";
import { decodeRegisteredWorkloads, type RegisteredWorkload, registrationReportBucket } from "@flotilla/model";
import { noopLogger, until } from "@flotilla/runtime";
import type { StreamRecord } from "../serve/stream-record.ts";
import { RegisteredWorkloads, registrationReports } from "./registered-workloads.ts";

function stream(id: string, metadata: Readonly<Record<string, unknown>>): StreamRecord {
  const proxy = {
    id: `${id}.n`,
    namespace: "n",
    network: "net",
    ipAddresses: ["10.9.0.1"],
    labels: { app: "vm" },
    locality: { region: "r", zone: "z", subzone: "" },
    metadata,
  };
  return { id, proxy, identities: ["spiffe://td/ns/n/sa/vm"], connectedAtMs: 7 } as unknown as StreamRecord;
}

test("machines that ask to be registered are reported with what they say of their health; others are not", async () => {
  const stop = new AbortController();
  await using bus = await connectBus(
    { url: "embedded:machines-reported", clientName: "t", log: noopLogger },
    stop.signal,
  );
  const machines = new RegisteredWorkloads();
  const vm = stream("vm", { AUTO_REGISTER_GROUP: "vms" });
  for (const one of [vm, stream("pod", {})]) machines.observer.opened?.(one);
  const done = registrationReports(machines)(bus, stop.signal);
  let reported: readonly RegisteredWorkload[] | undefined;
  const values = await bus.keyValue(registrationReportBucket);
  const reading = (async () => {
    for await (const { value } of values.watch(stop.signal))
      if (value !== undefined) reported = decodeRegisteredWorkloads(value);
  })();
  await until(() => reported?.length === 1, { withinMs: 30_000, what: "one machine" });
  assert.deepEqual(reported?.[0], {
    key: { namespace: "n", group: "vms", network: "net", instance: "vm.n" },
    address: "10.9.0.1",
    locality: "r/z",
    labels: { app: "vm" },
    identities: ["spiffe://td/ns/n/sa/vm"],
    connectedAtMs: 7,
  });
  machines.observer.health?.(vm, false, "503");
  await until(() => reported?.[0]?.health?.message === "503", { withinMs: 30_000, what: "its health" });
  machines.observer.closed?.(vm, "gone");
  await until(() => reported?.length === 0, { withinMs: 30_000, what: "no machine" });
  machines.observer.opened?.(vm);
  await until(() => reported?.length === 1, { withinMs: 30_000, what: "the machine that came back" });
  stop.abort();
  await Promise.all([done, reading]);
});
