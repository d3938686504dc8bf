/** Validates the objects that it is sent, one after the other. */
import { parentPort } from "node:worker_threads";
import { isObject, ownValue } from "@flotilla/model";
import { shortened, type ThreadTask } from "../src/aside/validation-thread.ts";
import type { PatchValueCheck } from "../src/index.ts";
import { createValidator, isEnvoyFilter } from "../src/index.ts";

let current: Pick<ThreadTask, "role" | "isServedIngress"> = { role: undefined, isServedIngress: false };
/** They take 50 MB: loaded with the first EnvoyFilter. */
let patchValue: PatchValueCheck | undefined;
const validate = createValidator({
  patchValue: () => patchValue,
  served: { gatewayRole: () => current.role, isServedIngress: () => current.isServedIngress },
});

parentPort?.on("message", async (task: ThreadTask) => {
  current = task;
  const text = typeof task.json === "string" ? task.json : new TextDecoder().decode(task.json);
  const object = task.at.reduce((of, name) => (isObject(of) ? ownValue(of, name) : undefined), JSON.parse(text));
  if (task.patchValues && isEnvoyFilter(object))
    patchValue ??= (await import("@flotilla/proto/patch-values")).patchValueProblem;
  parentPort?.postMessage(shortened(validate(object)));
});
