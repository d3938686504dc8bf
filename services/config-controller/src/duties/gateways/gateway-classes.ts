/** The mesh's GatewayClasses, created where they are missing. Existing ones are left as they are. */
import type { GatewayClassRules } from "@flotilla/gateway-api";
import { follow, type KubeApi, KubeError, type KubeObject } from "@flotilla/kube-api";
import type { Logger } from "@flotilla/runtime";

export interface GatewayClassesOptions {
  readonly api: KubeApi;
  readonly classes: ReadonlyMap<string, GatewayClassRules>;
  readonly log: Logger;
  readonly random: () => number;
}

const root = "/apis/gateway.networking.k8s.io/v1/gatewayclasses";

/** Runs until `stop` fires. Does nothing in clusters that do not serve the kind. */
export async function keepGatewayClasses(options: GatewayClassesOptions, stop: AbortSignal): Promise<void> {
  const { api, classes, log } = options;
  for await (const { isKnown, objects } of followedClasses(options, stop)) {
    if (!isKnown) continue;
    const known = new Set(objects.map(({ metadata }) => metadata.name));
    for (const [name, { controller, description }] of classes) {
      if (known.has(name)) continue;
      const spec = { controllerName: controller, description };
      try {
        await api.create(root, {
          apiVersion: "gateway.networking.k8s.io/v1",
          kind: "GatewayClass",
          metadata: { name },
          spec,
        });
        log.info("GatewayClass created", { name, controller });
      } catch (error) {
        if (!(error instanceof KubeError)) throw error;
        // Made by somebody else meanwhile is as good; after anything else the next change of a class tries again.
        if (error.code !== "KUBE_CONFLICT") log.warn("GatewayClass not created", { name, reason: error.message });
      }
    }
  }
}

/** A kind that is not known has no objects: the server is asked which of the two it is. */
async function* followedClasses(
  { api, log, random }: GatewayClassesOptions,
  stop: AbortSignal,
): AsyncGenerator<{ readonly isKnown: boolean; readonly objects: readonly KubeObject[] }> {
  for await (const objects of follow<KubeObject>(api, root, { log, random, mayBeAbsent: true }, stop))
    yield { isKnown: objects.length > 0 || (await isServed(api, stop)), objects };
}

async function isServed(api: KubeApi, stop: AbortSignal): Promise<boolean> {
  try {
    return (await api.get(`${root}?limit=1`, stop)) !== undefined;
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
    return false;
  }
}
