import type { Payment } from '../../../../lambdas/payments/domain/payment.ts';
import { OUTCOME_KNOWN_WITHIN_MS } from '../../../../lambdas/payments/domain/settlement.ts';
import type { ClientCall, Step } from '../contract.ts';
import {
  type Act,
  act,
  amountOf,
  type Draft,
  type Drawing,
  hasHold,
  hasMoney,
  type Scene,
  waitsForPayer,
} from './act.ts';
import { delayBank } from './charges.ts';
import { drawTenant, TENANTS } from './clients.ts';
import { ask, chainOf, changeOf, endOf, keyOf, paymentOf, rootOf, stepsFrom } from './objects.ts';

export interface Change extends Readonly<Record<string, unknown>> {
  /**
   * In minor units.
   *
   * @default the remaining amount
   */
  readonly amount?: number;
}

export function part(drawing: Drawing): number {
  const { dice } = drawing;
  const amount = amountOf(drawing);
  return Math.max(1, Math.round(amount * dice.pick([1, 1, 1, 0.7, 0.5, 0.3, 0.001, 1.5])));
}

/** Share of requests that merchants send even if the payment does not allow them. */
const INVALID_SHARE = 0.2;

export const CAN = {
  capture: ({ status }) => status === 'requires_capture',
  cancel: ({ status }) => status === 'requires_capture' || status === 'requires_action',
  refund: ({ status, amountCapturedMinor, amountRefundedMinor }) =>
    status === 'succeeded' && amountCapturedMinor > amountRefundedMinor,
} as const satisfies Readonly<Record<string, (payment: Payment) => boolean>>;

/**
 * The request is for the step's payment if that payment allows the change, otherwise for another payment that allows
 * the change, if there is one. Some requests may be invalid: they are for the step's payment in any state.
 */
export function changeRequest(scene: Scene, step: Step & Change, can: (payment: Payment) => boolean) {
  const isInvalid = scene.system.decide(`step ${step.id} is foolish`) < INVALID_SHARE;
  const payments = (each: Step): readonly Payment[] => {
    const paymentId = paymentOf(scene, each);
    return paymentId === undefined
      ? []
      : chainOf(scene, paymentId)
          .slice(-1)
          .map(({ payment }) => payment);
  };
  const other = isInvalid
    ? undefined
    : stepsFrom(scene, step, ['pay', 'order']).find((each) => payments(each).some(can));
  if (other !== undefined && other.id !== step.id) scene.others.set(step.id, other);
  const found = changeOf(scene, step);
  if (found === undefined) return undefined;
  const [payment] = payments(step);
  const leftMinor = payment === undefined ? 0 : payment.amountCapturedMinor - payment.amountRefundedMinor;
  const mostMinor = isInvalid || leftMinor <= 0 ? Infinity : leftMinor;
  const body = step.amount === undefined ? {} : { amount: Math.min(step.amount, mostMinor) };
  return { method: 'POST', path: found.path, key: keyOf(step), body };
}

async function change(scene: Scene, step: Step & Change, can: (payment: Payment) => boolean): Promise<string> {
  const request = changeRequest(scene, step, can);
  return request === undefined ? 'nothing' : endOf(await ask(scene, step, request));
}

const isWrongAmount = ({ act: name }: Step): boolean => name === 'wrong_amount';

const capture = act<Change>({
  name: 'capture',
  actor: 'merchant',
  feature: 'holds',
  about: 'payment',
  weight: 8,
  delay: ['seconds', 'minutes', 'hours', 'days'],
  draw: (drawing) => (hasHold(drawing) ? (drawing.dice.chance(0.6) ? {} : { amount: part(drawing) }) : undefined),
  leadsTo: (drawing, step): readonly Draft[] =>
    drawing.has('wrong_amounts') && drawing.dice.chance(0.4) && !drawing.earlier.some(isWrongAmount)
      ? [
          {
            act: 'trouble',
            delay: ['instant'],
            given: { processor: 'its', calls: 'changes', count: 1, source: 'tok_timeout_not_charged' },
            fromMs: step.atMs - 500,
          },
          {
            act: 'wrong_amount',
            delay: ['seconds'],
            given: { amount: Math.ceil(amountOf(drawing) * 1.5) },
          },
        ]
      : drawing.has('decisions')
        ? undecided(drawing, step)
        : [],
  play: (scene, step) => change(scene, step, CAN.capture),
  describe: ({ of, amount }, { name, money }) =>
    `the merchant captures ${amount === undefined ? 'all' : money(amount, of)} of ${name(of)}`,
});

const cancel = act<Change>({
  name: 'cancel',
  actor: 'merchant',
  about: 'payment',
  weight: 2,
  delay: ['instant', 'seconds', 'minutes', 'hours'],
  draw: (drawing) => (hasHold(drawing) || waitsForPayer(drawing) ? {} : undefined),
  leadsTo: (drawing, step): readonly Draft[] => (drawing.has('decisions') ? undecided(drawing, step) : []),
  play: (scene, step) => change(scene, step, CAN.cancel),
  describe: ({ of }, { name }) => `the merchant cancels ${name(of)}`,
});

const refund = act<Change>({
  name: 'refund',
  actor: 'merchant',
  feature: 'refunds',
  about: 'payment',
  weight: 6,
  delay: ['seconds', 'minutes', 'hours', 'days'],
  draw: (drawing) => (!hasMoney(drawing) ? undefined : drawing.dice.chance(0.5) ? {} : { amount: part(drawing) }),
  leadsTo: (drawing, step): readonly Draft[] => [
    ...afterRefund(drawing, step.id),
    ...(drawing.has('decisions') ? undecided(drawing, step) : []),
  ],
  play: (scene, step) => change(scene, step, CAN.refund),
  describe: ({ of, amount }, { name, money }) =>
    `the merchant refunds ${amount === undefined ? 'the remaining amount' : money(amount, of)} of ${name(of)}`,
});

function afterRefund({ dice, has }: Drawing, id: number): readonly Draft[] {
  return [
    ...(has('retries') && dice.chance(0.2)
      ? [{ act: 'retry', delay: ['instant', 'seconds', 'minutes'], given: { of: id, changed: false } } as const]
      : []),
    ...(has('refund_failures') && dice.chance(0.5)
      ? [{ act: 'fail_refund', delay: ['minutes', 'days'], given: { which: 'own' } } as const]
      : []),
    ...(has('disputes') && dice.chance(0.3)
      ? [{ act: 'dispute', delay: ['instant', 'seconds', 'minutes'], given: { amount: 0 } } as const]
      : []),
    ...(has('many_refunds') && dice.chance(0.2)
      ? [{ act: 'refund', delay: ['instant', 'seconds'], given: { amount: 1 } } as const]
      : []),
  ];
}

function undecided(drawing: Drawing, { id, act: name, atMs }: Step): readonly Draft[] {
  const { dice } = drawing;
  const isRefund = name === 'refund';
  if (!dice.chance(0.4)) return [];
  // An operator can decide about a capture or a cancellation only if the processor never received the request.
  // Otherwise the change has an outcome as soon as the charge can be read.
  const source = isRefund && dice.chance(0.5) ? 'tok_async' : 'tok_timeout_not_charged';
  const processor = 'its';
  return [
    delayBank(drawing, atMs),
    {
      act: 'trouble',
      delay: ['instant'],
      given: { processor, calls: 'changes', count: 2, source },
      fromMs: atMs - 500,
    },
    // While the processor shows a change as pending, an operator can decide about the change only if the processor is
    // down.
    ...(source === 'tok_async' && dice.chance(0.5)
      ? []
      : [
          {
            act: 'processor_outage',
            delay: ['instant'],
            given: { processor, forMs: 30 * HOUR_MS },
            fromMs: atMs + 2_000,
          } as const,
        ]),
    {
      act: 'decide_change',
      delay: ['minutes'],
      given: { of: id, outcome: dice.pick(['succeeded', 'failed']), override: true },
      fromMs: atMs + OUTCOME_KNOWN_WITHIN_MS,
    },
  ];
}

const EVENTS = ['*', 'payment.completed', 'refund.completed', 'dispute.opened'] as const;

interface Endpoint extends Readonly<Record<string, unknown>> {
  readonly tenant: string;
  readonly event: (typeof EVENTS)[number];
}

const urlOf = (id: unknown): string => `https://hook-${String(id)}.example.com/in`;

const endpoint = act<Endpoint>({
  name: 'endpoint',
  actor: 'merchant',
  feature: 'endpoints',
  about: 'nothing',
  makes: 'endpoint',
  weight: 0,
  delay: ['seconds'],
  draw: ({ dice, has }) => ({
    tenant: has('modes') ? drawTenant(dice, has) : TENANTS[0],
    event: dice.chance(0.7) ? '*' : dice.pick(EVENTS),
  }),
  play: async (scene, step) => {
    const body = { url: urlOf(step.id), events: [step.event] };
    const request = { method: 'POST', path: '/v1/webhook_endpoints', key: keyOf(step), body };
    let made = await ask(scene, step, request);
    for (let again = 0; again < 3 && (made.answer?.status ?? 500) >= 500; again += 1) {
      await scene.system.sleep(MINUTE_MS);
      made = await ask(scene, step, request);
    }
    return endOf(made);
  },
  describe: ({ id, tenant, event }, { name }) =>
    `${tenant} creates ${name(id)} for ${event === '*' ? 'all events' : event}`,
});

export function endpointId(scene: Scene, step: Step): string | undefined {
  const root = rootOf(scene, step);
  const made = scene.system.calls.find((call: ClientCall) => call.step === root?.id && call.answer?.status === 201);
  return made?.answer === undefined ? undefined : (JSON.parse(made.answer.body) as { readonly id: string }).id;
}

interface EndpointChange extends Readonly<Record<string, unknown>> {
  readonly deed: 'disable' | 'enable' | 'rotate' | 'replay' | 'delete';
}

const endpointChange = act<EndpointChange>({
  name: 'change_endpoint',
  actor: 'merchant',
  feature: 'replays',
  about: 'endpoint',
  weight: 4,
  delay: ['minutes', 'hours', 'days'],
  draw: ({ dice, earlier }) =>
    earlier.some(({ deed }) => deed === 'delete') && dice.chance(0.8)
      ? undefined
      : {
          deed: dice.weighted(['replay', 'disable', 'enable', 'rotate', 'delete'], (deed) =>
            deed === 'replay' ? 6 : deed === 'delete' ? 1 : 3,
          ),
        },
  play: async (scene, step) => {
    const id = endpointId(scene, step);
    if (id === undefined) return 'nothing';
    const path = `/v1/webhook_endpoints/${id}`;
    const key = keyOf(step);
    const nowSeconds = Math.floor(scene.system.nowMs / 1000);
    const requests = {
      disable: { method: 'PATCH', path, body: { enabled: false } },
      enable: { method: 'PATCH', path, body: { enabled: true } },
      delete: { method: 'DELETE', path, key },
      rotate: { method: 'POST', path: `${path}/rotate_secret`, key, body: {} },
      replay: {
        method: 'POST',
        path: `${path}/replay`,
        key,
        body: { created_from: nowSeconds - 7 * 86_400, created_to: nowSeconds },
      },
    };
    return endOf(await ask(scene, step, requests[step.deed]));
  },
  describe: ({ of, deed }, { name }) => `the merchant changes ${name(of)}: ${deed}`,
});

const resend = act<Readonly<Record<string, never>>>({
  name: 'resend',
  actor: 'merchant',
  feature: 'replays',
  about: 'endpoint',
  weight: 2,
  delay: ['days'],
  draw: () => ({}),
  play: async (scene, step) => {
    for (const of of stepsFrom(scene, step, ['endpoint'])) {
      const id = endpointId(scene, of);
      if (id === undefined || !hasDeliveries(scene, id)) continue;
      const path = `/v1/webhook_endpoints/${id}/deliveries`;
      const { answer } = await ask(scene, step, { method: 'GET', path }, of);
      if (answer?.status !== 200) continue;
      const [delivery] = (JSON.parse(answer.body) as { readonly data: readonly { readonly id: string }[] }).data;
      if (delivery === undefined) continue;
      const request = { method: 'POST', path: `${path}/${delivery.id}/resend`, key: keyOf(step) };
      const asked = await ask(scene, step, request, of);
      if (asked.answer?.status !== 409) return endOf(asked);
      await ask(scene, step, { method: 'PATCH', path: `/v1/webhook_endpoints/${id}`, body: { enabled: true } }, of);
      return endOf(await ask(scene, step, request, of));
    }
    return 'nothing';
  },
  describe: ({ of }, { name }) => `the merchant resends the newest delivery to ${name(of)}`,
});

function hasDeliveries({ system }: Scene, id: string): boolean {
  return system.webhooks.some((webhook) => webhook.endpointId === id);
}

interface Receiver extends Readonly<Record<string, unknown>> {
  readonly status: number | 'timeout';
  readonly forMs: number;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

const receiver = act<Receiver>({
  name: 'receiver',
  actor: 'merchant',
  feature: 'endpoint_outages',
  about: 'endpoint',
  weight: 5,
  delay: ['instant', 'minutes', 'hours', 'days'],
  draw: ({ dice }) => ({
    status: dice.pick([500, 503, 404, 410, 301, 'timeout'] as const),
    forMs: dice.pick([HOUR_MS, 24 * HOUR_MS, 120 * HOUR_MS]),
  }),
  play: async ({ system }, { id, of, status, forMs }) => {
    system.endpointAnswers(urlOf(of), status);
    system.at(system.nowMs + forMs, `step ${id} ends`, () => system.endpointAnswers(urlOf(of), 200));
    return 'done';
  },
  describe: ({ of, status, forMs }, { name }) =>
    `the receiver of ${name(of)} responds with ${status} for ${forMs / HOUR_MS} h`,
});

export const MERCHANT_ACTS: readonly Act[] = [capture, cancel, refund, endpoint, endpointChange, resend, receiver];
