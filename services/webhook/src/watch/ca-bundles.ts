/**
 * caBundle of the webhook configurations that lead to this webhook: the root that its serving certificate leads to, written again
 * when the root changes, when a configuration is applied, and when somebody edits it. Validation refuses objects while the webhook is away
 * (failurePolicy) once a probe showed that it works. Configurations of other webhooks are left alone.
 */
import { readFile } from "node:fs/promises";
import { follow, type KubeApi, KubeError, type KubeObject } from "@flotilla/kube-api";
import { followFiles, type Logger, Wakeup } from "@flotilla/runtime";

export interface WebhookConfiguration extends KubeObject {
  readonly webhooks?: readonly Webhook[];
}
interface Webhook {
  readonly name: string;
  readonly failurePolicy?: string;
  readonly rules?: readonly { readonly apiGroups?: readonly string[] }[];
  readonly clientConfig: {
    readonly caBundle?: string;
    readonly service?: { readonly name: string; readonly namespace: string };
    readonly url?: string;
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
  /** Of this webhook, as configurations of an API server name it that does not reach the Service. */
  readonly url?: string | undefined;
  /** Injection webhooks labelled with this revision also call this webhook, whatever address they name. */
  readonly injectedBy?: string;
  readonly rootFile: string;
  /** Resolves to true if an invalid object was rejected through the API server. */
  readonly isRefused: () => Promise<boolean>;
  /** After each attempt to write a configuration; `refusal` is the code of the API's error. */
  readonly onAttempt?: ((attempt: WriteAttempt) => void) | undefined;
  readonly pollMs: number;
  readonly log: Logger;
  readonly random: () => number;
}

export interface WriteAttempt {
  readonly collection: (typeof collections)[number];
  readonly name: string;
  readonly refusal: KubeError["code"] | undefined;
}

const group = "/apis/admissionregistration.k8s.io/v1";
const collections = ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"] as const;
/** Suffix of the names of injection webhooks in all configurations. */
const injectorName = "sidecar-injector.istio.io";
/** A write that failed is tried again after this. */
const againMs = 5_000;

export class CaBundles {
  readonly #options: CaBundlesOptions;
  readonly #found = new Map<WriteAttempt["collection"], readonly WebhookConfiguration[]>();
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
      this.#takeRoot(texts?.[0]);
      this.#wakeup.wake();
    }
  }

  /** While it cannot be read the one before holds. */
  #takeRoot(root = ""): void {
    if (root !== "") this.#caBundle = Buffer.from(root).toString("base64");
  }

  async #followConfigurations(collection: WriteAttempt["collection"], stop: AbortSignal): Promise<void> {
    const { api } = this.#options;
    for await (const all of follow<WebhookConfiguration>(api, `${group}/${collection}`, this.#options, stop)) {
      this.#found.set(collection, all);
      this.#wakeup.wake();
    }
  }

  async #write(stop: AbortSignal): Promise<void> {
    while (!stop.aborted) {
      await this.#wakeup.waitShared(stop, againMs);
      for (const [collection, configurations] of this.#found)
        for (const configuration of configurations) {
          if (stop.aborted) return;
          await this.#writeOne(collection, configuration);
        }
    }
  }

  async #writeOne(collection: WriteAttempt["collection"], configuration: WebhookConfiguration): Promise<void> {
    // Another replica may have seen a new root before: it must not be replaced by the one of the last look.
    if (this.#withCaBundle(configuration) !== undefined)
      this.#takeRoot(await readFile(this.#options.rootFile, "utf8").catch(() => undefined));
    const next = this.#withCaBundle(configuration) ?? (await this.#failingClosed(collection, configuration));
    if (next === undefined || this.#caBundle === undefined) return;
    const { name = "" } = configuration.metadata;
    const { api, log, onAttempt } = this.#options;
    try {
      // Its resourceVersion makes the write fail after a concurrent write, whose event arrives then.
      await api.replace(`${group}/${collection}/${name}`, next);
      onAttempt?.({ collection, name, refusal: undefined });
      log.info("webhook configuration written", { name });
      this.#reported = "";
    } catch (error) {
      if (!(error instanceof KubeError)) throw error;
      onAttempt?.({ collection, name, refusal: error.code });
      if (error.code !== "KUBE_CONFLICT" && error.message !== this.#reported) {
        log.warn("webhook configuration not written", { name, reason: error.message });
        this.#reported = error.message;
      }
    }
  }

  /** The configuration with the root in those of its webhooks that lead here; undefined when they have it. */
  #withCaBundle(configuration: WebhookConfiguration): WebhookConfiguration | undefined {
    const caBundle = this.#caBundle;
    if (caBundle === undefined) return undefined;
    const isBehind = (webhook: Webhook): boolean =>
      this.#leadsHere(webhook, configuration) && webhook.clientConfig.caBundle !== caBundle;
    return changed(configuration, isBehind, (webhook) => ({
      ...webhook,
      clientConfig: { ...webhook.clientConfig, caBundle },
    }));
  }

  /** Validating webhooks keep failurePolicy Ignore until one of them is known to answer. */
  async #failingClosed(
    collection: string,
    configuration: WebhookConfiguration,
  ): Promise<WebhookConfiguration | undefined> {
    if (collection !== "validatingwebhookconfigurations") return undefined;
    const isOpen = (webhook: Webhook): boolean =>
      this.#leadsHere(webhook, configuration) && webhook.failurePolicy === "Ignore" && isOfIstio(webhook);
    const next = changed(configuration, isOpen, (webhook) => ({ ...webhook, failurePolicy: "Fail" }));
    if (next === undefined || !(await this.#options.isRefused())) return undefined;
    this.#options.log.info("validation works, failurePolicy set to Fail", {
      name: configuration.metadata.name,
    });
    return next;
  }

  #leadsHere({ name, clientConfig: { service: named, url: address } }: Webhook, { metadata }: KubeObject): boolean {
    const { service, url, injectedBy } = this.#options;
    const isOfRevision = injectedBy !== undefined && metadata.labels?.["istio.io/rev"] === injectedBy;
    if (isOfRevision && name.endsWith(injectorName)) return true;
    if (named !== undefined) return named.name === service.name && named.namespace === service.namespace;
    return url !== undefined && address?.startsWith(url) === true;
  }
}

/** Kinds that other controllers have objects of stay writable while this webhook is away. */
function isOfIstio({ rules = [] }: Webhook): boolean {
  return rules.every(({ apiGroups = [] }) => apiGroups.every((one) => one.endsWith(".istio.io")));
}

/** Undefined where no webhook of it is `wanted`. */
function changed(
  configuration: WebhookConfiguration,
  wanted: (webhook: Webhook) => boolean,
  change: (webhook: Webhook) => Webhook,
): WebhookConfiguration | undefined {
  const { webhooks = [] } = configuration;
  if (!webhooks.some(wanted)) return undefined;
  return { ...configuration, webhooks: webhooks.map((webhook) => (wanted(webhook) ? change(webhook) : webhook)) };
}
