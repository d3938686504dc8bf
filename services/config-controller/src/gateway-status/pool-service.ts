/** The headless Service in front of an InferencePool: made and kept as long as a Gateway has a route to the pool, and gone with the pool. */
import { hash } from "node:crypto";
import {
  type InferencePoolSpec,
  inferenceGroup,
  isOwnPoolService,
  poolService,
  poolServiceName,
} from "@flotilla/gateway-api";
import type { KubeApi } from "@flotilla/kube-api";
import { type Config, equalJson, type Labels, ownValue } from "@flotilla/model";
import type { Logger } from "@flotilla/runtime";

/** In hexadecimal digits. */
export function sha256(text: string): string {
  return hash("sha256", text);
}

interface StoredService {
  readonly metadata: { readonly labels?: Labels };
  readonly spec?: { readonly selector?: Labels; readonly ports?: readonly Readonly<Record<string, unknown>>[] };
}

const fieldManager = "flotilla-inference-pools";

/** True when it was written. `uid` is the pool's. @throws KubeError */
export async function keepPoolService(
  { api, log }: { readonly api: KubeApi; readonly log: Logger },
  pool: Config<InferencePoolSpec>,
  uid: string,
): Promise<boolean> {
  const { namespace, name: poolName } = pool.key;
  const name = poolServiceName(poolName, sha256);
  const wanted = poolService(pool, name);
  if (wanted === undefined) return false;
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/services/${encodeURIComponent(name)}`;
  const found = await api.get<StoredService>(path);
  if (found !== undefined && !isOwnPoolService(found.metadata.labels ?? {})) {
    log.warn("Service of an InferencePool's name has another owner, left unchanged", { namespace, name });
    return false;
  }
  if (found !== undefined && isAsWanted(found, wanted)) return false;
  const owner = { apiVersion: `${inferenceGroup}/v1`, kind: "InferencePool", name: poolName, uid };
  const metadata = { ...wanted.metadata, ownerReferences: [owner] };
  await api.apply(path, { ...wanted, metadata }, { fieldManager, force: true });
  log.info("the Service of an InferencePool is written", { namespace, pool: poolName, name });
  return true;
}

/** The API server adds defaults to ports. */
function isAsWanted(
  { metadata, spec = {} }: StoredService,
  wanted: NonNullable<ReturnType<typeof poolService>>,
): boolean {
  const ports = wanted.spec.ports;
  const stored = spec.ports ?? [];
  return (
    Object.entries(wanted.metadata.labels).every(
      ([label, value]) => ownValue(metadata.labels ?? {}, label) === value,
    ) &&
    equalJson(spec.selector ?? {}, wanted.spec.selector) &&
    stored.length === ports.length &&
    ports.every((port, index) =>
      Object.entries(port).every(([field, value]) => ownValue(stored[index] ?? {}, field) === value),
    )
  );
}
