/** The objects of one kind as a server sent them last, the valid ones in force: a refused version leaves the last valid one. */
import { createHash } from "node:crypto";
import type { Kind } from "@flotilla/kinds";
import type { ConfigChange, ConfigKey } from "@flotilla/model";
import type { Admission, SourceProblem } from "@flotilla/sources";
import type { ReceivedResource } from "@flotilla/xds/client";
import { configPut } from "../config-source.ts";
import { type ReadResource, readResource } from "./read-resource.ts";

export interface McpTableOptions {
  readonly kind: Kind;
  /** Of the server, for the objects' provenance. */
  readonly source: string;
  readonly revision: string;
  readonly admission: Admission;
}

interface Row {
  readonly hash: string;
  readonly key?: ConfigKey;
  readonly problems: readonly SourceProblem[];
}

/** Smaller messages are no large objects, however much longer their JSON is. */
const maxSmallBytes = 2_048;

export class McpTable {
  readonly #options: McpTableOptions;
  readonly #rows = new Map<string, Row>();
  /** Large objects that were validated aside, until they are put: their verdicts belong to these values. */
  readonly #prepared = new Map<string, { readonly hash: string; readonly read: ReadResource }>();

  constructor(options: McpTableOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#rows.size;
  }

  get problems(): readonly SourceProblem[] {
    return [...this.#rows.values()].flatMap(({ problems }) => problems);
  }

  /** Has large objects validated aside; undefined where there are none. */
  prepare(resources: readonly ReceivedResource[]): Promise<void> | undefined {
    const { kind, admission } = this.#options;
    const preparing = resources.flatMap(({ name, bytes }) => {
      if (bytes.length <= maxSmallBytes) return [];
      const hash = hashOf(bytes);
      if (this.#rows.get(name)?.hash === hash) return [];
      const read = readResource(kind, bytes);
      const verdict = "reason" in read ? undefined : admission.prepare?.(read.object);
      if (verdict === undefined) return [];
      this.#prepared.set(name, { hash, read });
      return [verdict];
    });
    return preparing.length === 0 ? undefined : Promise.all(preparing).then(() => undefined);
  }

  /** Returns the changes. Bytes that are the same as before are not decoded again. */
  put({ name, bytes }: ReceivedResource): readonly ConfigChange[] {
    const hash = hashOf(bytes);
    const prepared = this.#prepared.get(name);
    this.#prepared.delete(name);
    const before = this.#rows.get(name);
    if (before?.hash === hash) return [];
    const { kind, source, revision, admission } = this.#options;
    const refuse = (findings: readonly { readonly field: string; readonly reason: string }[]) => {
      const place = { file: "", line: 0, object: `${kind.kind}/${name}` };
      const problems = findings.map((finding) => ({ ...place, ...finding }));
      this.#rows.set(name, { hash, ...(before?.key && { key: before.key }), problems });
      return [];
    };
    const read = prepared?.hash === hash ? prepared.read : readResource(kind, bytes);
    if ("reason" in read) return refuse([read]);
    const findings = admission.check(read.object);
    if (findings.length > 0) return refuse(findings);
    const provenance = { source: "mcp", location: read.version === "" ? source : `${source}@${read.version}` };
    const change = configPut(read.object, provenance, revision);
    if (change === undefined) return refuse([{ field: "kind", reason: "is no configuration" }]);
    this.#rows.set(name, { hash, ...(change.op === "put" && { key: change.key }), problems: [] });
    if (change.op === "delete") return before?.key === undefined ? [] : [change];
    return [change];
  }

  remove(name: string): readonly ConfigChange[] {
    const key = this.#rows.get(name)?.key;
    this.#rows.delete(name);
    return key === undefined ? [] : [{ type: "config", op: "delete", key }];
  }

  /** Why the object of this name is not in force as it was sent; undefined when it is. */
  refusalOf(name: string): string | undefined {
    const problems = this.#rows.get(name)?.problems ?? [];
    if (problems.length === 0) return undefined;
    return problems.map(({ field = "", reason }) => [field, reason].filter(Boolean).join(" ")).join(", ");
  }

  /** Everything there is: names that are not in it are gone. */
  retain(names: ReadonlySet<string>): readonly ConfigChange[] {
    return [...this.#rows.keys()].filter((name) => !names.has(name)).flatMap((name) => this.remove(name));
  }
}

function hashOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("base64");
}
