import assert from "node:assert/strict";
import { test } from "node:test";
import { type PortTraits, portProtocol } from "./port-protocol.ts";

const cases: readonly (readonly [string, PortTraits, string])[] = [
  ["the prefix of the name", { port: 80, name: "http-web" }, "HTTP"],
  ["the whole name", { port: 80, name: "grpc" }, "GRPC"],
  ["in capitals", { port: 80, name: "HTTP2-x" }, "HTTP2"],
  ["a prefix with a dash in it", { port: 80, name: "grpc-web-x" }, "GRPC-Web"],
  ["a name that says nothing", { port: 80, name: "web" }, "Unsupported"],
  ["no name", { port: 80 }, "Unsupported"],
  ["UDP, whatever the name", { port: 80, name: "http", protocol: "UDP" }, "UDP"],
  ["appProtocol before the name", { port: 80, name: "http", appProtocol: "tcp" }, "TCP"],
  ["an unknown appProtocol hides the name", { port: 80, name: "http", appProtocol: "amqp" }, "Unsupported"],
  ["Kubernetes' h2c", { port: 80, name: "x", appProtocol: "kubernetes.io/h2c" }, "HTTP2"],
  ["Kubernetes' ws", { port: 80, appProtocol: "kubernetes.io/ws" }, "HTTP"],
  ["Kubernetes' wss", { port: 80, appProtocol: "kubernetes.io/wss" }, "HTTPS"],
  ["a server that speaks first", { port: 3306, name: "db" }, "TCP"],
  ["a server that speaks first, but named", { port: 3306, name: "http" }, "HTTP"],
];

for (const [name, port, expected] of cases) {
  test(`protocol by ${name}`, () => assert.equal(portProtocol(port), expected));
}
