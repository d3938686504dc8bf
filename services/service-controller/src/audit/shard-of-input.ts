/** The units of the comparison with a source: the shard of an input, its name in it, and its content. */
import { createHash } from "node:crypto";
import { compareText, configKeyText, objectKey } from "@flotilla/model";
import { consulKeyText, type RegistryInput } from "@flotilla/registry";

export interface CountedInput {
  readonly shard: string;
  /** Unique within all shards. */
  readonly text: string;
  /** Undefined: it is gone. */
  readonly digest: string | undefined;
}

/** Undefined for inputs that no list can give: configuration comes from the bus, which counts by itself. */
export function countedInput(input: RegistryInput, ownCluster: string): CountedInput | undefined {
  if (input.type === "consul") {
    const shard = `Consul/${input.key.datacenter}`;
    const text = `${shard} ${consulKeyText(input.key)}`;
    if (input.op === "delete" || input.instances.length === 0) return { shard, text, digest: undefined };
    // The catalog's answers come in no fixed order.
    const instances = [...input.instances].sort((a, b) => compareText(`${a.node}/${a.id}`, `${b.node}/${b.id}`));
    return { shard, text, digest: digestOf(instances) };
  }
  if (input.type !== "object") return undefined;
  const shard = `Kubernetes/${input.cluster ?? ownCluster}`;
  if (input.op === "delete") return { shard, text: `${shard} ${configKeyText(input.key)}`, digest: undefined };
  const text = `${shard} ${configKeyText(objectKey(input.object))}`;
  return { shard, text, digest: input.object.metadata.resourceVersion || digestOf(input.object) };
}

/** That an input of this name is gone. */
export function goneInput(input: RegistryInput): RegistryInput {
  if (input.type === "consul") return { type: "consul", op: "delete", key: input.key };
  if (input.type !== "object") throw new TypeError(`inputs of type ${input.type} are not counted`);
  const cluster = input.cluster === undefined ? {} : { cluster: input.cluster };
  return { type: "object", op: "delete", key: input.op === "put" ? objectKey(input.object) : input.key, ...cluster };
}

export function digestOf(value: unknown): string {
  return createHash("sha256").update(JSON.stringify(value)).digest("base64url").slice(0, 22);
}
