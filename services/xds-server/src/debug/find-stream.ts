/** The stream of a proxy, by its id (`name.namespace`) or a connection's id. */
import type { StreamRecord } from "../serve/stream-record.ts";

export function findStream(streams: readonly StreamRecord[], id: string | null): StreamRecord | undefined {
  return streams.find((stream) => stream.id === id) ?? streams.find(({ proxy }) => proxy.id === id);
}
