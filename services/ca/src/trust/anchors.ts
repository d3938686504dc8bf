/**
 * The roots that the mesh trusts besides our own: caCertificates of the MeshConfig, as PEM or by SPIFFE bundle endpoint, and
 * the endpoints of SPIFFE_BUNDLE_ENDPOINTS.
 */
import { certificatePem, PkiError, parseCertificatesPem } from "@flotilla/pki";
import type { Logger } from "@flotilla/runtime";
import { type FetchText, followBundleEndpoint } from "./bundle-endpoint.ts";

export interface Wanted {
  readonly pems: readonly string[];
  readonly urls: readonly string[];
}

export interface AnchorsOptions {
  /** Endpoints that the settings name. */
  readonly urls: readonly string[];
  readonly refreshMs: number;
  readonly fetchText: FetchText;
  readonly log: Logger;
  readonly onProblem: (reason: string | undefined) => void;
}

export class Anchors {
  readonly #options: AnchorsOptions;
  readonly #fetched = new Map<string, string>();
  readonly #problems = new Map<string, string>();
  readonly #listeners: (() => void)[] = [];
  readonly #endpoints = new Map<string, { readonly stop: AbortController; readonly running: Promise<void> }>();
  #pems: readonly string[] = [];
  #urls: readonly string[] = [];
  #text = "";

  constructor(options: AnchorsOptions) {
    this.#options = options;
  }

  /** PEM; in the order in which they are named. */
  get pem(): string {
    return this.#text;
  }

  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** Sets the bundles that the mesh uses now. Certificates that cannot be read are reported and left out; the others count. */
  setWanted({ pems, urls }: Wanted): void {
    this.#problems.clear();
    this.#pems = pems.flatMap((pem, at) => this.#readPem(pem, at));
    this.#follow([...new Set([...this.#options.urls, ...urls])]);
    this.#update();
  }

  async stop(): Promise<void> {
    const endpoints = [...this.#endpoints.values()];
    this.#endpoints.clear();
    for (const { stop } of endpoints) stop.abort();
    await Promise.all(endpoints.map(({ running }) => running));
  }

  #readPem(pem: string, at: number): readonly string[] {
    try {
      return parseCertificatesPem(pem).map(certificatePem);
    } catch (error) {
      if (!(error instanceof PkiError)) throw error;
      const reason = `caCertificates[${at}].pem of the MeshConfig: ${error.message}`;
      this.#options.log.warn("root of the mesh ignored", { reason });
      this.#problems.set(`pem ${at}`, reason);
      return [];
    }
  }

  #follow(urls: readonly string[]): void {
    this.#urls = urls;
    for (const [url, { stop }] of this.#endpoints) {
      if (urls.includes(url)) continue;
      stop.abort();
      this.#endpoints.delete(url);
      this.#fetched.delete(url);
    }
    for (const url of urls) {
      if (this.#endpoints.has(url)) continue;
      const stop = new AbortController();
      const running = followBundleEndpoint(
        {
          ...this.#options,
          url,
          onRoots: (pem) => {
            if (stop.signal.aborted) return;
            this.#fetched.set(url, pem);
            this.#update();
          },
          onProblem: (reason) => this.#report(url, stop.signal.aborted ? undefined : reason),
        },
        stop.signal,
      );
      this.#endpoints.set(url, { stop, running });
    }
  }

  #report(about: string, reason: string | undefined): void {
    if (reason === undefined) this.#problems.delete(about);
    else this.#problems.set(about, reason);
    this.#options.onProblem(this.#problems.size === 0 ? undefined : [...this.#problems.values()].join("; "));
  }

  #update(): void {
    const fetched = this.#urls.flatMap((url) => this.#fetched.get(url) ?? []);
    const text = [...new Set([...this.#pems, ...fetched])].join("");
    this.#options.onProblem(this.#problems.size === 0 ? undefined : [...this.#problems.values()].join("; "));
    if (text === this.#text) return;
    this.#text = text;
    this.#options.log.info("additional roots trusted", { count: text.split("-----BEGIN ").length - 1 });
    for (const listener of this.#listeners) listener();
  }
}
