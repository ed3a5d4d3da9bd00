import { type Command, InvalidArgumentError } from 'commander';
import * as z from 'zod';
import { CliFailure, ExitCode } from './failure.ts';
import { type AskApi, addAccess, askerOf, Refusal, readAnswer, TENANT } from './operator-api.ts';
import type { Session } from './session.ts';

/** What makes an event happen: a payment or an order of the sandbox, and what follows. */
interface Scenario {
  readonly path: '/v1/payments' | '/v1/orders';
  readonly body: Readonly<Record<string, unknown>>;
  /** A change of the payment, after its path. */
  readonly change?: 'cancel' | 'refunds' | 'capture';
}

const MONEY = { amount: 1_000, currency: 'EUR' };
const ORDER = { ...MONEY, items: [{ sku: 'sku_tea', quantity: 1 }], email: 'ada@example.com' };
const paid = (source: string, more: Readonly<Record<string, unknown>> = {}, change?: Scenario['change']): Scenario => ({
  path: '/v1/payments',
  body: { ...MONEY, source, ...more },
  ...(change === undefined ? {} : { change }),
});

/** By the sources of the sandbox (docs/architecture.md). */
export const SCENARIOS: Readonly<Record<string, Scenario>> = {
  'payment.processing': paid('tok_async'),
  'payment.requires_action': paid('tok_action'),
  'payment.review_required': paid('tok_async_short'),
  'payment.authorized': paid('tok_ok', { capture: 'manual' }),
  'payment.completed': paid('tok_ok'),
  'payment.failed': paid('tok_declined'),
  'payment.canceled': paid('tok_ok', { capture: 'manual' }, 'cancel'),
  'refund.completed': paid('tok_ok', {}, 'refunds'),
  'dispute.opened': paid('tok_dispute'),
  'order.placed': { path: '/v1/orders', body: { ...ORDER, source: 'tok_action' } },
  'order.completed': { path: '/v1/orders', body: { ...ORDER, source: 'tok_ok' } },
};

const made = z.looseObject({ id: z.string(), status: z.string() });
const declined = z.looseObject({ payment: made });

/** `payonce trigger`. */
export function addTrigger(program: Command, session: Session): void {
  const command = program
    .command('trigger <event>')
    .description(`makes an event happen in test mode, at the sandbox: ${Object.keys(SCENARIOS).join(', ')}`)
    .option(
      '--set <path=value...>',
      'a field of the payment or the order, for example metadata.order=42',
      readField,
      {},
    );
  addAccess(command, TENANT);
  const ask = askerOf(session, command, TENANT);
  command.action(async (event: string, { set }: { readonly set: Fields }) => {
    const scenario = SCENARIOS[event];
    if (scenario === undefined)
      throw new CliFailure(
        ExitCode.usage,
        `${event} cannot be triggered: the events are ${Object.keys(SCENARIOS).join(', ')}.`,
      );
    const document = await play(ask, scenario, set);
    const { id, status } = readAnswer(made, document);
    session.show(document, [`${id} is ${status}. The event ${event} follows.`]);
  });
}

async function play(ask: AskApi, { path, body, change }: Scenario, set: Fields): Promise<unknown> {
  const created = await ask('POST', path, merged(body, set)).catch((error: unknown) => {
    // A payment that fails is answered with a problem.
    const { data } = declined.safeParse(error instanceof Refusal ? error.cause : undefined);
    if (data === undefined) throw error;
    return data.payment;
  });
  if (change === undefined) return created;
  return ask('POST', `${path}/${readAnswer(made, created).id}/${change}`, change === 'refunds' ? {} : undefined);
}

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

/** `metadata.order=42`: metadata are texts, and all else is JSON where it can be. */
function readField(text: string, before: Fields): Fields {
  const [, path = '', value = ''] = /^([a-z_]+(?:\.[A-Za-z0-9_-]+)*)=(.*)$/s.exec(text) ?? [];
  if (path === '') throw new InvalidArgumentError(`${text} is not a field like metadata.order=42.`);
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
