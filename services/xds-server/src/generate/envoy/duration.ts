/** Durations as protobuf has them. */
import { ownValue } from "@flotilla/model";
import { create, type Duration, DurationSchema } from "@flotilla/proto";

export const zeroDuration: Duration = create(DurationSchema);

const unitNanos: Readonly<Record<string, number>> = { ns: 1, us: 1e3, µs: 1e3, ms: 1e6, s: 1e9, m: 60e9, h: 3600e9 };

/** Go's text form, `1h30m`, `0.5s`; undefined when it is none. */
export function parseDuration(text: string): Duration | undefined {
  if (text === "" || !/^(?:\d+(?:\.\d+)?(?:ns|us|µs|ms|s|m|h))+$/.test(text)) return undefined;
  let nanos = 0;
  for (const [, amount = "", unit = ""] of text.matchAll(/(\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h)/gy)) {
    nanos += Number(amount) * (ownValue(unitNanos, unit) ?? 0);
  }
  return create(DurationSchema, { seconds: BigInt(Math.floor(nanos / 1e9)), nanos: Math.round(nanos % 1e9) });
}

/** Undefined for 0, which stands for none. */
export function durationOfMs(ms: number): Duration | undefined {
  if (ms === 0) return undefined;
  return create(DurationSchema, { seconds: BigInt(Math.floor(ms / 1000)), nanos: Math.round((ms % 1000) * 1e6) });
}

/** As Go text, so that plans stay plain data. */
export function durationText({ seconds, nanos }: Pick<Duration, "seconds" | "nanos">): string {
  return nanos === 0 ? `${seconds}s` : `${seconds}s${nanos}ns`;
}
