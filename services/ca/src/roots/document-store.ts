/**
 * Self-signed roots in one document that replicas share: a Secret, or a sealed value on the bus. The next root lies in the same
 * document during a rotation: one write puts it into use.
 */
import { parseCertificatePem } from "@flotilla/pki";
import { CaError } from "../errors.ts";
import type { MaterialFiles } from "./material.ts";
import { isRenewalDue, makeRoot, newKey, renewedRoot } from "./self-signed.ts";
import { idOf, type RootOptions, type SelfSignedStore } from "./self-signed-store.ts";

export type DocumentData = Readonly<Record<string, string>>;

interface DocumentVersion {
  readonly data: DocumentData;
  /** Writes over this version only. False: somebody else was faster. */
  write(data: DocumentData): Promise<boolean>;
  /** False: it has to be made. */
  readonly exists: boolean;
}

export interface SharedDocument {
  /** For people. */
  readonly name: string;
  /** @throws CaError CA_BAD_MATERIAL */
  read(): Promise<DocumentVersion>;
}

const current = { certificate: "ca-cert.pem", key: "ca-key.pem" } as const;
const next = { certificate: "next-ca-cert.pem", key: "next-ca-key.pem" } as const;
const attempts = 10;

/**
 * `seed`: a root from before there was a document, which proxies trust. Its methods
 * @throws CaError CA_BAD_MATERIAL when the document cannot be read or written
 */
export function documentStore(
  document: SharedDocument,
  seed?: () => Promise<MaterialFiles | undefined>,
): SelfSignedStore {
  return new DocumentStore(document, seed);
}

class DocumentStore implements SelfSignedStore {
  readonly #document: SharedDocument;
  readonly #seed: (() => Promise<MaterialFiles | undefined>) | undefined;

  constructor(document: SharedDocument, seed: (() => Promise<MaterialFiles | undefined>) | undefined) {
    this.#document = document;
    this.#seed = seed;
  }

  open(options: RootOptions, nowMs: number): Promise<MaterialFiles> {
    return this.#make(current, options, nowMs);
  }

  async renew(options: RootOptions, gracePercent: number, nowMs: number): Promise<MaterialFiles> {
    await this.open(options, nowMs);
    const data = await this.#change((found) => {
      const files = filesOf(found, current);
      if (files === undefined || !isRenewalDue(parseCertificatePem(files.certificatePem), gracePercent, nowMs))
        return found;
      return { ...found, [current.certificate]: renewedRoot(files, options.ttlMs, nowMs) };
    });
    return filesOf(data, current) ?? this.open(options, nowMs);
  }

  async next(_options: RootOptions, _nowMs: number): Promise<MaterialFiles | undefined> {
    return filesOf((await this.#document.read()).data, next);
  }

  makeNext(options: RootOptions, nowMs: number): Promise<MaterialFiles> {
    return this.#make(next, options, nowMs);
  }

  async promote(): Promise<void> {
    await this.#change((found) => {
      const files = filesOf(found, next);
      if (files === undefined) return found;
      return { ...without(found, next), [current.certificate]: files.certificatePem, [current.key]: files.keyPem };
    });
  }

  async dropNext(id: string): Promise<void> {
    await this.#change((found) => {
      const files = filesOf(found, next);
      return files === undefined || idOf(files) === id ? without(found, next) : found;
    });
  }

  /** Of several replicas that do so at once, all use what the first one wrote. */
  async #make(names: typeof current | typeof next, options: RootOptions, nowMs: number): Promise<MaterialFiles> {
    const found = filesOf((await this.#document.read()).data, names);
    if (found !== undefined) return found;
    const seed = names === current ? await this.#seed?.() : undefined;
    const keyPem = seed?.keyPem ?? (await newKey(options.keyType));
    const certificate = seed?.certificatePem ?? makeRoot(keyPem, options, nowMs);
    const made = { [names.key]: keyPem, [names.certificate]: certificate };
    const data = await this.#change((there) => (filesOf(there, names) === undefined ? { ...there, ...made } : there));
    return (
      filesOf(data, names) ?? { keyPem, certificatePem: certificate, rootsPem: certificate, origin: "self-signed" }
    );
  }

  /** Writes only over the version that was read; versions of other writers are read again. */
  async #change(change: (data: DocumentData) => DocumentData): Promise<DocumentData> {
    for (let attempt = 1; attempt <= attempts; attempt++) {
      const version = await this.#document.read();
      const before = version.data;
      const after = change(before);
      if (after === before || (version.exists && JSON.stringify(after) === JSON.stringify(before))) return before;
      if (await version.write(after)) return after;
    }
    throw new CaError("CA_BAD_MATERIAL", `${this.#document.name}: others write to it all the time`);
  }
}

/** The root in use of a document; undefined where it has none. */
export function rootOf(data: DocumentData): MaterialFiles | undefined {
  return filesOf(data, current);
}

function filesOf(data: DocumentData, names: typeof current | typeof next): MaterialFiles | undefined {
  const [certificatePem, keyPem] = [data[names.certificate], data[names.key]];
  if (certificatePem === undefined || keyPem === undefined) return undefined;
  return { keyPem, certificatePem, rootsPem: certificatePem, origin: "self-signed" };
}

function without(data: DocumentData, names: typeof current | typeof next): DocumentData {
  const { [names.certificate]: _certificate, [names.key]: _key, ...rest } = data;
  return rest;
}
