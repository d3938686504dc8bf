/**
 * Self-signed roots: the one in use and, during a rotation, the one to come. On disk each has a directory of its own, and
 * a file that is replaced whole names the one in use.
 */
import { randomUUID } from "node:crypto";
import { mkdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { replaceFile } from "@flotilla/auth";
import { parseCertificatePem, rootId } from "@flotilla/pki";
import type { MaterialFiles } from "./material.ts";
import { openSelfSigned, readSelfSigned, renewSelfSigned, type SelfSignedOptions } from "./self-signed.ts";

export type RootOptions = Omit<SelfSignedOptions, "directory">;

export interface SelfSignedStore {
  /** Made at first use. */
  open(options: RootOptions, nowMs: number): Promise<MaterialFiles>;
  /** For the same key, if it is due. */
  renew(options: RootOptions, gracePercent: number, nowMs: number): Promise<MaterialFiles>;
  /** Undefined when none was made. */
  next(options: RootOptions, nowMs: number): Promise<MaterialFiles | undefined>;
  /** Made unless there is one already. */
  makeNext(options: RootOptions, nowMs: number): Promise<MaterialFiles>;
  /** The next one comes into use; the old key is destroyed. Nothing happens without a next one. */
  promote(): Promise<void>;
  /** Destroys the next one's key, if it is the one of this id (see rootId). */
  dropNext(id: string): Promise<void>;
}

export function diskStore(directory: string): SelfSignedStore {
  return new DiskStore(directory);
}

/** A root that was made on disk before; undefined if none was. */
export async function rootOnDisk(directory: string): Promise<MaterialFiles | undefined> {
  const { current } = await new DiskStore(directory).places();
  return readSelfSigned(join(directory, current));
}

/** Names the root of self-signed files. */
export function idOf({ certificatePem }: Pick<MaterialFiles, "certificatePem">): string {
  return rootId(parseCertificatePem(certificatePem));
}

interface Places {
  /** Below the directory; empty for the directory itself. */
  readonly current: string;
  readonly next?: string;
}

class DiskStore implements SelfSignedStore {
  readonly #directory: string;
  readonly #file: string;

  constructor(directory: string) {
    this.#directory = directory;
    this.#file = join(directory, "in-use.json");
  }

  async open(options: RootOptions, nowMs: number): Promise<MaterialFiles> {
    const { current } = await this.places();
    return openSelfSigned({ ...options, directory: join(this.#directory, current) }, nowMs);
  }

  async renew(options: RootOptions, gracePercent: number, nowMs: number): Promise<MaterialFiles> {
    const { current } = await this.places();
    return renewSelfSigned({ ...options, directory: join(this.#directory, current) }, gracePercent, nowMs);
  }

  async next(options: RootOptions, nowMs: number): Promise<MaterialFiles | undefined> {
    const { next } = await this.places();
    return next === undefined
      ? undefined
      : openSelfSigned({ ...options, directory: join(this.#directory, next) }, nowMs);
  }

  async makeNext(options: RootOptions, nowMs: number): Promise<MaterialFiles> {
    const { current, next = `root-${randomUUID().slice(0, 8)}` } = await this.places();
    const files = await openSelfSigned({ ...options, directory: join(this.#directory, next) }, nowMs);
    await this.#publish({ current, next });
    return files;
  }

  async promote(): Promise<void> {
    const { current, next } = await this.places();
    if (next === undefined) return;
    await this.#publish({ current: next });
    await this.#destroy(current);
  }

  async dropNext(id: string): Promise<void> {
    const { current, next } = await this.places();
    const files = next === undefined ? undefined : await readSelfSigned(join(this.#directory, next));
    if (next === undefined || (files !== undefined && idOf(files) !== id)) return;
    await this.#publish({ current });
    await this.#destroy(next);
  }

  async #destroy(place: string): Promise<void> {
    for (const name of ["ca-key.pem", "ca-cert.pem"]) await rm(join(this.#directory, place, name), { force: true });
    if (place !== "") await rm(join(this.#directory, place), { recursive: true, force: true });
  }

  async places(): Promise<Places> {
    try {
      return JSON.parse(await readFile(this.#file, "utf8")) as Places;
    } catch (error) {
      if ((error as { code?: unknown }).code === "ENOENT") return { current: "" };
      throw error;
    }
  }

  async #publish(places: Places): Promise<void> {
    await mkdir(this.#directory, { recursive: true, mode: 0o700 });
    await replaceFile(this.#file, JSON.stringify(places), 0o600);
  }
}
