/** Connected streams by how far they have come and what they watch. Most stand together, so what is asked of all costs little. */
import type { StreamRecord } from "../serve/stream-record.ts";

export interface Standing {
  /** Everything up to it is answered. */
  readonly position: number;
  /** The results that what they have is made of. */
  readonly watched: readonly object[];
  /** Streams that stand here. */
  count: number;
}

export function standingsOf(streams: Iterable<StreamRecord>): readonly Standing[] {
  const all: Standing[] = [];
  const byWatched = new Map<readonly object[], Standing[]>();
  for (const stream of streams) {
    const [position, watched] = [stream.answeredPosition(), stream.watched()];
    const alike = byWatched.get(watched) ?? [];
    const known = alike.find((standing) => standing.position === position);
    if (known !== undefined) {
      known.count++;
      continue;
    }
    const standing = { position, watched, count: 1 };
    all.push(standing);
    alike.push(standing);
    byWatched.set(watched, alike);
  }
  return all;
}
