/** The destinations of a VirtualService, each with its place. */
import { type Field, field, isSet, items } from "@flotilla/validation/field";

export interface Destination {
  /** The destination itself: `host`, `subset` and `port` are its fields. */
  readonly at: Field;
  /** Gets copies of requests. */
  readonly isMirror: boolean;
}

/** Of routes by TCP, TLS and HTTP, then those of mirrored requests. */
export function destinationsOf(spec: Field): readonly Destination[] {
  const routes = ["tcp", "tls", "http"].flatMap((protocol) => items(spec, protocol));
  const direct = routes.flatMap((route) => items(route, "route").map((one) => field(one, "destination")));
  const mirrors = items(spec, "http").flatMap((route) => [
    ...[field(route, "mirror")].filter(isSet),
    ...items(route, "mirrors").map((one) => field(one, "destination")),
  ]);
  return [...direct.map((at) => ({ at, isMirror: false })), ...mirrors.map((at) => ({ at, isMirror: true }))];
}
