/** A directory, read as a store. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe } from "node:test";
import { apiVersionOf, kindNamed } from "@flotilla/kinds";
import type { Config } from "@flotilla/model";
import { configAdmission, configDirectory } from "../watch/config-source.ts";
import { configStoreConformance, type StoreUnderTest } from "./config-store.conformance.ts";
import { ConfigTable } from "./config-table.ts";
import { followSource, readOnlyStore } from "./source-store.ts";

describe("a directory as a store", () => configStoreConformance(openDirectory));

async function openDirectory(): Promise<StoreUnderTest> {
  const path = await mkdtemp(join(tmpdir(), "store-"));
  const stop = new AbortController();
  const source = configDirectory({
    path,
    admission: configAdmission(),
    revision: "default",
    onProblems: () => undefined,
  });
  const table = new ConfigTable();
  const following = followSource(source, table, () => undefined, stop.signal);
  return {
    store: readOnlyStore(source.name, table),
    hasVersions: false,
    seed: (configs) =>
      writeFile(
        join(path, "objects.json"),
        JSON.stringify({ apiVersion: "v1", kind: "List", items: configs.map(manifest) }),
      ),
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await following;
      await source[Symbol.asyncDispose]();
      await rm(path, { recursive: true });
    },
  };
}

function manifest({ key, labels, spec }: Config): unknown {
  const kind = kindNamed(key.kind);
  if (kind === undefined) throw new RangeError(key.kind);
  return {
    apiVersion: apiVersionOf(kind),
    kind: kind.kind,
    metadata: { namespace: key.namespace, name: key.name, labels },
    spec,
  };
}
