/** Inputs that a hostile or mistaken client can send to the port, and the answers to them: for the test and the bench. */
import { request } from "node:https";

/** In place of a status, where the connection was closed before an answer was read. */
export const closed = 0;

/** The answer, and how long it took with its handshake. */
interface Answer {
  readonly status: number;
  readonly text: string;
  readonly clockMs: number;
}

/** Over a connection of its own; `chunks` are sent as fast as they are taken, until there is an answer. */
export function sendBody(
  port: number,
  { path, body, headers }: Pick<BadInput, "path" | "body" | "headers">,
): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const startedMs = performance.now();
  const asked = request(
    {
      ...{ host: "127.0.0.1", port, path, method: "POST", rejectUnauthorized: false, agent: false },
      headers: { "content-type": "application/json", ...headers },
    },
    (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (part: string) => {
        text += part;
      });
      response.on("end", () => {
        resolve({ status: response.statusCode ?? 0, text, clockMs: performance.now() - startedMs });
        asked.destroy();
      });
    },
  );
  let isAnswered = false;
  asked.on("response", () => {
    isAnswered = true;
  });
  // A server may close while an unwanted body is still being sent, and the failed write may hide its answer.
  asked.on("error", (error: NodeJS.ErrnoException) => {
    if (isAnswered) return;
    if (error.code !== "EPIPE" && error.code !== "ECONNRESET") return reject(error);
    resolve({ status: closed, text: error.code, clockMs: performance.now() - startedMs });
  });
  const parts = body()[Symbol.iterator]();
  const write = (): void => {
    for (let next = parts.next(); !isAnswered; next = parts.next()) {
      if (next.done === true) return void asked.end();
      if (!asked.write(next.value)) return void asked.once("drain", write);
    }
  };
  write();
  return promise;
}

function review(object: unknown, kind: object): string {
  const asked = { uid: "u1", kind, namespace: "shop", operation: "CREATE", object };
  return JSON.stringify({ apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", request: asked });
}

const podKind = { group: "", version: "v1", kind: "Pod" };
const routeKind = { group: "networking.istio.io", version: "v1", kind: "VirtualService" };
const container = (index: number) => ({
  name: `c${index}`,
  image: "a",
  ports: [{ containerPort: 1 + (index % 60_000) }],
});
const pod = (containers: readonly object[], annotations: Readonly<Record<string, string>> = {}) => ({
  ...{ apiVersion: "v1", kind: "Pod", spec: { containers } },
  metadata: { generateName: "web-", labels: { app: "web" }, annotations },
});
const route = (spec: object) => ({
  ...{ apiVersion: "networking.istio.io/v1", kind: "VirtualService", metadata: { name: "a" }, spec },
});

/** Each name stands for the one before it ten times. */
function yamlBomb(levels: number): string {
  const lines = ["l0: &l0 [a, a, a, a, a, a, a, a, a, a]"];
  for (let level = 1; level < levels; level++) {
    const before = Array.from({ length: 10 }, () => `*l${level - 1}`).join(", ");
    lines.push(`l${level}: &l${level} [${before}]`);
  }
  return lines.join("\n");
}

function* repeated(text: string, times: number): Generator<string> {
  for (let count = 0; count < times; count++) yield text;
}

const megabyte = "x".repeat(1024 * 1024);
const nested = (levels: number) => `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`;
const asReview = (text: string, kind: object) => review("OBJECT", kind).replace('"OBJECT"', text);

export interface BadInput {
  readonly name: string;
  readonly path: string;
  readonly body: () => Iterable<string>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly status: number;
  readonly answer: RegExp;
}

export const badInputs: readonly BadInput[] = [
  {
    ...{ name: "a body that is no JSON", path: "/inject", body: () => ["{"] },
    ...{ status: 200, answer: /"allowed":false.*JSON/ },
  },
  {
    ...{ name: "another content type", path: "/validate", body: () => ["a: b"] },
    ...{ headers: { "content-type": "application/yaml" }, status: 415, answer: /invalid Content-Type/ },
  },
  {
    ...{ name: "annotations of 3 MB", path: "/inject" },
    body: () => [review(pod([container(0)], { padding: megabyte.repeat(3) }), podKind)],
    ...{ status: 200, answer: /"allowed":false.*at most 262144 are allowed/ },
  },
  {
    ...{ name: "a body of 3 MB", path: "/inject" },
    body: () => [review(pod([{ ...container(0), args: [megabyte.repeat(3)] }]), podKind)],
    ...{ status: 200, answer: /"allowed":true/ },
  },
  {
    ...{ name: "a body of 300 MB", path: "/inject", body: () => repeated(megabyte, 300) },
    ...{ headers: { "content-length": String(300 * megabyte.length) }, status: 413, answer: /./ },
  },
  {
    ...{ name: "a body of 300 MB of unknown length", path: "/validate", body: () => repeated(megabyte, 300) },
    ...{ status: 413, answer: /./ },
  },
  {
    ...{ name: "10,000 containers", path: "/inject" },
    body: () => [review(pod(Array.from({ length: 10_000 }, (_, index) => container(index))), podKind)],
    ...{ status: 200, answer: /"allowed":(true|false)/ },
  },
  {
    ...{ name: "a pod of 50,000 levels", path: "/inject", body: () => [asReview(nested(50_000), podKind)] },
    ...{ status: 200, answer: /"allowed":false/ },
  },
  {
    ...{ name: "an object of 50,000 levels", path: "/validate", body: () => [asReview(nested(50_000), routeKind)] },
    ...{ status: 200, answer: /"allowed":false/ },
  },
  {
    ...{ name: "a YAML bomb for a proxy configuration", path: "/inject" },
    body: () => [review(pod([container(0)], { "proxy.istio.io/config": yamlBomb(12) }), podKind)],
    ...{ status: 200, answer: /"allowed":false/ },
  },
  {
    ...{ name: "keys of every object in a pod", path: "/inject" },
    body: () => [
      asReview(
        '{"__proto__":{"polluted":true},"metadata":{"__proto__":{"polluted":true}},"spec":{"containers":[],"constructor":{}}}',
        podKind,
      ),
    ],
    ...{ status: 200, answer: /"allowed":(true|false)/ },
  },
  {
    ...{ name: "keys of every object in configuration", path: "/validate" },
    body: () => [
      asReview(
        JSON.stringify(route({ hosts: ["a"], x: 1 })).replace('"x":1', '"__proto__":{"polluted":true}'),
        routeKind,
      ),
    ],
    ...{ status: 200, answer: /"allowed":false/ },
  },
];

/** An ordinary pod, which is injected. */
export const goodInput: Pick<BadInput, "path" | "body"> = {
  path: "/inject",
  body: () => [review(pod([container(0)]), podKind)],
};
