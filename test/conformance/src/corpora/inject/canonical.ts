/** Kubernetes objects in one form, so that two ways to write the same are equal. */

type Json = Readonly<Record<string, unknown>>;

/** Annotations and environment that hold JSON: compared as data. */
const jsonTexts: ReadonlySet<string> = new Set([
  "proxy.istio.io/overrides",
  "sidecar.istio.io/status",
  "ISTIO_KUBE_APP_PROBERS",
  "ISTIO_META_POD_PORTS",
  "ISTIO_PROMETHEUS_ANNOTATIONS",
  "PROXY_CONFIG",
]);

/** Fields that Go leaves out when they are zero; others, such as runAsUser, are pointers and mean something with a zero. */
const zeroIsAbsent: ReadonlySet<string> = new Set([
  "failureThreshold",
  "hostPort",
  "initialDelaySeconds",
  "minReadySeconds",
  "periodSeconds",
  "successThreshold",
  "timeoutSeconds",
  "hostNetwork",
  "paused",
  "readOnly",
  "stdin",
  "test",
  "tty",
]);

const quantities: ReadonlySet<string> = new Set(["limits", "requests"]);

export function canonical(value: unknown, mode: string, name = ""): unknown {
  if (Array.isArray(value)) return value.map((item) => canonical(item, mode));
  if (typeof value === "string") return jsonTexts.has(name) ? parsed(value, mode) : value;
  if (typeof value !== "object" || value === null) return value;
  const object = value as Json;
  const own = isEnvironment(object) ? String(object["name"]) : undefined;
  const parts = Object.entries(object)
    .filter(([field, part]) => !isAbsent(field, part, mode))
    .map(([field, part]): [string, unknown] => {
      if (quantities.has(name)) return [field, quantity(part)];
      return [field, canonical(part, mode, own !== undefined && field === "value" ? own : field)];
    })
    .filter(([, part]) => !isEmpty(part));
  return Object.fromEntries(parts.sort(([a], [b]) => (a < b ? -1 : 1)));
}

function isAbsent(field: string, part: unknown, mode: string): boolean {
  if (part === null || part === undefined || part === "") return true;
  if (field === "status" || field === "creationTimestamp" || field === "strategy" || field === "updateStrategy")
    return true;
  // As the recorded comparison has it.
  if (mode === "webhook" && (field === "sidecar.istio.io/status" || field === "apiVersion"))
    return field !== "apiVersion";
  return zeroIsAbsent.has(field) && (part === 0 || part === false);
}

function isEmpty(part: unknown): boolean {
  return typeof part === "object" && part !== null && Object.keys(part).length === 0;
}

function isEnvironment(object: Json): boolean {
  return typeof object["name"] === "string" && typeof object["value"] === "string";
}

function parsed(text: string, mode: string): unknown {
  try {
    return canonical(JSON.parse(text), mode);
  } catch {
    return text;
  }
}

const suffixes: Readonly<Record<string, number>> = {
  "": 1,
  m: 1e-3,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
};

function quantity(part: unknown): unknown {
  const { 1: number, 2: suffix = "" } = /^([\d.]+)([a-zA-Z]*)$/.exec(String(part)) ?? [];
  const factor = suffixes[suffix];
  return number === undefined || factor === undefined ? part : Math.round(Number(number) * factor * 1000) / 1000;
}
