import { TABLES } from '../../tables.ts';
import type { World } from '../../world.ts';
import type { Observed, PaymentRequest } from '../contract.ts';
import { Watch } from './watch.ts';

type Lists = 'calls' | 'alarms' | 'published' | 'callbacks' | 'webhooks' | 'shop' | 'mails' | 'troubles' | 'faults';
type Writable = { -readonly [Name in Lists]: Observed[Name][number][] };

/**
 * Lets the oracles observe the stores and the processor of a `World`. The test itself writes all other data that the
 * oracles read.
 */
export function watched({ clock, store, processor }: World) {
  const lists: Writable = {
    calls: [],
    alarms: [],
    published: [],
    callbacks: [],
    webhooks: [],
    shop: [],
    mails: [],
    troubles: [],
    faults: [],
  };
  const queues: Record<string, number> = {};
  const requests: { readonly taken: PaymentRequest[]; readonly parked: string[] } = { taken: [], parked: [] };
  const crowds: Record<string, number> = {};
  const world: Observed = {
    get nowMs() {
      return clock.nowMs();
    },
    quiet: false,
    settings: { emailsADay: 999 },
    database: store.database,
    tables: TABLES,
    processors: { sandbox: processor },
    tenants: { stranger: { tenantId: 'ten_stranger', mode: 'test', apiKey: '' } },
    reported: [],
    queues,
    requests,
    crowds,
    mishaps: {
      trimmed: 0,
      waits: [],
      refusedCredentials: 0,
      changesByHand: [],
      wasPoisoned: false,
      isByHand: false,
      parked: [],
      parkedAgain: [],
      forgotten: [],
    },
    restores: [],
    isRestoring: false,
    exports: new Map(),
    ...lists,
  };
  const watch = new Watch(world);
  const names = (found: ReturnType<Watch['afterStep']>) => [...new Set(found.map(({ oracle }) => oracle))];
  return {
    ...lists,
    queues,
    requests,
    crowds,
    world,
    /** Returns the names of the oracles that must hold after every step but are violated now. */
    now: () => names(watch.afterStep()),
    /**
     * Returns the names of the oracles that must hold once the system is quiet but are violated, except for oracles
     * about projection and publishing.
     */
    atTheEnd: () =>
      names(watch.onceQuiet()).filter((name) => !name.includes('fold of the Ledger') && name !== 'I4 events'),
    all: () => watch.onceQuiet(),
  };
}
