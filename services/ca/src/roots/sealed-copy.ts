/**
 * The copy that a replica keeps of the sealed document with the root, below its work directory: a bus that lost the document, or came
 * back with an older one, gets it again. Documents are counted, so that the older of two is known.
 */
import { mkdir, readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { replaceFile } from "@flotilla/auth";
import type { Logger } from "@flotilla/runtime";
import type { DocumentData } from "./document-store.ts";

/** The field of the document that counts its versions. */
const versionField = "version";

export interface SealedCopyOptions {
  readonly file: string;
  readonly log: Logger;
}

/** A document with the bytes it rests in. */
export interface SealedVersion {
  readonly data: DocumentData;
  readonly bytes: Uint8Array;
}

/** 0 for one of before versions were counted. */
export function versionOf(data: DocumentData): number {
  const version = Number(data[versionField] ?? 0);
  return Number.isSafeInteger(version) && version >= 0 ? version : 0;
}

/** The data as the version after `before`. */
export function nextVersion(data: DocumentData, before: DocumentData): DocumentData {
  return { ...data, [versionField]: String(versionOf(before) + 1) };
}

export class SealedCopy {
  readonly #options: SealedCopyOptions;
  readonly #open: (bytes: Uint8Array) => DocumentData;
  #held: SealedVersion | undefined;
  #isRead = false;

  /** @param open throws where the bytes do not open */
  constructor(options: SealedCopyOptions, open: (bytes: Uint8Array) => DocumentData) {
    this.#options = options;
    this.#open = open;
  }

  /** The newest document that this replica has known; undefined where there is none that opens. */
  async newest(): Promise<SealedVersion | undefined> {
    if (!this.#isRead) this.#held = await this.#read();
    this.#isRead = true;
    return this.#held;
  }

  async keep(version: SealedVersion): Promise<void> {
    if (Buffer.from(this.#held?.bytes ?? []).equals(version.bytes)) return;
    this.#held = version;
    const { file, log } = this.#options;
    try {
      await mkdir(dirname(file), { recursive: true, mode: 0o700 });
      await replaceFile(file, Buffer.from(version.bytes).toString("base64"), 0o600);
    } catch (error) {
      // The bus has it; the copy is for the day when it has not.
      log.error("sealed root not saved to disk", { file, error });
    }
  }

  async #read(): Promise<SealedVersion | undefined> {
    const { file, log } = this.#options;
    try {
      const bytes = Buffer.from(await readFile(file, "utf8"), "base64");
      return { bytes, data: this.#open(bytes) };
    } catch (error) {
      if ((error as { readonly code?: unknown }).code !== "ENOENT")
        log.error("copy of the sealed root ignored", { file, error });
      return undefined;
    }
  }
}
