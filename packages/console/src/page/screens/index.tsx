/** Which screen an address names. */
import type { ComponentType, VNode } from "preact";
import { useEffect } from "preact/hooks";
import type { ScreenProps } from "../state/places.ts";
import { matchPath } from "../state/router.ts";
import { OverviewScreen } from "./overview.tsx";
import { ProxiesScreen } from "./proxies.tsx";
import { ProxyScreen } from "./proxy.tsx";

interface ScreenRoute {
  readonly pattern: string;
  readonly title: (names: ReadonlyMap<string, string>) => string;
  readonly screen: ComponentType<ScreenProps>;
}

/** The entries of the navigation, in order. */
export const sections: readonly { readonly path: string; readonly title: string }[] = [
  { path: "/", title: "Overview" },
  { path: "/proxies", title: "Proxies" },
];

const routes: readonly ScreenRoute[] = [
  { pattern: "/", title: () => "Overview", screen: OverviewScreen },
  { pattern: "/proxies", title: () => "Proxies", screen: ProxiesScreen },
  { pattern: "/proxies/:proxy", title: (names) => names.get("proxy") ?? "", screen: ProxyScreen },
];

/** The screen of a path, with its title in the document. */
export function ScreenAt({ path }: { readonly path: string }): VNode {
  for (const { pattern, title, screen: Screen } of routes) {
    const names = matchPath(pattern, path);
    if (names !== undefined)
      return (
        <Titled key={path} title={title(names)}>
          <Screen names={names} />
        </Titled>
      );
  }
  return (
    <Titled title="Not found">
      <h1>Not found</h1>
      <p>
        There is no screen at <code>{path}</code>. <a href="/">Overview</a>
      </p>
    </Titled>
  );
}

function Titled({ title, children }: { readonly title: string; readonly children: VNode | VNode[] }): VNode {
  useEffect(() => {
    document.title = `${title} · Flotilla`;
  }, [title]);
  return <>{children}</>;
}
