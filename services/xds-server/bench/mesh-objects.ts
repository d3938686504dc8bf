/** A mesh of a given size: ServiceEntries with one HTTP port, an address and two endpoints each, and one VirtualService. */
import type { KubeObject } from "@flotilla/model";

export function meshObjects(services: number): readonly KubeObject[] {
  return [...Array.from({ length: services }, (_, i) => serviceEntry(i)), virtualServiceOf(0, "first")];
}

/** A VirtualService whose response header carries `mark`, so that a client sees when it arrived. */
export function virtualServiceOf(service: number, mark: string): KubeObject {
  const host = hostOf(service);
  return {
    apiVersion: "networking.istio.io/v1",
    kind: "VirtualService",
    metadata: { name: "edited", namespace: "mesh" },
    spec: {
      hosts: [host],
      http: [{ headers: { response: { set: { "x-mark": mark } } }, route: [{ destination: { host } }] }],
    },
  };
}

function hostOf(i: number): string {
  return `svc-${i}.mesh.example`;
}

function serviceEntry(i: number): KubeObject {
  return {
    apiVersion: "networking.istio.io/v1",
    kind: "ServiceEntry",
    metadata: { name: `svc-${i}`, namespace: "mesh" },
    spec: {
      hosts: [hostOf(i)],
      addresses: [`10.${100 + (i >> 16)}.${(i >> 8) & 255}.${i & 255}`],
      ports: [{ number: 80, name: "http", protocol: "HTTP" }],
      location: "MESH_INTERNAL",
      resolution: "STATIC",
      endpoints: [
        { address: `10.200.${(i >> 8) & 255}.${i & 255}` },
        { address: `10.201.${(i >> 8) & 255}.${i & 255}` },
      ],
    },
  };
}
