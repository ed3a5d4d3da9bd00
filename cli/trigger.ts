import { setTimeout as sleep } from 'node:timers/promises';
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { type Command, InvalidArgumentError } from 'commander';
import * as z from 'zod';
import { defined } from '../lambdas/kernel/defined.ts';
import { ActiveSecrets } from '../lambdas/kernel/platform/active-secrets.ts';
import { systemClock } from '../lambdas/kernel/platform/platform.ts';
import { stackOutputs } from './deployment.ts';
import { CliFailure, ExitCode } from './failure.ts';
import { type AskApi, addAccess, createApiCaller, Refusal, readAnswer, TENANT } from './operator-api.ts';
import type { Session } from './session.ts';

/** The sandbox's bank disputes a charge after two seconds. */
const MAX_POLLS = 60;
const POLL_INTERVAL_MS = 500;

interface Scenario {
  readonly path: '/v1/payments' | '/v1/orders';
  readonly body: Readonly<Record<string, unknown>>;
  /** Change to request, as the last segment of the payment's path. */
  readonly change?: 'cancel' | 'refunds' | 'capture';
  /** Action of the bank, which a sandbox control performs on the newest refund or dispute of the charge. */
  readonly bank?: { readonly part: 'refunds' | 'disputes'; readonly control: 'fail' | 'close'; readonly body: object };
}

const MONEY = { amount: 1_000, currency: 'EUR' };
const ORDER = { ...MONEY, items: [{ sku: 'sku_tea', quantity: 1 }], email: 'ada@example.com' };
const paid = (source: string, more: Readonly<Record<string, unknown>> = {}, change?: Scenario['change']): Scenario => ({
  path: '/v1/payments',
  body: { ...MONEY, source, ...more },
  ...defined({ change }),
});

/** The sources are the sandbox's (docs/reference/sandbox.md). */
export const SCENARIOS: Readonly<Record<string, Scenario>> = {
  'payment.processing': paid('tok_async'),
  'payment.requires_action': paid('tok_action'),
  'payment.review_required': paid('tok_async_short'),
  'payment.authorized': paid('tok_ok', { capture: 'manual' }),
  'payment.completed': paid('tok_ok'),
  'payment.failed': paid('tok_declined'),
  'payment.canceled': paid('tok_ok', { capture: 'manual' }, 'cancel'),
  'refund.completed': paid('tok_ok', {}, 'refunds'),
  'refund.failed': { ...paid('tok_ok', {}, 'refunds'), bank: { part: 'refunds', control: 'fail', body: {} } },
  'dispute.opened': paid('tok_dispute'),
  'dispute.closed': {
    ...paid('tok_dispute'),
    bank: { part: 'disputes', control: 'close', body: { outcome: 'won' } },
  },
  'order.placed': { path: '/v1/orders', body: { ...ORDER, source: 'tok_action' } },
  'order.completed': { path: '/v1/orders', body: { ...ORDER, source: 'tok_ok' } },
  'order.canceled': {
    path: '/v1/orders',
    body: { ...ORDER, items: [{ sku: 'sku_none', quantity: 1 }], source: 'tok_ok' },
  },
  'order.review_required': { path: '/v1/orders', body: { ...ORDER, source: 'tok_async_short' } },
};

const made = z.looseObject({ id: z.string(), status: z.string(), payment: z.string().optional() });
/** An order contains the id of its payment. */
const ended = z.union([z.looseObject({ order: made }), z.looseObject({ payment: made })]);

export function addTrigger(program: Command, session: Session): void {
  const command = program
    .command('trigger <event>')
    .description(`causes an event in test mode, at the sandbox: ${Object.keys(SCENARIOS).join(', ')}`)
    .option(
      '--set <path=value...>',
      'a field of the payment or the order, for example metadata.order=42',
      readField,
      {},
    );
  addAccess(command, TENANT);
  const ask = createApiCaller(session, command, TENANT);
  command.action(async (event: string, { set }: { readonly set: Fields }) => {
    const scenario = SCENARIOS[event];
    if (scenario === undefined)
      throw new CliFailure(
        ExitCode.usage,
        `${event} cannot be triggered: the events are ${Object.keys(SCENARIOS).join(', ')}.`,
      );
    const document = await play(ask, scenario, set);
    const { id, status, payment } = readAnswer(made, document);
    if (scenario.bank !== undefined)
      await session.during(`The sandbox: ${event}`, () => control(session, payment ?? id, scenario.bank));
    session.show(document, [`${id} is ${status}. The event ${event} follows.`]);
  });
}

async function play(ask: AskApi, { path, body, change }: Scenario, set: Fields): Promise<unknown> {
  const created = await ask('POST', path, merged(body, set)).catch((error: unknown) => {
    // The response to a failed payment or a canceled order is a problem document (RFC 9457) that contains the object.
    const { data } = ended.safeParse(error instanceof Refusal ? error.cause : undefined);
    if (data === undefined) throw error;
    return data['order'] ?? data['payment'];
  });
  if (change === undefined) return created;
  return ask('POST', `${path}/${readAnswer(made, created).id}/${change}`, change === 'refunds' ? {} : undefined);
}

async function control(session: Session, payment: string, bank: Scenario['bank']): Promise<void> {
  if (bank === undefined) return;
  const { url, secret } = await sandboxOf(session);
  const ask = async (method: 'GET' | 'POST', path: string, body?: object): Promise<unknown> => {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${secret}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      redirect: 'error',
    });
    if (response.ok) return response.json();
    throw new CliFailure(ExitCode.refused, `The sandbox returned HTTP ${response.status} to ${method} ${path}.`);
  };
  for (let poll = 0; poll < MAX_POLLS; poll += 1) {
    const { data } = readAnswer(charges, await ask('GET', `/charges?payment=${payment}`));
    const part = data[0]?.[bank.part].at(-1);
    if (part !== undefined) {
      await ask('POST', `/control/${bank.part}/${part.id}/${bank.control}`, bank.body);
      return;
    }
    await sleep(POLL_INTERVAL_MS);
  }
  throw new CliFailure(ExitCode.incomplete, `The charge of ${payment} has no ${bank.part} at the sandbox.`);
}

async function sandboxOf(session: Session): Promise<{ readonly url: string; readonly secret: string }> {
  const local = await session.local();
  if (local !== undefined) return { url: local.sandboxUrl, secret: local.sandboxSecret };
  const target = await session.aws();
  const names = ['sandboxUrl', 'sandboxSecret'] as const;
  const [url, secretId] = await stackOutputs(target, 'sandbox', names, 'deploy with payonce:sandbox=true.');
  const [secret = ''] = await new ActiveSecrets(new SecretsManagerClient(target), systemClock).active(secretId);
  return { url, secret };
}

const parts = z.array(z.object({ id: z.string() }));
const charges = z.object({ data: z.array(z.object({ refunds: parts, disputes: parts })) });

type Fields = Readonly<Record<string, unknown>>;

function merged(body: Fields, set: Fields): Fields {
  const both = Object.entries(set).map(([name, value]): [string, unknown] => {
    const before = body[name];
    return [name, isObject(before) && isObject(value) ? merged(before, value) : value];
  });
  return { ...body, ...Object.fromEntries(both) };
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Metadata values are strings; other values are parsed as JSON if possible. */
function readField(text: string, before: Fields): Fields {
  const [, path = '', value = ''] = /^([a-z_]+(?:\.[A-Za-z0-9_-]+)*)=(.*)$/s.exec(text) ?? [];
  if (path === '')
    throw new InvalidArgumentError(`${text} is not a field. Expected name=value, for example metadata.order=42.`);
  const names = path.split('.');
  const isText = names[0] === 'metadata';
  const field = names.reduceRight<unknown>((inner, name) => ({ [name]: inner }), isText ? value : parsed(value));
  return merged(before, field as Fields);
}

function parsed(value: string): unknown {
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}
