/** Checks that a server presents the certificate that was written for it: a reload may be refused, or never arrive. */
import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { connect as connectTcp, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { TlsMaterial } from "@flotilla/auth/serving";
import { backoff, delay, type Logger } from "@flotilla/runtime";

export interface ServedOptions {
  /** `tls://HOST:PORT`, or `nats://HOST:PORT` for a server that greets before TLS. */
  readonly url: string;
  readonly material: TlsMaterial;
  readonly log: Logger;
  /** Called once when the server still presents another after `overdueAfterMs`. */
  readonly onOverdue: () => Promise<void>;
  readonly overdueAfterMs?: number;
}

const answerMs = 5_000;

/** Until the server presents it or `stop` fires. A server that does not run presents it when it starts. */
export async function untilServed(options: ServedOptions, stop: AbortSignal): Promise<void> {
  const { url, material, log, onOverdue, overdueAfterMs = 60_000 } = options;
  const overdueAt = Date.now() + overdueAfterMs;
  let isOverdue = false;
  for (const waitMs of backoff({ firstMs: 250, maxMs: 5_000, random: Math.random })) {
    const reason = await differenceOf(url, material);
    if (reason === undefined) return log.info("server presents its certificate", { url });
    if (!isOverdue && Date.now() >= overdueAt) {
      isOverdue = true;
      log.error("server does not present its certificate", { url, reason });
      await onOverdue();
    }
    await delay(waitMs, stop);
    if (stop.aborted) return;
  }
}

export function notAfterMsOf(chainPem: string): number {
  return Date.parse(new X509Certificate(chainPem).validTo);
}

/** Why it is not the one that is presented; undefined when it is. */
async function differenceOf(url: string, material: TlsMaterial): Promise<string | undefined> {
  try {
    const presented = await presentedBy(url, material);
    if (presented.equals(new X509Certificate(material.chainPem).raw)) return undefined;
    return `it presents one that ends at ${new X509Certificate(presented).validTo}`;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

async function presentedBy(url: string, { keyPem, chainPem }: TlsMaterial): Promise<Buffer> {
  const { protocol, hostname: host, port } = new URL(url);
  const signal = AbortSignal.timeout(answerMs);
  const socket = connectTcp({ host, port: Number(port), signal });
  try {
    await once(socket, "connect", { signal });
    if (protocol === "nats:") await greeted(socket, signal);
    // One that has ended meanwhile is a difference to report, no reason to learn nothing: nothing is sent over this connection.
    const secured = connectTls({ socket, servername: host, key: keyPem, cert: chainPem, rejectUnauthorized: false });
    await once(secured, "secureConnect", { signal });
    const certificate = secured.getPeerX509Certificate();
    // A clean end: the server's log would call anything else a failed handshake.
    secured.end();
    await once(secured, "close", { signal });
    if (certificate === undefined) throw new Error("it presents no certificate");
    return certificate.raw;
  } finally {
    socket.destroy();
  }
}

/** NATS sends a line about itself before it takes TLS. */
async function greeted(socket: Socket, signal: AbortSignal): Promise<void> {
  const [line] = (await once(socket, "data", { signal })) as [Buffer];
  if (!line.toString("latin1").startsWith("INFO ")) throw new Error("it is no NATS");
  socket.pause();
}
