/** Checks what Consul answers: one instance that is not as it should be is left out and named, the others stay. */
import type { ConsulInstance } from "@flotilla/registry";
import { ConsulError } from "./errors.ts";

/** A field of an instance that has not the type Consul documents. */
export interface InstanceProblem {
  /** The instance's id, or its place in the answer. */
  readonly id: string;
  readonly field: string;
  readonly reason: string;
}

/** The valid instances of an answer, and what was left out. */
export interface ParsedInstances {
  readonly instances: readonly ConsulInstance[];
  readonly problems: readonly InstanceProblem[];
}

type Fields = Readonly<Record<string, unknown>>;

/** The names of `/v1/catalog/services`. @throws ConsulError CONSUL_ANSWER */
export function parseServiceNames(body: unknown): readonly string[] {
  if (!isFields(body)) throw new ConsulError("CONSUL_ANSWER", "/v1/catalog/services: the answer is no object");
  return Object.keys(body).sort();
}

/** The names of `/v1/catalog/datacenters`, the agent's own first. @throws ConsulError CONSUL_ANSWER */
export function parseDatacenters(body: unknown): readonly string[] {
  if (!Array.isArray(body) || !body.every((name) => typeof name === "string"))
    throw new ConsulError("CONSUL_ANSWER", "/v1/catalog/datacenters: the answer is no list of names");
  return body;
}

/** The entries of `/v1/health/service/NAME`. @throws ConsulError CONSUL_ANSWER */
export function parseInstances(body: unknown): ParsedInstances {
  if (!Array.isArray(body)) throw new ConsulError("CONSUL_ANSWER", "/v1/health/service: the answer is no list");
  const instances: ConsulInstance[] = [];
  const problems: InstanceProblem[] = [];
  body.forEach((entry: unknown, index) => {
    try {
      instances.push(parseInstance(entry));
    } catch (cause) {
      if (!(cause instanceof WrongField)) throw cause;
      const service = isFields(entry) ? entry["Service"] : undefined;
      const id = isFields(service) && typeof service["ID"] === "string" ? service["ID"] : `[${index}]`;
      problems.push({ id, field: cause.field, reason: `${cause.message}: the instance is left out` });
    }
  });
  return { instances, problems };
}

class WrongField extends Error {
  readonly field: string;

  constructor(field: string, reason: string) {
    super(reason);
    this.field = field;
  }
}

function parseInstance(entry: unknown): ConsulInstance {
  const all = fields(entry, "");
  const node = fields(all["Node"], "Node");
  const service = fields(all["Service"], "Service");
  const weights = optionalFields(service["Weights"], "Service.Weights");
  const locality = optionalFields(service["Locality"], "Service.Locality");
  const checks = all["Checks"] ?? [];
  if (!Array.isArray(checks)) throw new WrongField("Checks", "is no list");
  const kind = text(service["Kind"], "Service.Kind");
  return {
    ...(kind === "" ? {} : { kind }),
    node: text(node["Node"], "Node.Node"),
    nodeAddress: text(node["Address"], "Node.Address"),
    datacenter: text(node["Datacenter"], "Node.Datacenter"),
    id: text(service["ID"], "Service.ID"),
    address: text(service["Address"], "Service.Address"),
    port: whole(service["Port"], "Service.Port", 0),
    tags: texts(service["Tags"], "Service.Tags"),
    meta: textMap(service["Meta"], "Service.Meta"),
    taggedAddresses: taggedAddresses(service["TaggedAddresses"]),
    weights: {
      passing: whole(weights["Passing"], "Service.Weights.Passing", 1),
      warning: whole(weights["Warning"], "Service.Weights.Warning", 1),
    },
    locality: {
      region: text(locality["Region"], "Service.Locality.Region"),
      zone: text(locality["Zone"], "Service.Locality.Zone"),
    },
    checks: checks.map((check, index) => text(fields(check, `Checks[${index}]`)["Status"], `Checks[${index}].Status`)),
  };
}

function taggedAddresses(value: unknown): Readonly<Record<string, string>> {
  const all = optionalFields(value, "Service.TaggedAddresses");
  return Object.fromEntries(
    Object.entries(all).map(([name, entry]) => {
      const field = `Service.TaggedAddresses[${name}]`;
      return [name, text(fields(entry, field)["Address"], `${field}.Address`)];
    }),
  );
}

function fields(value: unknown, field: string): Fields {
  if (!isFields(value)) throw new WrongField(field, "is no object");
  return value;
}

function optionalFields(value: unknown, field: string): Fields {
  return value === undefined || value === null ? {} : fields(value, field);
}

/** Consul writes null for what is empty. */
function text(value: unknown, field: string): string {
  if (value === undefined || value === null) return "";
  if (typeof value !== "string") throw new WrongField(field, "is no text");
  return value;
}

function texts(value: unknown, field: string): readonly string[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw new WrongField(field, "is no list");
  return value.map((one, index) => text(one, `${field}[${index}]`));
}

function textMap(value: unknown, field: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(optionalFields(value, field)).map(([name, one]) => [name, text(one, `${field}[${name}]`)]),
  );
}

function whole(value: unknown, field: string, otherwise: number): number {
  if (value === undefined || value === null) return otherwise;
  if (typeof value !== "number" || !Number.isInteger(value)) throw new WrongField(field, "is no whole number");
  return value;
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
