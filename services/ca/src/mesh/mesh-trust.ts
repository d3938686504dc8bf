/**
 * The trust domain and its aliases: set by the environment, else from the MeshConfig, which comes with config-controller's events. The last
 * one received is kept in a file, so that a ca that starts while everything else is down has the domain that it serves.
 */

import { mkdir, readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { replaceFile } from "@flotilla/auth";
import { type Bus, filters, subscribe } from "@flotilla/bus";
import type { ConfigChange } from "@flotilla/model";
import { ownValue } from "@flotilla/model";
import type { Logger } from "@flotilla/runtime";

interface MeshValues {
  readonly trustDomain?: string;
  readonly trustDomainAliases?: readonly string[];
  /** PEM by signer, of caCertificates with certSigners. */
  readonly signerPems?: Readonly<Record<string, string>>;
  /** Of caCertificates. */
  readonly pems?: readonly string[];
  readonly bundleUrls?: readonly string[];
}

export interface MeshTrustOptions {
  /** Settings that win over the MeshConfig. */
  readonly trustDomain: string | undefined;
  readonly aliases: readonly string[];
  readonly file: string;
  readonly log: Logger;
}

const defaultTrustDomain = "cluster.local";

export class MeshTrust {
  readonly #options: MeshTrustOptions;
  readonly #listeners: (() => void)[] = [];
  #mesh: MeshValues = {};

  constructor(options: MeshTrustOptions) {
    this.#options = options;
  }

  get trustDomain(): string {
    return this.#options.trustDomain ?? this.#mesh.trustDomain ?? defaultTrustDomain;
  }

  /** The mesh's own first. */
  get all(): readonly [string, ...string[]] {
    const others = new Set([...this.#options.aliases, ...(this.#mesh.trustDomainAliases ?? [])]);
    others.delete(this.trustDomain);
    return [this.trustDomain, ...others];
  }

  /** Roots that the mesh trusts besides those of its CA. */
  get anchors(): { readonly pems: readonly string[]; readonly urls: readonly string[] } {
    return { pems: this.#mesh.pems ?? [], urls: this.#mesh.bundleUrls ?? [] };
  }

  /** PEM of the roots of a Kubernetes signer, as caCertificates have them. */
  rootsOfSigner(signer: string): string | undefined {
    return ownValue(this.#mesh.signerPems, signer);
  }

  /** Called when something of it is other from now on. */
  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** False when there is no copy of an earlier life. */
  async restore(): Promise<boolean> {
    const { file, log } = this.#options;
    try {
      this.#mesh = valuesOf(JSON.parse(await readFile(file, "utf8")));
      return true;
    } catch (error) {
      if ((error as { code?: unknown }).code !== "ENOENT") log.warn("saved mesh settings unreadable", { file, error });
      return false;
    }
  }

  /** Runs until `stop`; calls `onHeard` when config-controller has published its whole state. */
  async follow(bus: Bus, onHeard: () => void, stop: AbortSignal): Promise<void> {
    const publishers = ["config-controller"];
    const options = { bus, filter: filters.meshConfig, afterSequence: 0, publishers, seal: undefined };
    for await (const item of subscribe(options, stop)) {
      if (item.kind === "caught-up") onHeard();
      if (item.kind !== "group") continue;
      for (const change of item.group.changes) if (change.type === "config") await this.#setConfig(change);
    }
  }

  async #setConfig(change: ConfigChange): Promise<void> {
    const { log, file } = this.#options;
    const before = JSON.stringify([this.all, this.#mesh]);
    this.#mesh = change.op === "put" ? valuesOf(change.value.spec) : {};
    if (JSON.stringify([this.all, this.#mesh]) === before) return;
    log.info("trust domain taken from the mesh", { trustDomain: this.trustDomain, all: this.all });
    try {
      await mkdir(dirname(file), { recursive: true, mode: 0o700 });
      await replaceFile(file, JSON.stringify(this.#mesh), 0o600);
    } catch (error) {
      // Not being able to keep it is no reason not to use it.
      log.warn("mesh settings not saved", { file, error });
    }
    for (const listener of this.#listeners) listener();
  }
}

function valuesOf(spec: unknown): MeshValues {
  const { trustDomain, trustDomainAliases, caCertificates } = (spec ?? {}) as Readonly<Record<string, unknown>>;
  const entries = Array.isArray(caCertificates) ? (caCertificates as readonly unknown[]) : [];
  const textsOf = (field: string): readonly string[] =>
    entries.flatMap((entry) => {
      const value = ownValue(entry as Readonly<Record<string, unknown>> | null, field);
      return typeof value === "string" && value !== "" ? [value] : [];
    });
  const [pems, bundleUrls] = [textsOf("pem"), textsOf("spiffeBundleUrl")];
  const signerPems = new Map<string, string>();
  for (const entry of entries) {
    const { pem, certSigners } = (entry ?? {}) as { readonly pem?: unknown; readonly certSigners?: unknown };
    if (typeof pem !== "string" || !Array.isArray(certSigners)) continue;
    for (const signer of certSigners as readonly unknown[])
      signerPems.set(String(signer), (signerPems.get(String(signer)) ?? "") + pem);
  }
  return {
    ...(signerPems.size > 0 && { signerPems: Object.fromEntries(signerPems) }),
    ...(pems.length > 0 && { pems }),
    ...(bundleUrls.length > 0 && { bundleUrls }),
    ...(typeof trustDomain === "string" && trustDomain !== "" && { trustDomain }),
    ...(Array.isArray(trustDomainAliases) && {
      trustDomainAliases: trustDomainAliases.filter((alias) => typeof alias === "string" && alias !== ""),
    }),
  };
}
