/** Wires what ca signs with: the material in use, the one to come, and the rotation that leads from one to the other. */
import { hostname } from "node:os";
import { join } from "node:path";
import type { Health, Logger } from "@flotilla/runtime";
import type { Cluster } from "../kubernetes/cluster.ts";
import { endedPods } from "../kubernetes/ended-pods.ts";
import type { MeshTrust } from "../mesh/mesh-trust.ts";
import { MaterialSource } from "../roots/material-source.ts";
import type { SelfSignedStore } from "../roots/self-signed-store.ts";
import type { Settings } from "../settings.ts";
import type { Anchors } from "../trust/anchors.ts";
import { ActiveMaterial } from "./active-material.ts";
import { Rotation } from "./rotation.ts";

export interface Roots {
  readonly source: MaterialSource;
  readonly active: ActiveMaterial;
  readonly rotation: Rotation;
}

export interface RootParts {
  readonly trust: MeshTrust;
  readonly anchors: Anchors;
  /** Of self-signed roots. */
  readonly store: SelfSignedStore;
  readonly cluster: Cluster | undefined;
  readonly health: Health;
  readonly log: Logger;
}

export function createRoots(settings: Settings, { trust, anchors, store, cluster, health, log }: RootParts): Roots {
  const { rootCaDir, multiRoot, pollMs, rootCheckMs, rootGracePercent, namespace } = settings;
  const { rootInCacerts: ignoresGenerated } = settings;
  const selfSigned = { keyType: settings.selfSignedKey, ttlMs: settings.selfSignedTtlMs };
  const [trustDomains, nowMs] = [() => trust.all, Date.now];
  const source: MaterialSource = new MaterialSource({
    ...{
      rootCaDir,
      ignoresGenerated,
      multiRoot,
      pollMs,
      rootCheckMs,
      rootGracePercent,
      selfSigned,
      store,
      trustDomains,
      nowMs,
    },
    mayRenew: () => rotation.leads,
    isExpected: (next) => active.isExpected(next),
    trustDomain: () => trust.trustDomain,
    random: Math.random,
    log: log.child({ part: "roots" }),
    onProblem: (reason) => health.setCondition("signing material", reason),
  });
  const active: ActiveMaterial = new ActiveMaterial({
    ...{ source, store, trustDomains, nowMs },
    nextDir: settings.rootCaNextDir,
    rootOptions: () => ({ ...selfSigned, trustDomain: trust.trustDomain }),
    log: log.child({ part: "roots" }),
  });
  const rotation: Rotation = new Rotation({
    ...{ source, store, active, namespace, nowMs },
    name: `${hostname()}:${settings.port}`,
    stateFile: join(settings.selfSignedDir, "rotation.json"),
    journalFile: join(settings.selfSignedDir, "issued.journal"),
    checkMs: settings.rotationCheckMs,
    settleMs: settings.rotationSettleMs,
    maxTtlMs: settings.maxTtlMs,
    endedOf:
      cluster === undefined
        ? () => Promise.resolve(new Set())
        : endedPods({ api: cluster.api, clusterId: settings.clusterId, nowMs, log: log.child({ part: "rotation" }) }),
    bundleOf: (rootsPem) => rootsPem + anchors.pem,
    log: log.child({ part: "rotation" }),
    onProblem: (reason) => health.setCondition("rotation", reason),
  });
  return { source, active, rotation };
}
