/**
 * The present material of the CA: the material in use and, while a rotation runs, the one to come, combined by its phase. The material to
 * come stands in ROOT_CA_NEXT_DIR or is made and kept beside a self-signed root.
 */
import { appendPem, certificatePem, PkiError } from "@flotilla/pki";
import type { Logger } from "@flotilla/runtime";
import { CaError } from "../errors.ts";
import { readCacerts } from "../roots/cacerts.ts";
import { idsOf, readMaterial, type SigningMaterial } from "../roots/material.ts";
import type { MaterialSource } from "../roots/material-source.ts";
import type { SelfSignedStore } from "../roots/self-signed-store.ts";
import { idle, type Phase, type RotationState } from "./rotation-state.ts";

interface ActiveMaterialOptions {
  readonly source: MaterialSource;
  readonly store: SelfSignedStore;
  readonly nextDir: string;
  /** Of self-signed roots that are made. */
  readonly rootOptions: () => Parameters<SelfSignedStore["next"]>[0];
  readonly trustDomains: () => readonly string[];
  readonly nowMs: () => number;
  readonly log: Logger;
}

export class ActiveMaterial {
  readonly #options: ActiveMaterialOptions;
  readonly #listeners: ((material: SigningMaterial) => void)[] = [];
  #state: RotationState = idle;
  #next: SigningMaterial | undefined;
  #material: SigningMaterial | undefined;

  constructor(options: ActiveMaterialOptions) {
    this.#options = options;
    options.source.onChange(() => this.#combine());
  }

  get current(): SigningMaterial | undefined {
    return this.#material ?? this.#options.source.current;
  }

  onChange(listener: (material: SigningMaterial) => void): void {
    this.#listeners.push(listener);
  }

  /** Works by the state from now on. @throws CaError CA_BAD_MATERIAL, CA_ROTATION when the material to come is not there */
  async adopt(state: RotationState): Promise<void> {
    const { source } = this.#options;
    if (state.phase === "idle") {
      if (this.#next !== undefined && !(await source.adopt()))
        throw new CaError("CA_BAD_MATERIAL", "the material that the rotation ended with cannot be read");
      this.#next = undefined;
    } else if (this.#next?.rootId !== state.roots?.next) {
      // The end of a rotation may have been cut short: the new material is in use already.
      const isInUse = state.phase === "finishing" && source.current?.rootId === state.roots?.next;
      const next = isInUse ? source.current : await this.readNext();
      if (next?.rootId !== state.roots?.next)
        throw new CaError("CA_ROTATION", "the next signing material is not the one that the rotation began with");
      this.#next = next;
    }
    this.#state = state;
    this.#combine();
  }

  /** The material to come, where an operator has put it or where it was made. @throws CaError CA_BAD_MATERIAL */
  async readNext(): Promise<SigningMaterial | undefined> {
    const { nextDir, store, rootOptions, nowMs } = this.#options;
    const files = (await readCacerts(nextDir)) ?? (await store.next(rootOptions(), nowMs()));
    return files && this.#read(files);
  }

  /** The same, made if the root is self-signed. @throws CaError CA_ROTATION, CA_BAD_MATERIAL */
  async prepareNext(): Promise<SigningMaterial> {
    const { nextDir, store, rootOptions, nowMs, source } = this.#options;
    const found = await this.readNext();
    if (found !== undefined) return found;
    if (source.current?.origin !== "self-signed")
      throw new CaError("CA_ROTATION", `the root is plugged in: put the next signing material in ${nextDir} first`);
    return this.#read(await store.makeNext(rootOptions(), nowMs()));
  }

  /** A root that comes with what is plugged in is awaited when the rotation is about to end with it. */
  isExpected(next: SigningMaterial): boolean {
    return this.#state.phase === "finishing" && next.rootId === this.#state.roots?.next;
  }

  #read(files: Parameters<typeof readMaterial>[0]): SigningMaterial {
    const { trustDomains, nowMs } = this.#options;
    try {
      return readMaterial(files, trustDomains(), nowMs());
    } catch (error) {
      if (!(error instanceof CaError || error instanceof PkiError)) throw error;
      throw new CaError("CA_BAD_MATERIAL", `the next signing material: ${error.message}`, { cause: error });
    }
  }

  #combine(): void {
    const { source, log } = this.#options;
    const base = source.current;
    if (base === undefined) return;
    const before = this.#material;
    const material = combine(this.#state.phase, base, this.#next);
    this.#material = material;
    const isSame = before?.rootsPem === material.rootsPem && before.crlPem === material.crlPem;
    if (isSame && before.certificate.der.equals(material.certificate.der)) return;
    if (before !== undefined)
      log.info("signing or trusted certificates changed", {
        phase: this.#state.phase,
        root: material.rootId,
        trusted: material.rootIds,
      });
    for (const listener of this.#listeners) listener(material);
  }
}

/** The signing key and the trusted roots in each phase of a rotation, from the material in use and the one to come. */
export function combine(phase: Phase, base: SigningMaterial, next: SigningMaterial | undefined): SigningMaterial {
  if (next === undefined) return base;
  switch (phase) {
    case "idle":
      return base;
    case "trusting":
    case "reverting":
      return trusting(base, next);
    case "issuing":
      return trusting(next, base);
    case "finishing":
      return next;
  }
}

/** Signs as before, and hands over the other's roots too. The signer's come first. */
function trusting(signer: SigningMaterial, other: SigningMaterial): SigningMaterial {
  const more = other.roots.filter(({ der }) => !signer.roots.some((root) => root.der.equals(der)));
  const roots = [...signer.roots, ...more];
  const lists = { crls: [...signer.crls, ...other.crls], crlPem: appendPem(signer.crlPem, other.crlPem) };
  return { ...signer, roots, rootsPem: roots.map(certificatePem).join(""), rootIds: idsOf(roots), ...lists };
}
