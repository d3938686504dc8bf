/**
 * The signing material in force. Plugged-in material is followed, a self-signed root is renewed; what is bad is refused with
 * its reason, reported as a condition, and the last good material stays.
 */
import { PkiError } from "@flotilla/pki";
import { delay, delayByWallClock, type Logger, sharedDelay } from "@flotilla/runtime";
import { CaError } from "../errors.ts";
import { cacertsVersion, readCacerts } from "./cacerts.ts";
import { checkSuccessor, readMaterial, type SigningMaterial } from "./material.ts";
import { isRenewalDue, type SelfSignedOptions } from "./self-signed.ts";
import type { SelfSignedStore } from "./self-signed-store.ts";

export interface MaterialOptions {
  readonly rootCaDir: string;
  /** A root in it that a control plane made is that of the store. */
  readonly ignoresGenerated?: boolean;
  readonly selfSigned: Pick<SelfSignedOptions, "keyType" | "ttlMs">;
  readonly store: SelfSignedStore;
  /** Of several replicas one renews the root; the others take what it made. */
  readonly mayRenew: () => boolean;
  /** A change of roots that a rotation has prepared. */
  readonly isExpected: (next: SigningMaterial) => boolean;
  readonly trustDomains: () => readonly string[];
  /** Names a self-signed root that is made now. */
  readonly trustDomain: () => string;
  readonly multiRoot: boolean;
  readonly pollMs: number;
  readonly rootCheckMs: number;
  readonly rootGracePercent: number;
  readonly nowMs: () => number;
  readonly random: () => number;
  readonly log: Logger;
  /** Why material that is there is not in force; undefined when all is well. */
  readonly onProblem: (reason: string | undefined) => void;
}

interface Taking {
  /** It is known to be trusted by those who trust the one before. */
  readonly isSuccessor?: boolean;
}

/** Long enough for the files of one update to be there together. */
const settleMs = 100;

export class MaterialSource {
  readonly #options: MaterialOptions;
  readonly #listeners: ((material: SigningMaterial) => void)[] = [];
  #material: SigningMaterial | undefined;
  #version = "";
  #problem: string | undefined;

  constructor(options: MaterialOptions) {
    this.#options = options;
  }

  /** Undefined before `load`, and as long as nothing good was found. */
  get current(): SigningMaterial | undefined {
    return this.#material;
  }

  /** Called with each material that comes into force, from now on. */
  onChange(listener: (material: SigningMaterial) => void): void {
    this.#listeners.push(listener);
  }

  /** One look at the directory; a self-signed root where there is nothing. False if what is there is bad. */
  load(): Promise<boolean> {
    return this.#load({});
  }

  /** The same, be the roots others: a rotation has brought the proxies to trust them. */
  adopt(): Promise<boolean> {
    return this.#load({ isSuccessor: true });
  }

  /** Looks again until `stop` fires. */
  async follow(stop: AbortSignal): Promise<void> {
    await Promise.all([this.#followDirectory(stop), this.#followRoot(stop)]);
  }

  #load(how: Taking): Promise<boolean> {
    const { rootCaDir, ignoresGenerated = false, selfSigned, store, trustDomains, trustDomain, nowMs } = this.#options;
    return this.#guarded(async () => {
      this.#version = await cacertsVersion(rootCaDir);
      // A directory that becomes empty is a mistake, not a request for a new root.
      const files =
        (await readCacerts(rootCaDir, { ignoresGenerated })) ??
        (this.#isPluggedIn ? undefined : await store.open({ ...selfSigned, trustDomain: trustDomain() }, nowMs()));
      if (files === undefined) throw new CaError("CA_BAD_MATERIAL", `the signing key in ${rootCaDir} is gone`);
      this.#take(readMaterial(files, trustDomains(), nowMs()), how);
    });
  }

  async #followDirectory(stop: AbortSignal): Promise<void> {
    const { rootCaDir, pollMs } = this.#options;
    while (!stop.aborted) {
      await sharedDelay(pollMs, stop);
      let isChanged = false;
      await this.#guarded(async () => {
        isChanged = (await cacertsVersion(rootCaDir)) !== this.#version;
      });
      if (!isChanged || stop.aborted) continue;
      await delay(settleMs, stop);
      await this.load();
    }
  }

  async #followRoot(stop: AbortSignal): Promise<void> {
    const { rootCheckMs, random, nowMs } = this.#options;
    while (!stop.aborted) {
      // Spread, so that replicas do not renew at once.
      await delayByWallClock(rootCheckMs * (0.9 + 0.2 * random()), stop, nowMs);
      if (!stop.aborted) await this.#guarded(() => this.#renewIfDue());
    }
  }

  async #renewIfDue(): Promise<void> {
    const { rootGracePercent, nowMs, selfSigned, store, mayRenew, trustDomains, trustDomain, log } = this.#options;
    const material = this.#material;
    if (material?.origin !== "self-signed") return;
    if (!isRenewalDue(material.certificate, rootGracePercent, nowMs())) return;
    const options = { ...selfSigned, trustDomain: trustDomain() };
    const files = mayRenew()
      ? await store.renew(options, rootGracePercent, nowMs())
      : await store.open(options, nowMs());
    const renewed = readMaterial(files, trustDomains(), nowMs());
    if (renewed.certificate.der.equals(material.certificate.der)) return;
    // It has the same key and name: clients that trust the old one verify signatures of the new one.
    this.#take(renewed, { isSuccessor: true });
    log.info("self-signed root renewed");
  }

  /** Bad material and a disk that fails are reported; whatever else is wrong is a fault of ours. */
  async #guarded(work: () => Promise<void>): Promise<boolean> {
    try {
      await work();
      return true;
    } catch (error) {
      if (!(error instanceof CaError || error instanceof PkiError || isFileError(error))) throw error;
      this.#report(error.message);
      return false;
    }
  }

  get #isPluggedIn(): boolean {
    return this.#material?.origin === "plugged-in";
  }

  #take(next: SigningMaterial, { isSuccessor = false }: Taking): void {
    const { multiRoot, isExpected, log, onProblem } = this.#options;
    if (this.#material !== undefined && !isSuccessor && !isExpected(next))
      checkSuccessor(this.#material, next, multiRoot);
    const isSame =
      this.#material?.certificate.der.equals(next.certificate.der) === true &&
      this.#material.rootsPem === next.rootsPem &&
      this.#material.crlPem === next.crlPem;
    this.#material = next;
    this.#problem = undefined;
    onProblem(undefined);
    if (isSame) return;
    log.info("signing material in force", {
      origin: next.origin,
      serial: next.certificate.serial,
      notAfter: new Date(next.certificate.notAfterMs).toISOString(),
      roots: next.roots.length,
    });
    for (const listener of this.#listeners) listener(next);
  }

  #report(reason: string): void {
    const { log, onProblem } = this.#options;
    const kept = this.#material === undefined ? "there is none" : "the last good one stays";
    // Once, not at each look.
    if (reason !== this.#problem) log.error("signing material refused", { reason, kept });
    this.#problem = reason;
    onProblem(`${reason}; ${kept}`);
  }
}

function isFileError(error: unknown): error is Error {
  return error instanceof Error && "syscall" in error;
}
