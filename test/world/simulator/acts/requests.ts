/** Every transport delivers an event at least once, possibly late, and in any order. */
import type { RequestTransport } from '../contract.ts';
import { type Act, type Arguments, act, type Scene } from './act.ts';
import { type Money, paymentMoney } from './clients.ts';
import { eventIdOf } from './objects.ts';
import { stormAfter } from './world.ts';

interface Delivery {
  readonly via: RequestTransport;
  /** After the first delivery. */
  readonly afterMs: number;
  /** Whether this delivery has a different amount under the same event id. */
  readonly changed?: true;
}

interface Requested extends Money, Arguments {
  readonly deliveries: readonly Delivery[];
  /** Whether the event is sent too late to be charged. */
  readonly old?: true;
}

const TRANSPORTS = ['bus', 'queue', 'subject', 'topic'] as const;
const HOUR_MS = 3_600_000;
const OLD_MS = 25 * HOUR_MS;

const request = act<Requested>({
  name: 'request',
  actor: 'client',
  feature: 'requests',
  about: 'nothing',
  makes: 'payment',
  weight: 0,
  delay: ['hours'],
  draw: (drawing) => {
    const { dice } = drawing;
    const again = (): Delivery => ({
      via: dice.pick(TRANSPORTS),
      afterMs: dice.pick([0, dice.magnitude(1, 60_000), dice.magnitude(1_000, 36 * HOUR_MS)]),
      ...(dice.chance(0.25) ? { changed: true } : {}),
    });
    return {
      ...paymentMoney(drawing),
      tenant: 'shop',
      deliveries: [{ via: dice.pick(TRANSPORTS), afterMs: 0 }, ...Array.from({ length: dice.whole(0, 3) }, again)],
      ...(dice.chance(0.1) ? { old: true } : {}),
    };
  },
  leadsTo: (drawing, { atMs }) => stormAfter(drawing, { fromMs: atMs - 1_000 }),
  play: async (scene, step) => {
    const { amount, currency, source, deliveries, old } = step;
    const timestamp = new Date(scene.system.nowMs - (old ? OLD_MS : 0)).toISOString();
    const eventId = eventIdOf(step);
    const account = { account_from: source, account_to: 'ten_shop' };
    deliveries.forEach(({ via, afterMs, changed }, index) => {
      const detail = { event_id: eventId, ...account, amount: amount + (changed ? 1 : 0), currency, timestamp };
      send(scene, { via, afterMs, name: `request ${step.id} delivery ${index}` }, detail);
    });
    return 'done';
  },
  describe: ({ id, amount, source, deliveries, old }, { name, money }) =>
    `an event requests ${name(id)}: ${money(amount, id)} from ${source}, by ` +
    deliveries
      .map(
        ({ via, afterMs, changed }) => `${via} after ${afterMs / 1000} s${changed ? ' with a different amount' : ''}`,
      )
      .join(', ') +
    (old ? '; the event is older than a day' : ''),
});

/** Time after which a sender resends an event that its transport did not accept, in milliseconds. */
const AGAIN_MS = 20 * 60_000;

function send(
  { system }: Pick<Scene, 'system'>,
  { via, afterMs, name }: { readonly via: RequestTransport; readonly afterMs: number; readonly name: string },
  detail: Readonly<Record<string, unknown>>,
): void {
  system.at(system.nowMs + afterMs, name, async () => {
    if (!system.requests.take(via, JSON.stringify(detail), name)) {
      send({ system }, { via, afterMs: AGAIN_MS, name: `${name} again` }, detail);
    }
  });
}

export const REQUEST_ACTS: readonly Act[] = [request];
