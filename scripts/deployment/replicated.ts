/** k8s/components/replicated-servers: as many addresses as servers, and NATS lets in whom k8s/base lets in. */
import { isDeepStrictEqual } from "node:util";
import { type Check, type Read, readObjects } from "./files.ts";

const directory = "k8s/components/replicated-servers";

interface Replicated {
  readonly spec?: { readonly replicas?: number };
}

export function checkReplicated(read: Read, check: Check): void {
  const objects = readObjects(read, directory);
  const settings = objects.find(({ metadata: { name } }) => name === "flotilla")?.data ?? {};
  const config = read(`${directory}/nats.conf`);
  const addresses: Readonly<Record<string, readonly (readonly [where: string, text: string, port: number])[]>> = {
    "flotilla-nats": [
      [`${directory}/settings.yaml: BUS_URL`, settings["BUS_URL"] ?? "", 4222],
      [`${directory}/nats.conf`, config, 6222],
    ],
    "flotilla-redis": [[`${directory}/settings.yaml: STORE_URL`, settings["STORE_URL"] ?? "", 26379]],
  };
  for (const [name, places] of Object.entries(addresses)) {
    const workload = objects.find(({ kind, metadata }) => kind === "StatefulSet" && metadata.name === name);
    const replicas = (workload as Replicated | undefined)?.spec?.replicas ?? 0;
    const expected = Array.from({ length: replicas }, (_, i) => `${name}-${i}.${name}.istio-system.svc`);
    for (const [where, text, port] of places) {
      const found = [...text.matchAll(/([a-z0-9.-]+\.svc):(\d+)/g)].filter(([, , at]) => Number(at) === port);
      const named = found.map(([, host = ""]) => host);
      check(
        isDeepStrictEqual(named, expected),
        `${where} names ${named.join(", ")}, the servers are ${expected.join(", ")}`,
      );
    }
  }
  for (const part of [/^authorization \{.*?^\}/ms, /^tls \{.*?^\}/ms]) {
    const [base = "none"] = part.exec(read("k8s/base/nats.conf")) ?? [];
    check(config.includes(base), `${directory}/nats.conf differs from k8s/base/nats.conf in ${base.split(" ")[0]}`);
  }
}
