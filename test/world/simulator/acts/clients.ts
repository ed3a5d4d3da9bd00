import { RECORD_RETENTION_DAYS } from '../../../../lambdas/once/domain/idempotency.ts';
import type { Step } from '../contract.ts';
import { type Act, act, type Draft, type Drawing } from './act.ts';
import { delayBank, SOURCES_OF_STRAYS } from './charges.ts';
import { courseBegins, courseGoesOn } from './courses.ts';
import { ask, endOf, keyOf, paymentOf, rootOf } from './objects.ts';
import { stormAfter } from './world.ts';

export interface Money {
  readonly tenant: string;
  readonly amount: number;
  readonly currency: string;
  readonly source: string;
}

/** `tok_ok` and `tok_fee` need no feature. */
const SOURCES = {
  declines: ['tok_declined'],
  silence: [
    'tok_timeout_charged',
    'tok_timeout_not_charged',
    'tok_malformed',
    'tok_flaky',
    'tok_slow',
    'tok_rate_limited',
  ],
  actions: ['tok_action'],
  async: ['tok_async', 'tok_async_declined'],
  late_success: ['tok_declined', 'tok_async_declined', 'tok_callback_late_success'],
} as const;

/** Duration of an outage, in milliseconds: longer than the time in which a charge may be sent, so the payment fails. */
const WINDOW_MS = 30 * 60_000;

/** Duration of an outage, in milliseconds: longer than an order retries its e-mail. */
const MAIL_AWAY_MS = 96 * 3_600_000;

export const TENANTS = ['shop', 'studio', 'shop_live'] as const;

/** `shop_live` is the tenant `shop` with its live-mode API key. */
export function drawTenant(dice: Drawing['dice'], has: Drawing['has']): (typeof TENANTS)[number] {
  if (has('modes') && dice.chance(0.45)) return 'shop_live';
  return dice.chance(0.85) ? 'shop' : 'studio';
}

export function paymentMoney({ dice, has }: Drawing): Money {
  const features = (Object.keys(SOURCES) as (keyof typeof SOURCES)[]).filter(has);
  const plain = features.length === 0 || dice.chance(0.4);
  return {
    tenant: drawTenant(dice, has),
    amount: dice.chance(0.7) ? 1000 : dice.magnitude(1, 99_999),
    currency: has('second_processor') && dice.chance(0.5) ? 'USD' : 'EUR',
    source: plain
      ? dice.weighted(['tok_ok', 'tok_fee'], (source) => (source === 'tok_ok' ? 3 : 1))
      : dice.pick(SOURCES[dice.pick(features)]),
  };
}

interface Pay extends Money, Readonly<Record<string, unknown>> {
  readonly capture: 'automatic' | 'manual';
  readonly reference?: string;
  /** Concurrent requests with the same idempotency key. */
  readonly copies: number;
  /** Time that a copy waits for the response to the first request, in seconds. */
  readonly wait?: number;
  readonly receipt?: true;
  readonly affiliate?: string;
}

/** Retention of the stored response of an idempotency key, in milliseconds. The record is deleted some days later. */
const KEPT_MS = RECORD_RETENTION_DAYS * 24 * 3_600_000;

function straysAfter({ dice, has }: Drawing, source: string, atMs: number): readonly Draft[] {
  const isUncharged = source === 'tok_timeout_not_charged';
  if (!has('strays') || !(isUncharged || source === 'tok_action') || !dice.chance(0.5)) return [];
  const given = { amount: 1000, named: isUncharged, source: dice.pick(SOURCES_OF_STRAYS) };
  if (!isUncharged) return [{ act: 'stray', delay: ['seconds'], given }];
  const outage = { processor: 'its', forMs: WINDOW_MS };
  return [
    { act: 'processor_outage', delay: ['instant'], given: outage, fromMs: atMs + 500 },
    { act: 'stray', delay: ['hours'], given, fromMs: atMs + WINDOW_MS },
  ];
}

function afterRequest(drawing: Drawing, { id, source, atMs, amount, capture }: Step & Money): readonly Draft[] {
  const { dice, has } = drawing;
  const isHeld = capture === 'manual' && source === 'tok_ok';
  return [
    // The processor captures a different amount before the payer approves, or a second charge for a hold is declined.
    ...(source === 'tok_action' && has('wrong_amounts') && dice.chance(0.3)
      ? [
          {
            act: 'wrong_amount',
            delay: ['instant', 'seconds'],
            given: { amount: amount + 1, hasCallback: true },
          } as const,
        ]
      : []),
    ...(isHeld && has('strays') && dice.chance(0.2)
      ? [{ act: 'stray', delay: ['seconds'], given: { amount, named: false, source: 'tok_declined' } } as const]
      : []),
    // The charge stays pending for up to three days.
    ...(source === 'tok_async' && dice.chance(0.4) ? [delayBank(drawing, atMs)] : []),
    ...stormAfter(drawing),
    ...straysAfter(drawing, source, atMs),
    // Because clocks differ, a retry may take over the claim while its owner is still working.
    ...(has('retries') && has('skew') && dice.chance(0.5)
      ? [1, 2, 3].map(() => ({ act: 'retry', delay: ['instant'], given: { of: id, changed: false } }) as const)
      : []),
    ...(has('retries') && dice.chance(0.15)
      ? [
          {
            act: 'retry',
            delay: ['minutes', 'hours'],
            given: { of: id, changed: false },
            fromMs: atMs + KEPT_MS,
          } as const,
        ]
      : []),
  ];
}

const pay = act<Pay>({
  name: 'pay',
  actor: 'client',
  about: 'nothing',
  makes: 'payment',
  weight: 0,
  delay: ['hours'],
  draw: (drawing) => {
    const { dice, has } = drawing;
    return {
      ...paymentMoney(drawing),
      capture: has('holds') && dice.chance(0.6) ? 'manual' : 'automatic',
      ...(has('references') ? { reference: `purchase-${dice.whole(1, 2)}` } : {}),
      copies: has('copies') && dice.chance(0.5) ? dice.whole(2, 4) : 1,
      ...(has('copies') && dice.chance(0.3) ? { wait: 5 } : {}),
      ...(has('follow_ups') && dice.chance(0.6) ? { receipt: true } : {}),
      ...(has('follow_ups') && dice.chance(0.6) ? { affiliate: 'aff_friend' } : {}),
      ...courseBegins(drawing, 'pay'),
    };
  },
  leadsTo: (drawing, step): readonly Draft[] => [...afterRequest(drawing, step), ...courseGoesOn(drawing, step)],
  play: async (scene, step) => {
    const { amount, currency, source, capture, reference, copies, wait, receipt, affiliate } = step;
    const metadata = {
      ...(receipt === undefined ? {} : { receipt_email: `payer-${step.id}@example.com` }),
      ...(affiliate === undefined ? {} : { affiliate }),
    };
    const body = {
      amount,
      currency,
      source,
      capture,
      ...(reference === undefined ? {} : { reference }),
      ...(Object.keys(metadata).length === 0 ? {} : { metadata }),
    };
    const request = {
      method: 'POST',
      path: '/v1/payments',
      key: keyOf(step),
      body,
      ...(wait === undefined ? {} : { prefer: `wait=${wait}` }),
    };
    const [first] = await Promise.all(Array.from({ length: copies }, () => ask(scene, step, request)));
    return first === undefined ? 'nothing' : endOf(first);
  },
  describe: ({ id, amount, capture, source, copies, reference, receipt, affiliate, tenant }, { name, money }) =>
    `${tenant} ${capture === 'manual' ? 'authorizes' : 'charges'} ${money(amount, id)} from ${source} as ${name(id)}` +
    `${copies > 1 ? `, with ${copies} concurrent requests` : ''}${reference === undefined ? '' : `, with the reference ${reference}`}` +
    `${receipt === undefined ? '' : ', with a receipt'}${affiliate === undefined ? '' : `, by ${affiliate}`}`,
});

interface Order extends Money, Readonly<Record<string, unknown>> {
  readonly sku: string;
  readonly email: string;
  readonly referrer?: string;
  readonly affiliate?: string;
}

/** Local parts of addresses that a mail service treats as one recipient. */
const BUYERS = ['ada', 'Ada', 'ada+tea'] as const;

function afterOrder({ dice, has }: Drawing, { atMs, email, tenant, of }: Step & Order): readonly Draft[] {
  const again = { tenant, amount: 1000, currency: 'EUR', source: 'tok_ok', sku: 'sku_tea' };
  return [
    ...(has('mail_cap') && of === undefined
      ? [1, 2].map(() => {
          const given = { ...again, email: `${dice.pick(BUYERS)}@example.com` };
          return { act: 'order', delay: ['seconds', 'minutes'], given } as const;
        })
      : []),
    ...(has('disputes') && dice.chance(0.2)
      ? [{ act: 'dispute', delay: ['instant', 'seconds', 'minutes'], given: { amount: 0 } } as const]
      : []),
    // After the mail account works again, the mail server is down until the order stops sending its e-mail. The order's
    // dead letter can then be redriven.
    ...(has('redrives') && email.startsWith('account') && dice.chance(0.8)
      ? [
          { act: 'party_outage', delay: ['seconds'], given: { party: 'mail', forMs: MAIL_AWAY_MS } } as const,
          {
            act: 'redrive',
            delay: ['minutes', 'hours'],
            given: { what: 'letters' },
            fromMs: atMs + MAIL_AWAY_MS,
          } as const,
        ]
      : []),
  ];
}

const order = act<Order>({
  name: 'order',
  actor: 'client',
  feature: 'orders',
  about: 'nothing',
  makes: 'order',
  weight: 0,
  delay: ['hours'],
  draw: (drawing) => {
    const { dice, has } = drawing;
    const troubled = has('party_outages');
    const money = paymentMoney(drawing);
    const buyer = has('mail_cap') ? dice.pick(BUYERS) : 'ada';
    return {
      ...money,
      // This deployment takes orders only in test mode, because its shop and its mail server belong to the sandbox.
      ...(money.tenant === 'shop_live' && dice.chance(0.9) ? { tenant: TENANTS[0] } : {}),
      sku: troubled && dice.chance(0.4) ? dice.pick(['sku_none', 'sku_timeout', 'sku_flaky']) : 'sku_tea',
      email: `${troubled && dice.chance(0.3) ? dice.pick(['timeout', 'flaky', 'account', 'bounce']) : buyer}@example.com`,
      ...(dice.chance(0.4)
        ? {
            referrer:
              troubled && dice.chance(0.4) ? dice.pick(['ref_nobody', 'ref_timeout', 'ref_flaky']) : 'ref_friend',
          }
        : {}),
      ...(has('follow_ups') && dice.chance(0.6) ? { affiliate: 'aff_friend' } : {}),
      ...courseBegins(drawing, 'order'),
    };
  },
  leadsTo: (drawing, step): readonly Draft[] => [
    ...afterRequest(drawing, step),
    ...afterOrder(drawing, step),
    ...courseGoesOn(drawing, step),
  ],
  play: async (scene, step) => {
    const { amount, currency, source, sku, email, referrer, affiliate } = step;
    const body = {
      amount,
      currency,
      source,
      items: [{ sku, quantity: 2 }],
      email,
      ...(referrer === undefined ? {} : { referrer }),
      ...(affiliate === undefined ? {} : { affiliate }),
    };
    return endOf(await ask(scene, step, { method: 'POST', path: '/v1/orders', key: keyOf(step), body }));
  },
  describe: ({ id, tenant, amount, source, sku, email, referrer, affiliate }, { name, money }) =>
    `${tenant} creates ${name(id)}: ${money(amount, id)} from ${source}, ${sku}, an e-mail to ${email}` +
    `${referrer === undefined ? '' : `, a credit for ${referrer}`}${affiliate === undefined ? '' : `, by ${affiliate}`}`,
});

interface Retry extends Readonly<Record<string, unknown>> {
  readonly of: number;
  readonly changed: boolean;
  readonly wait?: number;
  /**
   * A different tenant (`true`), or the same tenant with its API key for the other mode (`mode`).
   *
   * @default the client
   */
  readonly stranger?: true | 'mode';
}

const RETRIED = new Set(['pay', 'order', 'capture', 'cancel', 'refund', 'operator_change']);

const retry = act<Retry>({
  name: 'retry',
  actor: 'client',
  feature: 'retries',
  about: 'payment',
  weight: 5,
  delay: ['instant', 'seconds', 'minutes', 'days'],
  draw: ({ dice, has, earlier }) => {
    const retried = earlier.filter(({ act: name }) => RETRIED.has(name));
    return retried.length === 0
      ? undefined
      : {
          of: dice.pick(retried).id,
          changed: has('changed_bodies') && dice.chance(0.2),
          ...(dice.chance(0.3) ? { wait: dice.whole(1, 8) } : {}),
          ...(has('modes') && dice.chance(0.3) ? { stranger: 'mode' } : dice.chance(0.1) ? { stranger: true } : {}),
        };
  },
  play: async (scene, step) => {
    const first = scene.system.calls.find(({ step: id, method }) => id === step.of && method === 'POST');
    if (first === undefined) return 'nothing';
    const { method, path, key, body } = first;
    const sent = step.changed ? { ...(body as object), amount: 7 } : body;
    const prefer = step.wait === undefined ? {} : { prefer: `wait=${step.wait}` };
    const as = path.startsWith('/v1/admin/') ? 'operator_again' : 'merchant';
    const request = { method, path, ...(key === undefined ? {} : { key }), body: sent, as, ...prefer } as const;
    return endOf(await ask(scene, step, { tenant: senderOf(first.tenant, step.stranger), ...request }));
  },
  describe: ({ of, changed, wait, stranger }, { name }) =>
    `${stranger === 'mode' ? 'the API key for the other mode' : stranger ? 'another tenant' : 'the client'} repeats the request for ${name(of)}${changed ? ' with a different amount' : ''}` +
    (wait === undefined ? '' : `, and waits ${wait} s`),
});

function senderOf(tenant: string, stranger: Retry['stranger']): string {
  if (stranger === 'mode') return tenant === 'shop_live' ? 'shop' : 'shop_live';
  return stranger === undefined ? tenant : tenant === 'studio' ? 'shop' : 'studio';
}

const LOOKS = ['', '/transitions', '/refunds', '/disputes'] as const;

interface Look extends Readonly<Record<string, unknown>> {
  readonly at: (typeof LOOKS)[number];
  /** Uses the API key for the other mode. */
  readonly stranger?: 'mode';
}

const look = act<Look>({
  name: 'look',
  actor: 'client',
  feature: 'looks',
  about: 'payment',
  weight: 1,
  delay: ['instant', 'seconds', 'hours'],
  draw: ({ dice, has }) => ({
    at: dice.pick(LOOKS),
    ...(has('modes') && dice.chance(0.5) ? { stranger: 'mode' } : {}),
  }),
  play: async (scene, step) => {
    const paymentId = paymentOf(scene, step);
    if (paymentId === undefined) return 'nothing';
    const tenant = senderOf(String(rootOf(scene, step)?.['tenant']), step.stranger);
    return endOf(await ask(scene, step, { tenant, method: 'GET', path: `/v1/payments/${paymentId}${step.at}` }));
  },
  describe: ({ of, at, stranger }, { name }) =>
    `${stranger === undefined ? 'the client' : 'the API key for the other mode'} reads ${name(of)}${at}`,
});

const LISTS = ['payments', 'events', 'orders', 'balances', 'webhook_endpoints'] as const;

interface List extends Readonly<Record<string, unknown>> {
  readonly tenant: string;
  readonly what: (typeof LISTS)[number];
}

const list = act<List>({
  name: 'list',
  actor: 'client',
  feature: 'modes',
  about: 'nothing',
  weight: 8,
  delay: ['seconds', 'minutes', 'hours'],
  draw: ({ dice, has }) => ({ tenant: drawTenant(dice, has), what: dice.pick(LISTS) }),
  play: async (scene, step) =>
    endOf(await ask(scene, step, { tenant: step.tenant, method: 'GET', path: `/v1/${step.what}` })),
  describe: ({ tenant, what }) => `${tenant} reads the list of its ${what.replace('_', ' ')}`,
});

export const CLIENT_ACTS: readonly Act[] = [pay, order, retry, look, list];
