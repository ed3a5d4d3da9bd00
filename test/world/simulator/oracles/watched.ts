import { TABLES } from '../../tables.ts';
import type { World } from '../../world.ts';
import type { Observed, PaymentRequest } from '../contract.ts';
import { Watch } from './watch.ts';

type Lists = 'calls' | 'alarms' | 'published' | 'callbacks' | 'webhooks' | 'shop' | 'mails' | 'troubles' | 'faults';
type Writable = { -readonly [Name in Lists]: Observed[Name][number][] };

/** The test itself writes all data that is not in the stores or at the processor. */
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
    now: () => names(watch.afterStep()),
    /** Leaves out the oracles about projection and publishing. */
    atTheEnd: () =>
      names(watch.onceQuiet()).filter((name) => !name.includes('fold of the Ledger') && name !== 'I4 events'),
    all: () => watch.onceQuiet(),
  };
}
