/** Selects the screen that an address names. */
import type { ComponentType, VNode } from "preact";
import { useEffect } from "preact/hooks";
import type { ScreenProps } from "../state/places.ts";
import { matchPath } from "../state/router.ts";
import { CertificatesScreen } from "./certificates.tsx";
import { ChangesScreen } from "./changes.tsx";
import { CompareScreen } from "./compare.tsx";
import { NeighbourhoodScreen } from "./neighbourhood.tsx";
import { NewObjectScreen } from "./new-object.tsx";
import { ObjectScreen } from "./object.tsx";
import { ObjectsScreen } from "./objects.tsx";
import { OverviewScreen } from "./overview.tsx";
import { ProxiesScreen } from "./proxies.tsx";
import { ProxyScreen } from "./proxy.tsx";
import { RejectionsScreen } from "./rejections.tsx";
import { RequestWayScreen } from "./request-way.tsx";
import { SettingsScreen } from "./settings.tsx";
import { NamespacesScreen, ServicesScreen } from "./topology.tsx";

interface ScreenRoute {
  readonly pattern: string;
  readonly title: (names: ReadonlyMap<string, string>) => string;
  readonly screen: ComponentType<ScreenProps>;
}

/** The entries of the navigation, in order. */
export const sections: readonly { readonly path: string; readonly title: string }[] = [
  { path: "/", title: "Overview" },
  { path: "/proxies", title: "Proxies" },
  { path: "/objects", title: "Objects" },
  { path: "/changes", title: "Changes" },
  { path: "/rejections", title: "Rejections" },
  { path: "/topology", title: "Topology" },
  { path: "/certificates", title: "Certificates" },
  { path: "/settings", title: "Settings" },
];

const routes: readonly ScreenRoute[] = [
  { pattern: "/", title: () => "Overview", screen: OverviewScreen },
  { pattern: "/proxies", title: () => "Proxies", screen: ProxiesScreen },
  { pattern: "/proxies/:proxy", title: (names) => names.get("proxy") ?? "", screen: ProxyScreen },
  { pattern: "/objects", title: () => "Objects", screen: ObjectsScreen },
  { pattern: "/objects/new", title: () => "New object", screen: NewObjectScreen },
  { pattern: "/objects/:kind/:namespace/:name", title: (names) => names.get("name") ?? "", screen: ObjectScreen },
  { pattern: "/changes", title: () => "Changes", screen: ChangesScreen },
  { pattern: "/changes/compare", title: () => "Compare generations", screen: CompareScreen },
  { pattern: "/rejections", title: () => "Rejections", screen: RejectionsScreen },
  { pattern: "/topology", title: () => "Topology", screen: NamespacesScreen },
  { pattern: "/topology/-/request", title: () => "What a request would meet", screen: RequestWayScreen },
  { pattern: "/topology/:namespace", title: (names) => names.get("namespace") ?? "", screen: ServicesScreen },
  {
    pattern: "/topology/:namespace/:hostname",
    title: (names) => names.get("hostname") ?? "",
    screen: NeighbourhoodScreen,
  },
  { pattern: "/certificates", title: () => "Certificates", screen: CertificatesScreen },
  { pattern: "/settings", title: () => "Settings", screen: SettingsScreen },
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
