import assert from "node:assert/strict";
import { test } from "node:test";
import type { Labels } from "@flotilla/model";
import { type Binding, bindService, bindWorkload } from "./binding.ts";
import type { Waypoint } from "./waypoint.ts";

function aWaypoint(name: string, more: Partial<Waypoint> = {}): Waypoint {
  const destination = { namespace: "shop", hostname: `${name}.shop.svc.cluster.local` };
  return { namespace: "shop", name, destination, port: 15008, traffic: "all", attachment: { from: "Same" }, ...more };
}

const waypoints = [
  aWaypoint("all"),
  aWaypoint("services", { traffic: "service" }),
  aWaypoint("workloads", { traffic: "workload" }),
  aWaypoint("open", { namespace: "other", attachment: { from: "All" } }),
  aWaypoint("closed", { namespace: "other" }),
];

function lookups(namespaceLabels: Labels, annotations: Labels = {}) {
  return {
    home: { labels: namespaceLabels, annotations },
    waypoint: ({ namespace, name }: { readonly namespace: string; readonly name: string }) =>
      waypoints.find((one) => one.namespace === namespace && one.name === name),
  };
}

/** `name`, `name + name WEIGHT`, or `reason`, or `name reason`. */
function short({ waypoint, canary, problem }: Binding): string {
  const second = canary === undefined ? "" : ` + ${canary.waypoint.name} ${canary.weight}`;
  return [`${waypoint?.name ?? ""}${second}`, problem?.reason ?? ""].filter((text) => text !== "").join(" ");
}

const use = (name: string) => ({ "istio.io/use-waypoint": name });
const useOther = (name: string) => ({ ...use(name), "istio.io/use-waypoint-namespace": "other" });
const twoOf = (second: string) => ({ ...use("all"), "istio.io/use-waypoint-canary": second });

interface Case {
  readonly name: string;
  readonly labels?: Labels;
  readonly home?: Labels;
  readonly weight?: string;
  /** That of the namespace. */
  readonly homeWeight?: string;
  readonly namespaceOnly?: boolean;
  readonly service: string;
  readonly workload: string;
}

const cases: readonly Case[] = [
  { name: "nothing is named", service: "", workload: "" },
  { name: "the object names one", labels: use("all"), service: "all", workload: "all" },
  { name: "the namespace names one", home: use("all"), service: "all", workload: "all" },
  { name: "the object names none", labels: use("none"), home: use("all"), service: "", workload: "" },
  {
    name: "one for services alone is named by a workload",
    labels: use("services"),
    service: "services",
    workload: "UnsupportedTrafficType",
  },
  { name: "one for services alone is the namespace's", home: use("services"), service: "services", workload: "" },
  {
    name: "one for workloads alone",
    labels: use("workloads"),
    service: "UnsupportedTrafficType",
    workload: "workloads",
  },
  {
    name: "one that does not exist, and none of the namespace in its place",
    labels: use("missing"),
    home: use("all"),
    service: "WaypointIsNotReady",
    workload: "WaypointIsNotReady",
  },
  { name: "one of another namespace that is open", labels: useOther("open"), service: "open", workload: "open" },
  {
    name: "one of another namespace that is not",
    labels: useOther("closed"),
    service: "AttachmentDenied",
    workload: "AttachmentDenied",
  },
  {
    name: "one of another namespace for a service that this may not know",
    labels: useOther("open"),
    namespaceOnly: true,
    service: "CrossNamespaceWaypointForbidden",
    workload: "open",
  },
  {
    name: "a second one takes a share",
    labels: twoOf("services"),
    weight: "10",
    service: "all + services 10",
    workload: "all",
  },
  {
    name: "a share that is none",
    labels: twoOf("services"),
    weight: "101",
    service: "all CanaryInvalidWeight",
    workload: "all",
  },
  {
    name: "a second one without a share",
    labels: twoOf("services"),
    service: "all + services 0",
    workload: "all",
  },
  {
    name: "a second one and its share are those of the namespace",
    home: twoOf("services"),
    homeWeight: "20",
    service: "all + services 20",
    workload: "all",
  },
  {
    name: "the share is the object's own, as integers are written",
    home: twoOf("services"),
    weight: "+007",
    homeWeight: "20",
    service: "all + services 7",
    workload: "all",
  },
  {
    name: "a second one of the namespace beside a first one of the object",
    labels: use("services"),
    home: twoOf("services"),
    homeWeight: "20",
    service: "services",
    workload: "UnsupportedTrafficType",
  },
  {
    name: "the object names no second one",
    labels: { "istio.io/use-waypoint-canary": "" },
    home: twoOf("services"),
    homeWeight: "20",
    service: "all",
    workload: "all",
  },
  {
    name: "a service of an east-west gateway",
    labels: { "gateway.istio.io/managed": "istio.io-eastwest-controller" },
    home: use("all"),
    service: "",
    workload: "all",
  },
  {
    name: "a second one that is the first",
    labels: { ...use("all"), "istio.io/use-waypoint-canary": "all" },
    weight: "10",
    service: "all CanarySameAsPrimary",
    workload: "all",
  },
];

const share = (weight: string | undefined): Labels =>
  weight === undefined ? {} : { "istio.io/use-waypoint-canary-weight": weight };

for (const { name, labels = {}, home = {}, weight, homeWeight, namespaceOnly, service, workload } of cases)
  test(name, () => {
    const object = { labels, annotations: share(weight) };
    assert.equal(short(bindService(object, "shop", lookups(home, share(homeWeight)), namespaceOnly)), service);
    assert.equal(short(bindWorkload({ labels }, "shop", lookups(home))), workload);
  });
