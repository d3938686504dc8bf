/** A route in the cluster of KUBECONFIG that changes four times a second, each time to the next number. */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { delay } from "@flotilla/runtime";

export interface Changes extends AsyncDisposable {
  /** The last number that the API server took. */
  readonly last: number;
  /** When the API server had taken it; undefined for one that it did not take. */
  madeAt(number: number): number | undefined;
}

const everyMs = 250;
const networking = "networking.istio.io/v1";
const metadata = { name: "change", namespace: "failover" };
const host = "change.failover.example";
const objects = [
  { apiVersion: "v1", kind: "Namespace", metadata: { name: "failover" } },
  {
    apiVersion: networking,
    kind: "ServiceEntry",
    metadata,
    spec: {
      hosts: [host],
      ports: [{ number: 80, name: "http", protocol: "HTTP" }],
      resolution: "STATIC",
      endpoints: [{ address: "192.0.2.1" }],
    },
  },
  { apiVersion: networking, kind: "VirtualService", metadata, spec: specOf(0) },
];

export async function startChanges(): Promise<Changes> {
  for (const object of objects)
    execFileSync("kubectl", ["apply", "-f", "-"], {
      input: JSON.stringify(object),
      stdio: ["pipe", "ignore", "inherit"],
    });
  const proxy = spawn("kubectl", ["proxy", "--port=0"], { stdio: ["ignore", "pipe", "inherit"] });
  const [line] = (await once(proxy.stdout, "data")) as [Buffer];
  const port = /:(\d+)/.exec(String(line))?.[1];
  const url = `http://127.0.0.1:${port}/apis/${networking}/namespaces/failover/virtualservices/change`;
  const made = new Map<number, number>();
  let [last, isOver] = [0, false];
  const changing = (async () => {
    for (let number = 1; !isOver; number++) {
      const response = await fetch(url, {
        method: "PATCH",
        headers: { "content-type": "application/merge-patch+json" },
        body: JSON.stringify({ spec: specOf(number) }),
      });
      await response.arrayBuffer();
      if (response.ok) {
        made.set(number, performance.now());
        last = number;
      }
      await delay(everyMs);
    }
  })();
  return {
    get last() {
      return last;
    },
    madeAt: (number) => made.get(number),
    [Symbol.asyncDispose]: async () => {
      isOver = true;
      await changing;
      proxy.kill();
      execFileSync("kubectl", ["delete", "namespace", "failover", "--wait=false"], { stdio: "ignore" });
    },
  };
}

function specOf(number: number) {
  const route = [{ destination: { host } }];
  return { hosts: [host], http: [{ headers: { response: { set: { "x-change": `change-${number}-` } } }, route }] };
}
