/** The TLS port: xDS, and the CA's service beside it. */
import { droppedConnections } from "@flotilla/auth/serving";
import { aborted } from "@flotilla/runtime";
import type { AdsServer } from "../serve/ads-server.ts";
import type { XdsService } from "../settings.ts";
import { createCaPassthrough } from "./ca-passthrough.ts";
import type { Identity } from "./identity.ts";
import { openServingMaterial } from "./serving-material.ts";

export interface SecurePortParts {
  readonly ads: AdsServer;
  readonly identity: Identity;
}

/** Runs until the service stops; waits for ca as long as it takes. */
export async function serveSecure(service: XdsService, { ads, identity }: SecurePortParts): Promise<void> {
  const { settings, health, metrics, log, stop } = service;
  const { peers, certificate, cluster } = identity;
  const { caAddress, caServerName } = settings;
  if (caAddress === undefined) return;
  await using material = await openServingMaterial({ settings, caAddress, certificate, cluster, health, log }, stop);
  const { certificates } = peers;
  using ca = createCaPassthrough({
    ...{ caAddress, caServerName, certificates, metrics, log },
    material: material.identity,
  });
  const listening = { host: settings.host, port: settings.tlsPort, setting: "XDS_TLS_PORT" };
  const tls = { material: material.shown, policy: settings, dropped: droppedConnections(metrics) };
  const at = { ...listening, ...tls };
  await using port = await ads.serveTls(at, { authenticator: peers.authenticator, mode: "required" }, ca.methods);
  material.onChange(() => {
    port.reload(material.shown);
    ca.reload(material.identity);
  });
  log.info("serving with TLS", { port: port.port });
  await aborted(stop);
}
