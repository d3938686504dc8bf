/** Wires what a request passes: proof, lines, rules, signing; and the pages that show it. */
import {
  type NodePods,
  type PeerIdentity,
  type PeerRules,
  pageAccess,
  peerIdentity,
  serveProcessPages,
} from "@flotilla/auth";
import type { OwnCluster } from "@flotilla/auth/cluster";
import {
  type Health,
  type HttpHandler,
  type Logger,
  type Metrics,
  type ProcessPages,
  refusedCallerLines,
} from "@flotilla/runtime";
import type { ServingRules } from "../authorize/serving-names.ts";
import { changeRotation, endingsPage, rotationPage, statusPage } from "../debug/pages.ts";
import type { DelegateOptions } from "../delegate/registration-authority.ts";
import type { Cluster } from "../kubernetes/cluster.ts";
import type { MeshTrust } from "../mesh/mesh-trust.ts";
import { declareMetrics } from "../metrics.ts";
import type { SigningMaterial } from "../roots/material.ts";
import type { ActiveMaterial } from "../rotation/active-material.ts";
import type { Rotation } from "../rotation/rotation.ts";
import type { Settings } from "../settings.ts";
import { FairQueue } from "../sign/fair-queue.ts";
import { serialSource } from "../sign/issue-workload.ts";
import type { Anchors } from "../trust/anchors.ts";
import type { IssuerParts } from "./create-certificate.ts";

interface IssuingStages {
  readonly trust: MeshTrust;
  readonly anchors: Anchors;
  readonly active: ActiveMaterial;
  readonly rotation: Rotation;
  readonly metrics: Metrics;
  readonly health: Health;
  readonly log: Logger;
  readonly cluster: Cluster | undefined;
  readonly pods: NodePods;
  readonly delegate: DelegateOptions;
  readonly pages: ProcessPages;
}

export function createIssuer(
  settings: Settings,
  { trust, anchors, active, rotation, metrics, health, log, cluster, pods, delegate, pages }: IssuingStages,
): IssuerParts {
  const nowMs = Date.now;
  const trustDomains = () => trust.all;
  const queue = new FairQueue(settings);
  // A gateway or a node may speak for many identities: its line may be as long as all of them together.
  const intake = new FairQueue({ maxPending: settings.maxPending, maxPendingPerIdentity: settings.maxPending });
  const waiting = (): number => intake.pending + queue.pending;
  const material = (): SigningMaterial | undefined => active.current;
  const status = () =>
    statusPage({ material: material(), trustDomains: trust.all, waiting: waiting(), nowMs: nowMs() });
  addPages(settings, { health, rotation, status, cluster, log, pages });
  const proof = {
    trustDomains,
    nowMs,
    review: cluster?.review,
    crls: () => active.current?.crls ?? [],
  };
  const declared = declareMetrics(metrics, { material, waiting, nowMs });
  const part = { ...proof, log: log.child({ part: "authenticate" }) };
  return {
    authenticator: createIdentity(settings, part).authenticator,
    material,
    delegate,
    ttl: settings,
    serving: servingRules(settings, trustDomains),
    node: {
      clusterId: settings.clusterId,
      trustedAccounts: settings.trustedNodeAccounts,
      trustDomains,
      pods,
    },
    intake,
    queue,
    // differs: istiod hands over its own roots and leaves the others to PCDS, which not every agent asks for.
    moreRootsPem: () => (settings.multiRoot ? anchors.pem : ""),
    // Agents that take the new root with a certificate come back for one of the new root within half of its life.
    longestTtlMs: () => (rotation.phase === "trusting" ? settings.rotationTtlMs : Number.POSITIVE_INFINITY),
    record: (holding) => rotation.record(holding),
    metrics: declared,
    refusedLines: refusedCallerLines(() => declared.refusalsUnlogged.add(1)),
    log: log.child({ part: "issue" }),
    nowMs,
    randomSerial: serialSource(),
  };
}

interface PageParts extends Pick<IssuingStages, "health" | "rotation" | "cluster" | "log" | "pages"> {
  readonly status: HttpHandler;
}

/** A rotation is started and aborted from ca's own host only; who may look is decided as in the other services. */
export function addPages(settings: Settings, { health, rotation, status, cluster, log, pages }: PageParts): void {
  const { debugAuth: isOn, workDir, namespace, pageWriters: writers } = settings;
  const review = cluster?.review.reviewerOf(settings.clusterId);
  const access = pageAccess({ isOn, workDir, namespace, writers, review, log });
  serveProcessPages(health, access, pages);
  const rotationStatus = access.read(() => rotationPage(rotation));
  health.route("GET", "/debug/caz", access.read(status));
  health.route(
    "GET",
    "/debug/endings",
    access.read(() => endingsPage(rotation)),
  );
  health.route("GET", "/debug/rotation", rotationStatus);
  health.route("POST", "/debug/rotation", (request) => changeRotation(rotation, request));
}

export function servingRules(settings: Settings, trustDomains: () => readonly string[]): ServingRules {
  const { namespace, domain, revision, customHost: customHosts, servingAccounts: accounts, serverAccounts } = settings;
  return { namespace, domain, revision, customHosts, accounts, serverAccounts, trustDomains };
}

interface AuthenticatorParts extends Required<Pick<PeerRules, "trustDomains" | "crls" | "nowMs" | "log">> {
  /** Where a Kubernetes API can be asked. */
  readonly review?: OwnCluster["review"] | undefined;
}

/** The proofs that ca takes, and from whom. */
function createIdentity(settings: Settings, { review, ...parts }: AuthenticatorParts): PeerIdentity {
  const { jwtRules, clockToleranceMs, audiences, trustedNetworks: gatewayNetworks } = settings;
  const { namespace, forwardingAccounts: accounts } = settings;
  return peerIdentity({
    ...parts,
    ...{ jwtRules, clockToleranceMs, gatewayNetworks },
    review: review && { ...review, audiences },
    // Services of ours that pass requests on, as xds-server does on its secure port.
    forwarders: { namespace, accounts },
  });
}
