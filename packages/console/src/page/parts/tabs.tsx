/** Views of one thing, chosen by `tab` in the address. They are links: each has an address of its own, and the keys of links. */
import type { VNode } from "preact";
import { router } from "../state/browser.ts";
import { formatAddress } from "../state/router.ts";

/** A view of a screen. */
export interface Tab {
  readonly id: string;
  readonly title: string;
}

/** The tab of the address, or the first one. */
export function chosenTab(tabs: readonly Tab[]): string {
  const asked = router.place.value.query.get("tab");
  return tabs.find(({ id }) => id === asked)?.id ?? tabs[0]?.id ?? "";
}

/** Ways to the tabs of the present screen; the rest of the query belongs to a tab and is left behind. */
export function Tabs({ tabs, label }: { readonly tabs: readonly Tab[]; readonly label: string }): VNode {
  const { path } = router.place.value;
  const chosen = chosenTab(tabs);
  return (
    <nav class="tabs" aria-label={label}>
      {tabs.map(({ id, title }, at) => (
        <a
          key={id}
          href={formatAddress(path, new Map(at === 0 ? [] : [["tab", id]]))}
          aria-current={id === chosen ? "true" : undefined}
        >
          {title}
        </a>
      ))}
    </nav>
  );
}
