/**
 * caBundle of the webhook configurations that lead to this webhook: the root that its serving certificate leads to, written again
 * when the root changes, when a configuration is applied, and when somebody edits it. Configurations of other webhooks are left alone.
 */
import { follow, type KubeApi, KubeError, type KubeObject } from "@flotilla/kube-api";
import { followFiles, type Logger, Wakeup } from "@flotilla/runtime";

export interface WebhookConfiguration extends KubeObject {
  readonly webhooks?: readonly Webhook[];
}
interface Webhook {
  readonly name: string;
  readonly clientConfig: {
    readonly caBundle?: string;
    readonly service?: { readonly name: string; readonly namespace: string };
  };
}
interface ServiceName {
  readonly name: string;
  readonly namespace: string;
}

export interface CaBundlesOptions {
  readonly api: KubeApi;
  /** Of this webhook, as configurations name it. */
  readonly service: ServiceName;
  readonly rootFile: string;
  readonly pollMs: number;
  readonly log: Logger;
  readonly random: () => number;
}

const group = "/apis/admissionregistration.k8s.io/v1";
const collections = ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"] as const;
/** A write that failed is tried again after this. */
const againMs = 5_000;

export class CaBundles {
  readonly #options: CaBundlesOptions;
  readonly #found = new Map<string, readonly WebhookConfiguration[]>();
  readonly #wakeup = new Wakeup();
  #caBundle: string | undefined;
  #reported = "";

  constructor(options: CaBundlesOptions) {
    this.#options = options;
  }

  /** Runs until `stop` fires. */
  async run(stop: AbortSignal): Promise<void> {
    const following = collections.map((collection) => this.#followConfigurations(collection, stop));
    await Promise.all([this.#followRoot(stop), ...following, this.#write(stop)]);
  }

  async #followRoot(stop: AbortSignal): Promise<void> {
    const { rootFile, pollMs } = this.#options;
    for await (const { texts } of followFiles([rootFile], pollMs, stop)) {
      const [root = ""] = texts ?? [];
      // While it cannot be read the one before holds.
      if (root !== "") this.#caBundle = Buffer.from(root).toString("base64");
      this.#wakeup.wake();
    }
  }

  async #followConfigurations(collection: string, stop: AbortSignal): Promise<void> {
    const { api } = this.#options;
    for await (const all of follow<WebhookConfiguration>(api, `${group}/${collection}`, this.#options, stop)) {
      this.#found.set(collection, all);
      this.#wakeup.wake();
    }
  }

  async #write(stop: AbortSignal): Promise<void> {
    while (!stop.aborted) {
      await this.#wakeup.wait(stop, againMs);
      for (const [collection, configurations] of this.#found)
        for (const configuration of configurations) {
          if (stop.aborted) return;
          await this.#writeOne(collection, configuration);
        }
    }
  }

  /** Its resourceVersion makes the write fail when somebody else was faster: what they wrote arrives then. */
  async #writeOne(collection: string, configuration: WebhookConfiguration): Promise<void> {
    const { api, service, log } = this.#options;
    if (this.#caBundle === undefined) return;
    const next = withCaBundle(configuration, service, this.#caBundle);
    if (next === undefined) return;
    const { name = "" } = configuration.metadata;
    try {
      await api.replace(`${group}/${collection}/${name}`, next);
      log.info("root written to a webhook configuration", { name });
      this.#reported = "";
    } catch (error) {
      if (!(error instanceof KubeError)) throw error;
      if (error.code !== "KUBE_CONFLICT" && error.message !== this.#reported) {
        log.warn("root not written to a webhook configuration", { name, reason: error.message });
        this.#reported = error.message;
      }
    }
  }
}

/** The configuration with `caBundle` in those of its webhooks that lead to `service`; undefined when they have it. */
function withCaBundle(
  configuration: WebhookConfiguration,
  service: ServiceName,
  caBundle: string,
): WebhookConfiguration | undefined {
  const isBehind = ({ clientConfig: { service: named, caBundle: current } }: Webhook): boolean =>
    named?.name === service.name && named.namespace === service.namespace && current !== caBundle;
  const { webhooks = [] } = configuration;
  if (!webhooks.some(isBehind)) return undefined;
  return {
    ...configuration,
    webhooks: webhooks.map((webhook) =>
      isBehind(webhook) ? { ...webhook, clientConfig: { ...webhook.clientConfig, caBundle } } : webhook,
    ),
  };
}
