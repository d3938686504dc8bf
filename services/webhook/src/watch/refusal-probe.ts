/**
 * Checks that the API server reaches this webhook for validation: it sends the API server an object that no validation accepts, as a dry
 * run. Only then may configurations refuse objects while the webhook is away.
 */
import { type KubeApi, KubeError } from "@flotilla/kube-api";

/** Rejected by the validation of every control plane that supports it. */
export const alwaysReject = "internal.istio.io/webhook-always-reject";

export interface RefusalProbeOptions {
  readonly api: KubeApi;
  readonly namespace: string;
  readonly revision: string;
}

/** False where the API server takes the object, or cannot be asked. */
export async function isRefused({ api, namespace, revision }: RefusalProbeOptions): Promise<boolean> {
  const metadata = {
    generateName: "flotilla-validation-probe-",
    namespace,
    labels: { "istio.io/rev": revision },
    annotations: { [alwaysReject]: "true" },
  };
  const server = { port: { number: 80, name: "http", protocol: "HTTP" }, hosts: ["probe.invalid"] };
  const spec = { selector: { app: "flotilla-validation-probe" }, servers: [server] };
  const object = { apiVersion: "networking.istio.io/v1", kind: "Gateway", metadata, spec };
  try {
    await api.create(`/apis/networking.istio.io/v1/namespaces/${namespace}/gateways?dryRun=All`, object);
    return false;
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
    // Not the refusal of a right, of an absent kind, or of a webhook that does not answer.
    const isDenied = ["admission webhook ", " denied the request"].every((part) => error.message.includes(part));
    return error.code === "KUBE_REFUSED" && isDenied;
  }
}
