/** Another control plane, read as a store. */
import { describe } from "node:test";
import { isIstioKind, kindNamed, kinds, mcpTypeUrls } from "@flotilla/kinds";
import type { Config } from "@flotilla/model";
import type { JsonValue } from "@flotilla/proto";
import { noopLogger } from "@flotilla/runtime";
import { grpcTransport } from "@flotilla/xds/grpc";
import { configStoreConformance, type StoreUnderTest } from "../../store/config-store.conformance.ts";
import { ConfigTable } from "../../store/config-table.ts";
import { followSource, readOnlyStore } from "../../store/source-store.ts";
import { configAdmission } from "../config-source.ts";
import { mcpNode } from "./mcp-client.ts";
import { McpServer } from "./mcp-server.fixture.ts";
import { mcpSource } from "./mcp-source.ts";

describe("another control plane as a store", () => configStoreConformance(openServer));

async function openServer(): Promise<StoreUnderTest> {
  const server = await McpServer.start({ delta: "spoken" });
  const stop = new AbortController();
  const source = mcpSource({
    name: `xds://127.0.0.1:${server.port}`,
    transport: grpcTransport({ address: `127.0.0.1:${server.port}` }),
    node: mcpNode({ namespace: "istio-system", instance: "test", revision: "default", version: "1.0.0" }),
    kinds: kinds.filter(isIstioKind),
    ...{ revision: "default", admission: configAdmission(), log: noopLogger, quietMs: 50 },
    ...{ nowMs: Date.now, random: () => 0, onProblems: () => undefined },
  });
  const table = new ConfigTable();
  const following = followSource(source, table, () => undefined, stop.signal);
  return {
    store: readOnlyStore(source.name, table),
    hasVersions: false,
    seed: async (configs) => {
      for (const [typeUrl, objects] of Map.groupBy(configs, typeUrlOf)) server.set(typeUrl, objects.map(servedObject));
    },
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await following;
      await source[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

function typeUrlOf({ key }: Config): string {
  const kind = kindNamed(key.kind);
  const [typeUrl] = kind === undefined ? [] : mcpTypeUrls(kind);
  if (typeUrl === undefined) throw new RangeError(key.kind);
  return typeUrl;
}

function servedObject({ key, labels, spec }: Config) {
  const name = `${key.namespace}/${key.name}`;
  return { name, message: kindNamed(key.kind)?.message ?? "", labels, spec: spec as JsonValue, version: "1" };
}
