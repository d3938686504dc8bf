/** A pod outside of the mesh, which calls orders without a certificate. */
import { apply, kubectl, statusSeenBy } from "./process.ts";

const namespace = "outside";

export async function startStranger(image: string): Promise<void> {
  const forever = "setInterval(() => {}, 1e9)";
  await apply([
    { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } },
    {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "stranger", namespace },
      spec: {
        containers: [{ name: "node", image, args: ["-e", forever] }],
        terminationGracePeriodSeconds: 0,
      },
    },
  ]);
  await kubectl("-n", namespace, "wait", "--for=condition=Ready", "pod/stranger", "--timeout=60s");
}

/** The status of the answer, or why there was none. */
export function strangerGets(): Promise<string> {
  return statusSeenBy(["-n", namespace, "stranger"], "http://orders.shop:8080/");
}

export async function removeStranger(): Promise<void> {
  await kubectl("delete", "namespace", namespace, "--ignore-not-found");
}
