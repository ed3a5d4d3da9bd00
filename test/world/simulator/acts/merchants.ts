import type { ClientCall, Step } from '../contract.ts';
import type { Scene } from './act.ts';
import { type Act, act, type Draft, type Drawing } from './act.ts';
import { TENANTS } from './clients.ts';
import { ask, changeOf, endOf, keyOf, rootOf } from './objects.ts';

/** What merchants do with their payments, and with their webhook endpoints. */

interface Change extends Readonly<Record<string, unknown>> {
  /** Minor units. @default all that is left */
  readonly amount?: number;
}

const amountOf = ({ root }: Drawing): number => Number(root?.['amount'] ?? 1000);
const isHeld = ({ root }: Drawing): boolean => root?.['capture'] === 'manual';

/** A part of the payment’s amount, or all of it, or more than it. */
function part(drawing: Drawing): number {
  const { dice } = drawing;
  const amount = amountOf(drawing);
  return Math.max(1, Math.round(amount * dice.pick([1, 1, 1, 0.7, 0.5, 0.3, 0.001, 1.5])));
}

async function change(scene: Scene, step: Step & Change): Promise<string> {
  const found = changeOf(scene, step);
  if (found === undefined) return 'nothing';
  const body = step.amount === undefined ? {} : { amount: step.amount };
  return endOf(await ask(scene, step, { method: 'POST', path: found.path, key: keyOf(step), body }));
}

const capture = act<Change>({
  name: 'capture',
  actor: 'merchant',
  feature: 'holds',
  about: 'payment',
  weight: 8,
  pace: ['seconds', 'minutes', 'hours', 'days'],
  draw: (drawing) => (isHeld(drawing) ? (drawing.dice.chance(0.6) ? {} : { amount: part(drawing) }) : undefined),
  play: change,
  tell: ({ of, amount }, { name, money }) =>
    `the merchant captures ${amount === undefined ? 'all' : money(amount, of)} of ${name(of)}`,
});

const cancel = act<Change>({
  name: 'cancel',
  actor: 'merchant',
  about: 'payment',
  weight: 2,
  pace: ['instant', 'seconds', 'minutes', 'hours'],
  draw: (drawing) => (isHeld(drawing) || drawing.root?.['source'] === 'tok_action' ? {} : undefined),
  play: change,
  tell: ({ of }, { name }) => `the merchant cancels ${name(of)}`,
});

const refund = act<Change>({
  name: 'refund',
  actor: 'merchant',
  feature: 'refunds',
  about: 'payment',
  weight: 6,
  pace: ['seconds', 'minutes', 'hours', 'days'],
  draw: (drawing) => (drawing.dice.chance(0.5) ? {} : { amount: part(drawing) }),
  leadsTo: ({ dice, has }, _given, id): readonly Draft[] => [
    ...(has('retries') && dice.chance(0.2)
      ? [{ act: 'retry', pace: ['instant', 'seconds', 'minutes'], given: { of: id, changed: false } } as const]
      : []),
    ...(has('refund_failures') && dice.chance(0.5)
      ? [{ act: 'fail_refund', pace: ['minutes', 'days'], given: { which: 'own' } } as const]
      : []),
    ...(has('many_refunds') && dice.chance(0.2)
      ? [{ act: 'refund', pace: ['instant', 'seconds'], given: { amount: 1 } } as const]
      : []),
  ],
  play: change,
  tell: ({ of, amount }, { name, money }) =>
    `the merchant refunds ${amount === undefined ? 'what is left' : money(amount, of)} of ${name(of)}`,
});

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
  pace: ['seconds'],
  draw: ({ dice }) => ({ tenant: TENANTS[0], event: dice.chance(0.7) ? '*' : dice.pick(EVENTS) }),
  play: async (scene, step) => {
    const body = { url: urlOf(step.id), events: [step.event] };
    return endOf(await ask(scene, step, { method: 'POST', path: '/v1/webhook_endpoints', key: keyOf(step), body }));
  },
  tell: ({ id, tenant, event }, { name }) => `${tenant} makes ${name(id)} for ${event === '*' ? 'all events' : event}`,
});

/** The id that the endpoint’s creation was answered with. */
function endpointId(scene: Scene, step: Step): string | undefined {
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
  pace: ['minutes', 'hours', 'days'],
  draw: ({ dice }) => ({
    deed: dice.weighted(['replay', 'disable', 'enable', 'rotate', 'delete'], (deed) =>
      deed === 'replay' ? 6 : deed === 'delete' ? 1 : 3,
    ),
  }),
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
  tell: ({ of, deed }, { name }) => `the merchant changes ${name(of)}: ${deed}`,
});

const resend = act<Readonly<Record<string, never>>>({
  name: 'resend',
  actor: 'merchant',
  feature: 'replays',
  about: 'endpoint',
  weight: 2,
  pace: ['minutes', 'hours', 'days'],
  draw: () => ({}),
  play: async (scene, step) => {
    const id = endpointId(scene, step);
    if (id === undefined) return 'nothing';
    const path = `/v1/webhook_endpoints/${id}/deliveries`;
    const { answer } = await ask(scene, step, { method: 'GET', path });
    if (answer?.status !== 200) return 'nothing';
    const [delivery] = (JSON.parse(answer.body) as { readonly data: readonly { readonly id: string }[] }).data;
    if (delivery === undefined) return 'nothing';
    return endOf(await ask(scene, step, { method: 'POST', path: `${path}/${delivery.id}/resend`, key: keyOf(step) }));
  },
  tell: ({ of }, { name }) => `the merchant has the newest delivery to ${name(of)} sent again`,
});

interface Receiver extends Readonly<Record<string, unknown>> {
  readonly status: number | 'timeout';
  readonly forMs: number;
}

const HOUR_MS = 3_600_000;

const receiver = act<Receiver>({
  name: 'receiver',
  actor: 'merchant',
  feature: 'endpoint_outages',
  about: 'endpoint',
  weight: 5,
  pace: ['instant', 'minutes', 'hours', 'days'],
  draw: ({ dice }) => ({
    status: dice.pick([500, 503, 404, 410, 301, 'timeout'] as const),
    forMs: dice.pick([HOUR_MS, 24 * HOUR_MS, 120 * HOUR_MS]),
  }),
  play: async ({ system }, { id, of, status, forMs }) => {
    system.endpointAnswers(urlOf(of), status);
    system.at(system.nowMs + forMs, `step ${id} ends`, () => system.endpointAnswers(urlOf(of), 200));
    return 'done';
  },
  tell: ({ of, status, forMs }, { name }) => `the receiver of ${name(of)} answers ${status} for ${forMs / HOUR_MS} h`,
});

export const MERCHANT_ACTS: readonly Act[] = [capture, cancel, refund, endpoint, endpointChange, resend, receiver];
