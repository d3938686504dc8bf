/** Services of one Deployment that contradict each other, and applications that run as the proxy's user. */
import { compareText, type Labels, matchesLabels } from "@flotilla/model";
import { type Field, field, fieldAt, items, numberOf, textOf } from "@flotilla/validation/field";
import type { Analyzer, Mesh } from "../analyzer.ts";
import { type Finding, finding } from "../finding.ts";
import { fullName, type MeshObject } from "../mesh-object.ts";
import { isControlPlane, isInjected, isProxyContainer, labelsOf } from "../shared/workloads.ts";

/** The counterpart of istioctl's deployment.MultiServiceAnalyzer. */
export const deploymentServices: Analyzer = {
  name: "deployment-services",
  summary: "Services of one Deployment with contradicting ports",
  messages: ["DeploymentWithSeveralProtocols", "DeploymentConflictingPorts"],
  checks: ["Deployment"],
  reads: ["Namespace", "Service"],
  check: (deployment, mesh) => {
    if (deployment.labels["gateway.istio.io/managed"] === "istio.io-mesh-controller") return [];
    const template = fieldAt(deployment.spec, "template");
    const labels = labelsOf(fieldAt(template, "metadata", "labels")) ?? {};
    const annotations = labelsOf(fieldAt(template, "metadata", "annotations")) ?? {};
    const { namespace } = deployment.key;
    if (!isInjected(mesh, { namespace, labels, annotations, podSpec: field(template, "spec") })) return [];
    const ports = servicePorts(mesh, namespace, labels);
    return [...protocolFindings(deployment, ports), ...targetFindings(deployment, ports)];
  },
};

interface PortOfService {
  readonly service: string;
  readonly port: number;
  readonly protocol: string;
  readonly targetPort: string;
}

function servicePorts(mesh: Mesh, namespace: string, labels: Labels): readonly PortOfService[] {
  const services = mesh.within("Service", namespace).filter(({ spec }) => {
    const selector = labelsOf(field(spec, "selector")) ?? {};
    return Object.keys(selector).length > 0 && matchesLabels(selector, labels);
  });
  return services.flatMap((service) =>
    items(service.spec, "ports").map((at) => {
      const port = numberOf(field(at, "port"));
      const target = String(field(at, "targetPort").value ?? "");
      const protocol = textOf(field(at, "protocol")) || "TCP";
      return {
        service: fullName(service.key),
        port,
        protocol,
        targetPort: target === "" || target === "0" ? `${port}` : target,
      };
    }),
  );
}

function protocolFindings(deployment: MeshObject, ports: readonly PortOfService[]): readonly Finding[] {
  return [...Map.groupBy(ports, ({ port }) => port)].flatMap(([port, members]) => {
    if (new Set(members.map(({ protocol }) => protocol)).size < 2) return [];
    const values = { deployment: deployment.key.name, port, services: namesOf(members) };
    return [finding("DeploymentWithSeveralProtocols", deployment, undefined, values)];
  });
}

function targetFindings(deployment: MeshObject, ports: readonly PortOfService[]): readonly Finding[] {
  return [...Map.groupBy(ports, ({ targetPort }) => targetPort)].flatMap(([targetPort, members]) => {
    const numbers = [...new Set(members.map(({ port }) => port))].sort((a, b) => a - b);
    if (numbers.length < 2) return [];
    const values = {
      deployment: deployment.key.name,
      services: namesOf(members),
      targetPort,
      ports: numbers.join(", "),
    };
    return [finding("DeploymentConflictingPorts", deployment, undefined, values)];
  });
}

function namesOf(ports: readonly PortOfService[]): string {
  return [...new Set(ports.map(({ service }) => service))].sort(compareText).join(", ");
}

const proxyUser = 1337;

/** The counterpart of istioctl's applicationUID.Analyzer. */
export const applicationUser: Analyzer = {
  name: "application-user",
  summary: "applications that run as the proxy's user",
  messages: ["InvalidApplicationUid"],
  checks: ["Deployment", "Pod"],
  reads: [],
  check: (object) => {
    if (isControlPlane(object)) return [];
    const podSpec = object.key.kind === "Pod" ? object.spec : fieldAt(object.spec, "template", "spec");
    return [podSpec, ...items(podSpec, "containers").filter((one) => !isProxyContainer(one))]
      .map((one): Field => fieldAt(one, "securityContext", "runAsUser"))
      .filter((user) => numberOf(user) === proxyUser)
      .slice(0, 1)
      .map((user) => finding("InvalidApplicationUid", object, user, {}));
  },
};
