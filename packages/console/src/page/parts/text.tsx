/** Small pieces that all screens share: states, ages, names of objects and proxies as links, figures. */
import type { ComponentChildren, VNode } from "preact";
import type { ObjectName } from "../../contract/index.ts";
import { formatAge, formatBytes, formatCount, formatTime } from "../format/quantities.ts";
import { clock } from "../state/browser.ts";
import { objectPath, proxyPath } from "../state/places.ts";

export type Tone = "good" | "warn" | "bad" | "plain" | "accent";

const tones: ReadonlyMap<string, Tone> = new Map([
  ...["synced", "live", "ready", "created", "added", "STRICT", "True"].map((state) => [state, "good"] as const),
  ...["sending", "arriving", "warning", "not-ready", "configured", "changed", "PERMISSIVE"].map(
    (state) => [state, "warn"] as const,
  ),
  ...["rejected", "refused", "away", "error", "deleted", "removed", "DISABLE", "False"].map(
    (state) => [state, "bad"] as const,
  ),
]);

/** The colour of a state; plain for those without. */
export function toneOf(state: string): Tone {
  return tones.get(state) ?? "plain";
}

/** A state as a coloured word: never by colour alone. */
export function State({ state, title }: { readonly state: string; readonly title?: string | undefined }): VNode {
  return (
    <span class={`tag ${toneOf(state)}`} title={title}>
      {state}
    </span>
  );
}

/** How long ago; the exact time is in its title. */
export function Ago({ at }: { readonly at: string | undefined }): VNode | null {
  if (at === undefined) return null;
  const ms = Date.parse(at);
  // Of what was there before anybody wrote times down.
  if (Number.isNaN(ms)) return null;
  return (
    <time dateTime={at} title={formatTime(ms)}>
      {formatAge(ms, clock.value)}
    </time>
  );
}

/** A size with its exact bytes in the title. */
export function Bytes({ bytes }: { readonly bytes: number }): VNode {
  return <span title={`${formatCount(bytes)} bytes`}>{formatBytes(bytes)}</span>;
}

/** An object's name, which leads to its screen; anything else, such as a sentence about settings, as text. */
export function ObjectLink({ object }: { readonly object: ObjectName }): VNode {
  const path = objectPath(object);
  if (path === undefined) return <span>{object}</span>;
  return (
    <a href={path} class="name">
      {object.split("/").map((part, at) => (
        // A long name breaks behind its slashes.
        <>
          {at > 0 && (
            <>
              /<wbr />
            </>
          )}
          {part}
        </>
      ))}
    </a>
  );
}

/** A proxy's name, which leads to its screen. */
export function ProxyLink({ proxy }: { readonly proxy: string }): VNode {
  return (
    <a href={proxyPath(proxy)} class="name">
      {proxy}
    </a>
  );
}

/** A figure with its meaning below; with an address the whole leads there. */
export function Figure({
  value,
  children,
  tone = "plain",
  href,
}: {
  readonly value: ComponentChildren;
  readonly children: ComponentChildren;
  readonly tone?: Tone;
  readonly href?: string;
}): VNode {
  const content = (
    <>
      <b>{value}</b>
      <span>{children}</span>
    </>
  );
  return href === undefined ? (
    <div class={`figure ${tone}`}>{content}</div>
  ) : (
    <a class={`figure ${tone}`} href={href}>
      {content}
    </a>
  );
}

/** A part of a screen with a heading. */
export function Panel({
  title,
  aside,
  children,
  wide = false,
}: {
  readonly title: string;
  readonly aside?: ComponentChildren;
  readonly children: ComponentChildren;
  readonly wide?: boolean;
}): VNode {
  return (
    <section class={wide ? "panel wide" : "panel"} aria-label={title}>
      <header>
        <h2>{title}</h2>
        {aside}
      </header>
      {children}
    </section>
  );
}

/** How many proxies have an object, as a bar and as figures. */
export function Arrived({ live, concerned }: { readonly live: number; readonly concerned: number }): VNode {
  if (concerned === 0) return <span class="muted">no proxy</span>;
  return (
    <span class="arrived">
      <progress value={live} max={concerned} aria-label={`${live} of ${concerned} proxies`} />
      <span>
        {formatCount(live)} / {formatCount(concerned)}
      </span>
    </span>
  );
}
