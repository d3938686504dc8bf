/** The table of all messages, in the order of their codes. docs/messages.md is written from it. */
import { compareText } from "@flotilla/model";
import { envoyFilterMessages } from "./envoy-filters.ts";
import { gatewayMessages } from "./gateways.ts";
import { injectionMessages } from "./injection.ts";
import type { Message, ValueNames } from "./message.ts";
import { ownMessages } from "./own.ts";
import { policyMessages } from "./policies.ts";
import { referenceMessages } from "./references.ts";
import { routeMessages } from "./routes.ts";
import { serviceMessages } from "./services.ts";

const table = {
  ...referenceMessages,
  ...injectionMessages,
  ...routeMessages,
  ...gatewayMessages,
  ...policyMessages,
  ...serviceMessages,
  ...envoyFilterMessages,
  ...ownMessages,
} as const;

type Table = typeof table;
export type MessageName = keyof Table;

/** Values that the template of a message needs. */
export type MessageValues<Name extends MessageName> = Readonly<
  Record<ValueNames<Table[Name]["template"]>, string | number>
>;

export const messages: Readonly<Record<MessageName, Message>> = table;

/** Each message with its name. */
export const messageList: readonly (Message & { readonly name: string })[] = Object.entries(messages)
  .map(([name, message]) => ({ name, ...message }))
  .sort((a, b) => compareText(a.code, b.code));

export function messageText<Name extends MessageName>(name: Name, values: MessageValues<Name>): string {
  const given = new Map<string, unknown>(Object.entries(values));
  return messages[name].template.replace(/\{(\w+)\}/g, (_, value: string) => String(given.get(value)));
}
