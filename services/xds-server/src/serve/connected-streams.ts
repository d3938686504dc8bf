/**
 * The streams of a server, for the stages that show or end them. It exists before the server, so that no stage needs a reference
 * to a server that needs the stage.
 */
import type { RawCall } from "@flotilla/raw-grpc";
import type { Stream } from "./stream.ts";
import { streamEnd } from "./stream-end.ts";
import type { StreamRecord } from "./stream-record.ts";

interface Connected {
  readonly stream: Pick<Stream, "record" | "end">;
  readonly call: Pick<RawCall, "peerCertificate" | "retireConnection">;
}

export class ConnectedStreams {
  readonly #streams = new Map<string, Connected>();

  get size(): number {
    return this.#streams.size;
  }

  add(connected: Connected): void {
    this.#streams.set(connected.stream.record.id, connected);
  }

  remove(streamId: string): void {
    this.#streams.delete(streamId);
  }

  /** As debug pages and the fleet's state show them. */
  list(): readonly StreamRecord[] {
    return [...this.#streams.values()].map(({ stream }) => stream.record);
  }

  /** Asks the client to connect again, here or elsewhere; false when there is no such stream. */
  disconnect(streamId: string): boolean {
    const connected = this.#streams.get(streamId);
    if (connected === undefined) return false;
    connected.stream.end(streamEnd.moved());
    // A client would open its next stream on the same connection, and so on the same replica.
    connected.call.retireConnection();
    return true;
  }

  /** Ends the streams of callers whose client certificate (DER) is one of these. */
  endStreamsOf(isRevoked: (certificate: Buffer) => boolean): void {
    for (const { stream, call } of [...this.#streams.values()]) {
      if (call.peerCertificate === undefined || !isRevoked(call.peerCertificate)) continue;
      stream.end(streamEnd.unauthenticated("the client certificate is revoked"));
      call.retireConnection();
    }
  }

  endAll(): void {
    for (const { stream } of [...this.#streams.values()]) stream.end(streamEnd.shutdown());
  }
}
