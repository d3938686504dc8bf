/** Secrets that outlive a process: the seal key, the passwords of Redis, the self-signed root. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type Bus, createSeal, readSeal, type Seal } from "@flotilla/bus";
import { CaError } from "../errors.ts";
import type { Cluster } from "../kubernetes/cluster.ts";
import { ensureSecret, readSecret, sealKey, storePasswords } from "../kubernetes/initial-secret.ts";
import { documentStore } from "../roots/document-store.ts";
import { rootsBucket, sealedDocument } from "../roots/sealed-document.ts";
import { diskStore, rootOnDisk, type SelfSignedStore } from "../roots/self-signed-store.ts";
import type { CaService } from "../settings.ts";

/** The other services and Redis start when these Secrets are there, so they come before all else. Resolves to the seal key. */
export async function createSecrets(
  { settings, health, log: parent, stop }: CaService,
  cluster: Cluster | undefined,
): Promise<Seal | undefined> {
  const { sealKeySecret, sealKeyFile, storeSecret, namespace } = settings;
  if (cluster === undefined) return readSeal(sealKeyFile);
  const log = parent.child({ part: "kubernetes" });
  const common = { api: cluster.api, namespace, health, log };
  const key = sealKeySecret === undefined ? undefined : { ...common, ...sealKey, name: sealKeySecret };
  await Promise.all([
    key && ensureSecret(key, stop),
    storeSecret !== undefined && ensureSecret({ ...common, ...storePasswords, name: storeSecret }, stop),
  ]);
  if (key === undefined) return readSeal(sealKeyFile);
  // Its own pod starts before there is one to be mounted.
  const value = await readSecret({ ...key, field: "seal.key" }, stop);
  return value && createSeal(value);
}

/** Without a cluster. @throws CaError CA_BAD_MATERIAL for settings that do not go together */
export async function selfSignedStore(
  { settings, log }: Pick<CaService, "settings" | "log">,
  bus: () => Promise<Bus>,
): Promise<SelfSignedStore> {
  const { selfSignedStore: place, selfSignedDir, busUrl, sealKeyFile } = settings;
  if (place === "disk") return diskStore(selfSignedDir);
  if (busUrl === undefined || sealKeyFile === undefined)
    throw new CaError("CA_BAD_MATERIAL", "CA_SELF_SIGNED_STORE=bus needs BUS_URL and SEAL_KEY_FILE");
  if (busUrl.split(",").some((url) => URL.parse(url.trim())?.searchParams.has("certificates")))
    throw new CaError(
      "CA_BAD_MATERIAL",
      "CA_SELF_SIGNED_STORE=bus: BUS_URL asks for a certificate of the root that lies behind it",
    );
  const document = sealedDocument(
    async () => (await bus()).keyValue(rootsBucket, { isSealed: true }),
    createSeal(await readFile(sealKeyFile)),
    { file: join(selfSignedDir, "sealed-root"), log: log.child({ part: "root" }) },
  );
  return documentStore(document, () => rootOnDisk(selfSignedDir));
}
