/**
 * The client certificate that callers must show where WEBHOOK_CLIENT_CA_FILE names its CA: the API server's, by its admission
 * configuration. Without the setting all callers that reach the port are answered.
 */
import type { TLSSocket } from "node:tls";
import { followFiles, type Logger } from "@flotilla/runtime";

export interface ClientRule {
  /** Of the CAs; undefined while their file cannot be read: no caller is answered then. */
  readonly caPem: () => string | undefined;
  /** The certificate has one of these as common or DNS name; none: any will do. */
  readonly names: readonly string[];
}

export interface ClientRuleOptions {
  readonly caFile: string;
  readonly names: readonly string[];
  readonly pollMs: number;
  readonly log: Logger;
  /** The CAs are others now. */
  readonly onChange: () => void;
}

/** Follows the file until `stop` fires. */
export function followClientRule(
  { caFile, names, pollMs, log, onChange }: ClientRuleOptions,
  stop: AbortSignal,
): { readonly rule: ClientRule; readonly following: Promise<void> } {
  let current: string | undefined;
  const follow = async (): Promise<void> => {
    for await (const { texts, reason } of followFiles([caFile], pollMs, stop)) {
      if (texts === undefined) log.error("client CA file unreadable, all callers are refused", { caFile, reason });
      current = texts?.[0];
      onChange();
    }
  };
  return { rule: { caPem: () => current, names }, following: follow() };
}

/** Why the caller is not answered; undefined: it is. */
export function clientRefusal(socket: TLSSocket, { caPem, names }: ClientRule): string | undefined {
  if (caPem() === undefined) return "the CAs of clients are not known";
  const certificate = socket.getPeerCertificate();
  if (certificate.raw === undefined) return "a client certificate is needed";
  if (!socket.authorized) return `the client certificate is refused: ${socket.authorizationError}`;
  const dns = (certificate.subjectaltname ?? "").split(", ").flatMap((text) => text.match(/^DNS:(.+)$/)?.[1] ?? []);
  const shown = [certificate.subject.CN ?? [], dns].flat();
  if (names.length === 0 || shown.some((name) => names.includes(name))) return undefined;
  return `the client certificate is of ${shown.join(", ") || "no host"}`;
}
