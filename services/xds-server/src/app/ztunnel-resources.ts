/**
 * The resources that every ztunnel receives, computed and encoded before this replica is ready and kept while it runs. Otherwise the first ztunnel
 * of a large mesh would wait for 12,000 of them, and every other stream with it: they are one computation for all ztunnels.
 */
import { parseNode } from "@flotilla/model";
import { typeUrl } from "@flotilla/proto";
import { TimeSlice } from "@flotilla/runtime";
import { encodedSlice } from "@flotilla/xds";
import type { Core } from "./core.ts";

/** The answers of ztunnels to what their resources are computed from are the same on all nodes. */
const anyZtunnel = parseNode({
  id: "ztunnel~0.0.0.0~ztunnel.istio-system~istio-system.svc.cluster.local",
  locality: { region: "", zone: "", subzone: "" },
  metadata: {},
});

/** Resolves when all are computed, or `stop` fires; disposed of, they are kept for connected ztunnels alone. */
export async function keepForZtunnels(core: Core, isAmbient: boolean, stop: AbortSignal): Promise<Disposable> {
  using kept = new DisposableStack();
  const slice = new TimeSlice();
  for (const type of isAmbient ? [typeUrl.address, typeUrl.authorization] : []) {
    const steps = core.observeInSteps(core.subjectOf(anyZtunnel), type);
    let step = steps.next();
    for (; step.done !== true && !stop.aborted; step = steps.next()) {
      encodedSlice(step.value);
      if (slice.isDue) await slice.yield();
    }
    if (step.done !== true) steps.return(undefined);
    else kept.use(step.value);
  }
  return kept.move();
}
