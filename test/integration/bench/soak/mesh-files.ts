/** A mesh of many small namespaces as files: a change concerns the proxies of one of them. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export const namespaceCount = 50;
const servicesInEach = 4;

export class MeshFiles {
  readonly #directory: string;
  /** Time-outs in seconds by namespace, one a service. */
  readonly #timeouts: number[][];

  constructor(directory: string) {
    this.#directory = directory;
    mkdirSync(directory, { recursive: true });
    this.#timeouts = Array.from({ length: namespaceCount }, () => Array.from({ length: servicesInEach }, () => 1));
    for (let at = 0; at < namespaceCount; at++) this.#write(at);
  }

  /** The timeouts that the proxies of a namespace are to have, as `host=seconds`. */
  expected(namespace: number): string {
    return (this.#timeouts[namespace] ?? []).map((seconds, at) => `web${at}=${seconds}`).join(" ");
  }

  change(random: () => number): void {
    const namespace = Math.floor(random() * namespaceCount);
    const timeouts = this.#timeouts[namespace] ?? [];
    timeouts[Math.floor(random() * servicesInEach)] = 1 + Math.floor(random() * 900);
    this.#write(namespace);
  }

  #write(namespace: number): void {
    const items = (this.#timeouts[namespace] ?? []).flatMap((seconds, at) => objectsOf(namespace, at, seconds));
    const text = JSON.stringify({ apiVersion: "v1", kind: "List", items });
    writeFileSync(join(this.#directory, `ns${namespace}.json`), text);
  }
}

function objectsOf(at: number, service: number, seconds: number): readonly object[] {
  const [namespace, name] = [`ns${at}`, `web${service}`];
  const annotations = { "networking.istio.io/exportTo": "." };
  return [
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name, namespace, annotations },
      spec: { clusterIP: `10.1.${at}.${service + 1}`, ports: [{ name: "http", port: 80 }], selector: { app: name } },
    },
    {
      apiVersion: "networking.istio.io/v1",
      kind: "VirtualService",
      metadata: { name, namespace },
      spec: {
        hosts: [name],
        exportTo: ["."],
        http: [{ timeout: `${seconds}s`, route: [{ destination: { host: name } }] }],
      },
    },
  ];
}
