/** The port of the console: plain HTTP on the own host, else HTTPS with a certificate of files or of ca, replaced while connections stay open. */
import { followKeyPair, type KeyPair, keepOwnCertificate } from "@flotilla/auth/serving";
import type { HttpServer, ServerTls } from "@flotilla/http";
import { aborted, listen, orAborted } from "@flotilla/runtime";
import type { ConsoleService } from "../settings.ts";

/** The service account under which ca accepts this service. */
const serviceAccount = "flotilla-console";
const pollMs = 10_000;

/** Runs until the service stops. @throws RuntimeError PORT_IN_USE, PORT_REFUSED */
export async function servePort(
  service: ConsoleService,
  create: (tls: ServerTls | undefined) => HttpServer,
  onOpen: (port: number) => void,
): Promise<void> {
  const { settings, health, log, stop } = service;
  const { host, port, isTls } = settings;
  const open = async (http: HttpServer): Promise<void> => {
    const bound = await listen(http.server, { host, port, setting: "CONSOLE_PORT" });
    health.markReady();
    const shown = host === "0.0.0.0" || host === "127.0.0.1" ? "localhost" : host;
    log.info("console open", { url: `${isTls ? "https" : "http"}://${shown}:${bound}` });
    onOpen(bound);
  };
  if (!isTls) {
    await using http = create(undefined);
    await open(http);
    await aborted(stop);
    return;
  }
  const { promise: first, resolve } = Promise.withResolvers<KeyPair>();
  let [newest, server]: [KeyPair | undefined, HttpServer | undefined] = [undefined, undefined];
  const following = followCertificate(service, (keyPair) => {
    newest = keyPair;
    server?.reload({ ...keyPair, policy: settings });
    resolve(keyPair);
  });
  following.catch(() => undefined);
  const keyPair = await Promise.race([orAborted(first, stop), following.then(() => first)]);
  await using http = create({ ...(newest ?? keyPair), policy: settings });
  server = http;
  await open(http);
  await following;
}

/** Runs until the service stops. */
async function followCertificate(service: ConsoleService, onKeyPair: (keyPair: KeyPair) => void): Promise<void> {
  const { settings, health, log: own, stop } = service;
  const { certFile, keyFile, caAddress, namespace, port, servingNames: names } = settings;
  const log = own.child({ part: "certificate" });
  const onTrouble = (reason: string | undefined) => health.setCondition("certificate", reason);
  if (certFile !== undefined && keyFile !== undefined)
    return followKeyPair({ type: "files", certFile, keyFile, pollMs }, { log, onKeyPair, onTrouble }, stop);
  onTrouble(`waiting for ca at ${caAddress}`);
  await using certificate = keepOwnCertificate({
    ...{ namespace, serviceAccount, port, names, log },
    // The services are asked with the tokens of callers: a certificate is for its port alone.
    settings: { ...settings, clientCertificateDir: undefined },
  });
  await certificate.follow((material) => {
    onKeyPair(material);
    onTrouble(undefined);
  }, stop);
}
