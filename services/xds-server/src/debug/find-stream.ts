/** The stream of a proxy, by its id (`name.namespace`) or a connection's id. */
import type { StreamRecord } from "../serve/stream-record.ts";
import { maySee, type Viewer } from "./viewer.ts";

/** A proxy that connected again is found by its last connection. A stream that one may not see is not there. */
export function findStream(streams: readonly StreamRecord[], id: string, viewer: Viewer): StreamRecord | undefined {
  const seen = streams.filter(({ proxy }) => maySee(viewer, proxy.namespace));
  return (
    seen.find((stream) => stream.id === id) ?? seen.findLast(({ proxy, types }) => proxy.id === id && types().size > 0)
  );
}
