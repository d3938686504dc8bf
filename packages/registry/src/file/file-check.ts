/** Checks a service of a registry file: reports the first problem, with its field. */
import { isIpAddress, isUnsupported, ownValue, parseCidr, parseProtocol } from "@flotilla/model";

/** A problem with a service: the field and a reason that completes its sentence. */
export interface FileFinding {
  readonly field: string;
  readonly reason: string;
}

type Check = (value: unknown, at: string) => FileFinding | undefined;

/** The first thing that is wrong with a service of a registry file; undefined when it is valid. */
export function serviceFinding(value: unknown): FileFinding | undefined {
  return service(value, "") ?? endpointFindings(value as CheckedService);
}

interface CheckedService {
  readonly resolution?: string;
  readonly ports: readonly { readonly name: string }[];
  readonly endpoints?: readonly { readonly address: string; readonly ports?: Readonly<Record<string, number>> }[];
}

const text = is((value) => typeof value === "string" && value !== "", "is no text, or an empty one");
const number = (least: number, most: number): Check =>
  is(
    (value) => Number.isInteger(value) && Number(value) >= least && Number(value) <= most,
    (value) => `${show(value)} is no number from ${least} to ${most}`,
  );
const portNumber = number(1, 65_535);
const labels = mapOf(is((value) => typeof value === "string", "is no text"));
const hostname = is(
  (value) => typeof value === "string" && /^(\*\.)?[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(value),
  (value) => `${show(value)} is no host name`,
);
const range = is(
  (value) => typeof value === "string" && parseCidr(value) !== undefined,
  (value) => `${show(value)} is neither an address nor a range`,
);
const protocol = is(
  (value) => typeof value === "string" && !isUnsupported(parseProtocol(value)),
  (value) => `${show(value)} is no protocol, such as HTTP, GRPC, TCP or TLS`,
);
const port = fieldsOf({ name: text, number: portNumber }, { protocol, targetPort: portNumber });
const endpoint = fieldsOf(
  { address: text },
  {
    ports: mapOf(portNumber),
    labels,
    locality: text,
    network: text,
    weight: number(0, 2 ** 31 - 1),
    serviceAccount: text,
    health: oneOf("healthy", "unhealthy", "draining"),
  },
);
const service = fieldsOf(
  { host: hostname, ports: listOf(port, 1) },
  {
    namespace: text,
    addresses: listOf(range),
    location: oneOf("mesh", "external"),
    resolution: oneOf("static", "dns", "none"),
    labels,
    exportTo: listOf(text),
    endpoints: listOf(endpoint),
  },
);

/** Rules on several fields together. */
function endpointFindings({ resolution = "static", ports, endpoints = [] }: CheckedService): FileFinding | undefined {
  const names = new Set<string>();
  for (const [index, { name }] of ports.entries()) {
    if (names.has(name)) return { field: `ports[${index}].name`, reason: `"${name}" is another port's name too` };
    names.add(name);
  }
  for (const [index, { address, ports: own = {} }] of endpoints.entries()) {
    const at = `endpoints[${index}]`;
    const unknown = Object.keys(own).find((name) => !names.has(name));
    if (unknown !== undefined)
      return { field: `${at}.ports.${unknown}`, reason: "the service has no port of that name" };
    if (resolution !== "dns" && !isIpAddress(address) && !address.startsWith("unix:///"))
      return { field: `${at}.address`, reason: `"${address}" is no address; names need "resolution: dns"` };
  }
  return undefined;
}

function is(holds: (value: unknown) => boolean, reason: string | ((value: unknown) => string)): Check {
  return (value, field) =>
    holds(value) ? undefined : { field, reason: typeof reason === "string" ? reason : reason(value) };
}

function oneOf(...values: readonly string[]): Check {
  return is(
    (value) => values.includes(String(value)),
    (value) => `${show(value)} is none of ${values.join(", ")}`,
  );
}

function listOf(item: Check, least = 0): Check {
  return (value, field) => {
    if (!Array.isArray(value)) return { field, reason: "is no list" };
    if (value.length < least) return { field, reason: "is empty" };
    return first(value.map((one, index) => () => item(one, `${field}[${index}]`)));
  };
}

function mapOf(item: Check): Check {
  return (value, field) => {
    if (!isMap(value)) return { field, reason: "is no map" };
    return first(
      Object.entries(value).map(
        ([name, one]) =>
          () =>
            item(one, `${field}.${name}`),
      ),
    );
  };
}

function fieldsOf(required: Readonly<Record<string, Check>>, optional: Readonly<Record<string, Check>>): Check {
  const known: Readonly<Record<string, Check>> = { ...required, ...optional };
  return (value, at) => {
    if (!isMap(value)) return { field: at, reason: "is no map of fields" };
    const path = (name: string) => (at === "" ? name : `${at}.${name}`);
    const missing = Object.keys(required).find((name) => ownValue(value, name) === undefined);
    if (missing !== undefined) return { field: path(missing), reason: "is missing" };
    return first(
      Object.entries(value).map(([name, one]) => () => {
        const check = ownValue(known, name);
        if (check === undefined)
          return { field: path(name), reason: `is not known; there are ${Object.keys(known).join(", ")}` };
        return check(one, path(name));
      }),
    );
  };
}

function first(checks: readonly (() => FileFinding | undefined)[]): FileFinding | undefined {
  for (const check of checks) {
    const finding = check();
    if (finding !== undefined) return finding;
  }
  return undefined;
}

function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function show(value: unknown): string {
  return JSON.stringify(value) ?? String(value);
}
