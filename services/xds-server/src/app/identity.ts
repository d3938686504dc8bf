/** The identity of this replica, and the authentication of callers of its ports. */
import {
  type Authenticator,
  operatorAudience,
  type PeerIdentity,
  peerIdentity,
  RevocationLists,
  type TrustBundleSpec,
  trustBundleKind,
} from "@flotilla/auth";
import { type OwnCluster, openOwnCluster } from "@flotilla/auth/cluster";
import { keepOwnCertificate, type OwnCertificate } from "@flotilla/auth/serving";
import type { Change } from "@flotilla/model";
import type { Logger } from "@flotilla/runtime";
import type { XdsService } from "../settings.ts";
import type { ChangeListener } from "./core-source.ts";
import type { ServedMesh } from "./mesh.ts";
import { serviceAccount, servingNames } from "./serving-material.ts";

export interface Identity extends AsyncDisposable {
  /** The cluster that confirms Kubernetes tokens and has signers, if there is one. */
  readonly cluster: OwnCluster | undefined;
  /** A client certificate or a token, for an identity of this mesh. */
  readonly peers: PeerIdentity;
  /** The same of the pages, which take the tokens of operators too. */
  readonly pageCallers: Authenticator;
  /** From ca. */
  readonly certificate: OwnCertificate;
}

/** @throws KubeError KUBE_CONFIG; AuthError AUTH_BAD_PROVIDER */
export async function openIdentity(
  { settings, log }: XdsService,
  { mesh, revocations }: { readonly mesh: ServedMesh; readonly revocations: Revocations },
): Promise<Identity> {
  const { jwtRules, audiences, namespace, tlsPort: port } = settings;
  await using opened = new AsyncDisposableStack();
  const cluster = opened.use(await openOwnCluster(settings));
  const trustDomains = () => mesh.trustDomains();
  const review = cluster && { ...cluster.review, audiences };
  const peers = peerIdentity({
    ...{ trustDomains, jwtRules, review, log, nowMs: Date.now },
    crls: () => revocations.crls,
  });
  const { authenticator: pageCallers } = peerIdentity({
    ...{ trustDomains, log, nowMs: Date.now },
    jwtRules: jwtRules.map((rule) => ({ ...rule, audiences: [...rule.audiences, operatorAudience] })),
    review: review && { ...review, audiences: [...audiences, operatorAudience] },
  });
  const certificate = opened.use(
    keepOwnCertificate({
      ...{ settings, namespace, serviceAccount, port, log },
      names: servingNames(settings),
      trustDomain: () => (mesh.isComplete ? trustDomains()[0] : undefined),
    }),
  );
  const owned = opened.move();
  return { cluster, peers, pageCallers, certificate, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/**
 * The revocation lists of the mesh's CAs, as ca publishes them beside the roots. A new list ends the streams of callers whose
 * certificate it names.
 */
export class Revocations {
  readonly #lists: RevocationLists;

  constructor(log: Logger) {
    this.#lists = new RevocationLists(log);
  }

  get crls(): RevocationLists["crls"] {
    return this.#lists.crls;
  }

  /** Reads the lists in the changes; `onNewLists` is called once other lists and the changes around them are in force. */
  follow(onNewLists: () => void): ChangeListener {
    let isNew = false;
    return {
      beforeApply: (changes) => {
        isNew = changes.map((change) => this.#note(change)).includes(true);
      },
      afterApply: () => {
        if (isNew) onNewLists();
      },
    };
  }

  /** True when other lists are in force now. */
  #note(change: Change): boolean {
    if (change.type !== "config" || change.key.kind !== trustBundleKind) return false;
    const { crls } = (change.op === "put" ? change.value.spec : {}) as Partial<TrustBundleSpec>;
    return this.#lists.replace(`${change.key.namespace}/${change.key.name}`, typeof crls === "string" ? crls : "");
  }
}
