/**
 * The signing material in force. Plugged-in material is followed, a self-signed root is renewed; what is bad is refused with
 * its reason, told as a condition, and the last good material stays.
 */
import { PkiError } from "@flotilla/pki";
import { delay, type Logger } from "@flotilla/runtime";
import { CaError } from "../errors.ts";
import { cacertsVersion, readCacerts } from "./cacerts.ts";
import { checkSuccessor, readMaterial, type SigningMaterial } from "./material.ts";
import { isRenewalDue, openSelfSigned, renewSelfSigned, type SelfSignedOptions } from "./self-signed.ts";

export interface MaterialOptions {
  readonly rootCaDir: string;
  readonly selfSigned: SelfSignedOptions;
  readonly trustDomains: readonly string[];
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

/** Long enough for the files of one update to be there together. */
const settleMs = 100;

export class MaterialSource {
  readonly #options: MaterialOptions;
  readonly #listeners: ((material: SigningMaterial) => void)[] = [];
  #material: SigningMaterial | undefined;
  #version = "";

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
  async load(): Promise<boolean> {
    const { rootCaDir, selfSigned, nowMs } = this.#options;
    try {
      this.#version = await cacertsVersion(rootCaDir);
      // A directory that becomes empty is a mistake, not the wish for a new root.
      const files =
        (await readCacerts(rootCaDir)) ?? (this.#isPluggedIn ? undefined : await openSelfSigned(selfSigned, nowMs()));
      if (files === undefined) throw new CaError("CA_BAD_MATERIAL", `the signing key in ${rootCaDir} is gone`);
      this.#take(readMaterial(files, this.#options.trustDomains, nowMs()));
      return true;
    } catch (error) {
      if (!(error instanceof CaError || error instanceof PkiError || isFileError(error))) throw error;
      this.#tell(error.message);
      return false;
    }
  }

  /** Looks again until `stop` fires. */
  async follow(stop: AbortSignal): Promise<void> {
    await Promise.all([this.#followDirectory(stop), this.#followRoot(stop)]);
  }

  async #followDirectory(stop: AbortSignal): Promise<void> {
    const { rootCaDir, pollMs } = this.#options;
    while (!stop.aborted) {
      await delay(pollMs, stop);
      if (stop.aborted || (await cacertsVersion(rootCaDir)) === this.#version) continue;
      await delay(settleMs, stop);
      await this.load();
    }
  }

  async #followRoot(stop: AbortSignal): Promise<void> {
    const { rootCheckMs, rootGracePercent, nowMs, random, selfSigned, trustDomains, log } = this.#options;
    while (!stop.aborted) {
      // Spread, so that replicas do not renew at once.
      await delay(Math.min(rootCheckMs * (0.9 + 0.2 * random()), 2 ** 31 - 1), stop);
      const material = this.#material;
      if (stop.aborted || material?.origin !== "self-signed") continue;
      if (!isRenewalDue(material.certificate, rootGracePercent, nowMs())) continue;
      const files = await renewSelfSigned(selfSigned, rootGracePercent, nowMs());
      this.#take(readMaterial(files, trustDomains, nowMs()), { isRenewal: true });
      log.info("self-signed root renewed");
    }
  }

  get #isPluggedIn(): boolean {
    return this.#material?.origin === "plugged-in";
  }

  #take(next: SigningMaterial, { isRenewal = false }: { readonly isRenewal?: boolean } = {}): void {
    const { multiRoot, log, onProblem } = this.#options;
    // A renewed root has the same key and name: what trusts the old one verifies what the new one signs.
    if (this.#material !== undefined && !isRenewal) checkSuccessor(this.#material, next, multiRoot);
    const isSame =
      this.#material?.certificate.der.equals(next.certificate.der) === true &&
      this.#material.rootsPem === next.rootsPem;
    this.#material = next;
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

  #tell(reason: string): void {
    const { log, onProblem } = this.#options;
    const kept = this.#material === undefined ? "there is none" : "the last good one stays";
    log.error("signing material refused", { reason, kept });
    onProblem(`${reason}; ${kept}`);
  }
}

function isFileError(error: unknown): error is Error {
  return error instanceof Error && "syscall" in error;
}
