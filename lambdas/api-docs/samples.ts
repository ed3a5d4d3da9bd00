import * as z from 'zod';
import type { Endpoint } from '../http/endpoint.ts';

/** Methods of the typed clients, by operation id. In Python, their names are in snake case. */
const CLIENT_CALLS: Readonly<Record<string, string>> = {
  createPayment: 'payments.create',
  capturePayment: 'payments.capture',
  cancelPayment: 'payments.cancel',
  createRefund: 'payments.refund',
  getPayment: 'payments.retrieve',
  listPayments: 'payments.list',
  listTransitions: 'payments.transitions',
  listCaptures: 'payments.captures',
  listCancellations: 'payments.cancellations',
  listRefunds: 'payments.refunds',
  listDisputesOfPayment: 'payments.disputes',
  getRefund: 'refunds.retrieve',
  getCapture: 'captures.retrieve',
  getCancellation: 'cancellations.retrieve',
  getDispute: 'disputes.retrieve',
  listDisputes: 'disputes.list',
  createOrder: 'orders.create',
  getOrder: 'orders.retrieve',
  listOrders: 'orders.list',
  getEvent: 'events.retrieve',
  listEvents: 'events.list',
  createWebhookEndpoint: 'webhookEndpoints.create',
  updateWebhookEndpoint: 'webhookEndpoints.update',
  deleteWebhookEndpoint: 'webhookEndpoints.delete',
  rotateWebhookSecret: 'webhookEndpoints.rotateSecret',
  replayWebhooks: 'webhookEndpoints.replay',
  resendWebhook: 'webhookEndpoints.resend',
  getWebhookEndpoint: 'webhookEndpoints.retrieve',
  listWebhookEndpoints: 'webhookEndpoints.list',
  listWebhookDeliveries: 'webhookEndpoints.deliveries',
};

/** The caller's name for the operation, which also serves as the idempotency key in requests without a client. */
const OPERATION = 'order_42';

/** A sample in the format that Redoc and other readers of `x-codeSamples` expect. */
export interface CodeSample {
  readonly lang: 'Shell' | 'TypeScript' | 'Python';
  readonly label: string;
  readonly source: string;
}

interface Asked extends Pick<Endpoint<never, never>, 'method' | 'path'> {
  readonly operationId: string;
  readonly isKeyed: boolean;
  readonly ids: readonly string[];
  /** Names of the query parameters that must be sent. */
  readonly query: readonly string[];
  /** Undefined if the operation has no body, or if the body is optional and empty. */
  readonly body: unknown;
  /**
   * An example of the parameter for the body in a call of the typed client. Undefined if the body has no fields,
   * because the client's function then has no such parameter.
   */
  readonly params: unknown;
  /** The name of the variable that contains the API key. */
  readonly credential: 'key' | 'operator_key';
}

/** @param body an example of the body; undefined for a request without one */
export function samplesOf(endpoint: Endpoint<never, never>, body: unknown): readonly CodeSample[] {
  const { method, path, kind, docs, scope, query, body: schema } = endpoint;
  const fields: Readonly<Record<string, z.ZodType>> = query?.shape ?? {};
  const asked: Asked = {
    method,
    path,
    operationId: docs.operationId,
    isKeyed: kind === 'keyed',
    ids: [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name),
    query: Object.entries(fields).flatMap(([name, each]) => (each.safeParse(undefined).success ? [] : [name])),
    body: JSON.stringify(body) === '{}' ? undefined : body,
    params: schema instanceof z.ZodObject && Object.keys(schema.shape).length === 0 ? undefined : body,
    credential: scope === undefined ? 'operator_key' : 'key',
  };
  const call = CLIENT_CALLS[docs.operationId];
  return [
    { lang: 'Shell', label: 'curl', source: curl(asked) },
    {
      lang: 'TypeScript',
      label: 'TypeScript',
      source: call === undefined ? fetched(asked) : typeScriptCall(asked, call),
    },
    { lang: 'Python', label: 'Python', source: call === undefined ? urlopened(asked) : pythonCall(asked, call) },
  ];
}

function addressOf({ path, query }: Asked, variable: (name: string) => string): string {
  const pairs = query.map((name) => `${name}=${variable(`query_${name}`)}`);
  const below = path.replaceAll(/\{(\w+)\}/g, (_placeholder, name: string) => variable(name));
  return [`${variable('api')}${below}`, ...(pairs.length === 0 ? [] : [pairs.join('&')])].join('?');
}

function curl(asked: Asked): string {
  const variable = (name: string) => `$${name.toUpperCase()}`;
  const { method, body, isKeyed, credential } = asked;
  const quoted = (text: string) => `'${text.replaceAll("'", String.raw`'\''`)}'`;
  return [
    `curl ${method === 'GET' ? '' : `-X ${method} `}"${addressOf(asked, variable)}"`,
    `-H "Authorization: Bearer ${variable(credential)}"`,
    ...(isKeyed ? [`-H 'Idempotency-Key: ${OPERATION}'`] : []),
    ...(body === undefined ? [] : [`-H 'Content-Type: application/json'`, `-d ${quoted(JSON.stringify(body))}`]),
  ].join(' \\\n  ');
}

/** Returns the headers of a request without a client, as fields of an object literal. */
function headersOf({ body, isKeyed }: Asked, authorization: string): readonly string[] {
  return [
    `"authorization": ${authorization}`,
    ...(isKeyed ? [`"idempotency-key": "${OPERATION}"`] : []),
    ...(body === undefined ? [] : ['"content-type": "application/json"']),
  ];
}

function fetched(asked: Asked): string {
  const { method, body, credential } = asked;
  const given = (name: string) => `\${${camelCase(name)}}`;
  return [
    `const response = await fetch(\`${addressOf(asked, given)}\`, {`,
    `  method: "${method}",`,
    `  headers: { ${headersOf(asked, `\`Bearer ${given(credential)}\``).join(', ')} },`,
    ...(body === undefined ? [] : [`  body: JSON.stringify(${JSON.stringify(body)}),`]),
    '});',
    'console.log(response.status, await response.json());',
  ].join('\n');
}

function urlopened(asked: Asked): string {
  const { method, body, credential } = asked;
  const given = (name: string) => `{${name}}`;
  return [
    'import json, urllib.request',
    '',
    'request = urllib.request.Request(',
    `    f"${addressOf(asked, given)}",`,
    `    method="${method}",`,
    `    headers={${headersOf(asked, `f"Bearer ${given(credential)}"`).join(', ')}},`,
    ...(body === undefined ? [] : [`    data=json.dumps(${inPython(body)}).encode(),`]),
    ')',
    'with urllib.request.urlopen(request) as response:',
    '    print(response.status, json.load(response))',
  ].join('\n');
}

/** The creation is named `order_42`, and each change needs another name. */
function nameOf({ operationId }: Asked): string {
  return /^create(?:Payment|Order)$/.test(operationId) ? OPERATION : `${OPERATION}/${operationId}`;
}

function typeScriptCall(asked: Asked, call: string): string {
  const { ids, params, isKeyed, operationId } = asked;
  const given = [
    ...ids.map(camelCase),
    ...(params === undefined ? [] : [JSON.stringify(params)]),
    ...(isKeyed ? [`{ operation: "${nameOf(asked)}" }`] : []),
  ];
  const called = `client.${call}(${given.join(', ')})`;
  return [
    'import { createClient } from "payonce/client";',
    'import { fileKeys } from "payonce/file-keys";',
    '',
    'const client = createClient({ url: api, apiKey: key, keys: fileKeys("./operations") });',
    ...(operationId.startsWith('list')
      ? [`for await (const each of ${called}) console.log(each);`]
      : [`console.log(await ${called});`]),
  ].join('\n');
}

function pythonCall(asked: Asked, call: string): string {
  const { ids, params, isKeyed, operationId } = asked;
  const given = [
    ...ids,
    ...(params === undefined ? [] : [inPython(params)]),
    ...(isKeyed ? [`operation="${nameOf(asked)}"`] : []),
  ];
  const called = `client.${snakeCase(call)}(${given.join(', ')})`;
  return [
    'from payonce import Client, FileKeys',
    '',
    'client = Client(api, api_key=key, keys=FileKeys("operations"))',
    ...(operationId.startsWith('list') ? [`for each in ${called}:`, '    print(each)'] : [`print(${called})`]),
  ].join('\n');
}

function camelCase(name: string): string {
  return name.replaceAll(/_(\w)/g, (_text, letter: string) => letter.toUpperCase());
}

function snakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** A JSON string is also a valid Python string. */
function inPython(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(inPython).join(', ')}]`;
  if (typeof value === 'object' && value !== null) {
    return `{${Object.entries(value)
      .map(([name, inner]) => `${JSON.stringify(name)}: ${inPython(inner)}`)
      .join(', ')}}`;
  }
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  return value === null ? 'None' : JSON.stringify(value);
}
