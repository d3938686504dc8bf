/** The HTTPS port: it opens when there is a certificate and a configuration to inject from, and takes new certificates as they come. */
import type { OwnCertificate } from "@flotilla/auth/serving";
import type { InjectionConfigSource } from "@flotilla/injection";
import { orAborted } from "@flotilla/runtime";
import type { WebhookMetrics } from "../metrics.ts";
import { followCertificate } from "../serve/certificate.ts";
import { followClientRule } from "../serve/client-certificate.ts";
import { type HttpsServer, type KeyPair, serveHttps } from "../serve/https-server.ts";
import type { createRouter } from "../serve/router.ts";
import type { WebhookService } from "../settings.ts";

export interface AdmissionParts {
  readonly answer: ReturnType<typeof createRouter>;
  readonly certificate: OwnCertificate;
  readonly injection: InjectionConfigSource;
  readonly metrics: WebhookMetrics;
  /** Called once requests are answered, with the ports in use. */
  readonly onReady: ((ports: { readonly https: number; readonly health: number }) => void) | undefined;
}

/** The newest certificate, and the port that shows it once it is open. */
class ShownKeyPair {
  readonly #first = Promise.withResolvers<KeyPair>();
  #newest: KeyPair | undefined;
  #server: HttpsServer | undefined;

  take(keyPair: KeyPair): void {
    this.#newest = keyPair;
    this.reload();
    this.#first.resolve(keyPair);
  }

  /** The newest, as soon as there is one. */
  async next(stop: AbortSignal): Promise<KeyPair> {
    const first = await orAborted(this.#first.promise, stop);
    return this.#newest ?? first;
  }

  showOn(server: HttpsServer): void {
    this.#server = server;
  }

  reload(): void {
    if (this.#newest !== undefined) this.#server?.reload(this.#newest);
  }
}

/** Runs until the service stops. */
export async function serveAdmission(service: WebhookService, parts: AdmissionParts): Promise<void> {
  const { settings, health, log, stop } = service;
  const { certificate, metrics } = parts;
  const shown = new ShownKeyPair();
  const onTrouble = (reason: string | undefined): void => {
    health.setCondition("certificate", reason);
    metrics.staleFiles.set(reason === undefined ? 0 : 1, { part: "certificate" });
  };
  const following = followCertificate(
    {
      ...{ settings, certificate, log: log.child({ part: "certificate" }), onTrouble },
      onCertificate: (keyPair) => shown.take(keyPair),
    },
    stop,
  );
  const { clientCaFile: caFile, clientNames: names, filePollMs: pollMs } = settings;
  const onChange = (): void => shown.reload();
  const clients = caFile === undefined ? undefined : followClientRule({ caFile, names, pollMs, log, onChange }, stop);
  const serving = openPort(service, parts, { shown, rule: clients?.rule, until: following });
  await Promise.all([serving, following, clients?.following]);
}

interface PortParts {
  readonly shown: ShownKeyPair;
  readonly rule: Parameters<typeof serveHttps>[0]["clients"];
  /** The port is open until this ends. */
  readonly until: Promise<void>;
}

async function openPort(
  { settings, health, log, stop }: WebhookService,
  { answer, injection, onReady }: AdmissionParts,
  { shown, rule: clients, until }: PortParts,
): Promise<void> {
  const { host, port } = settings;
  await injection.first();
  const keyPair = await shown.next(stop);
  const at = { host, port, setting: "WEBHOOK_PORT", policy: settings };
  await using open = await serveHttps({ ...at, keyPair, log: log.child({ part: "https" }), clients, answer });
  shown.showOn(open);
  health.markReady();
  log.info("admission requests served", { host, port: open.port });
  onReady?.({ https: open.port, health: health.port });
  await until;
}
