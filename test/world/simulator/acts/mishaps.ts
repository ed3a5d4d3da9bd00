/** Acts: problems of the AWS account that last minutes to days, manual row changes, and operators' reactions. */
import type { JobId } from '../../../../lambdas/jobs/contract/jobs.ts';
import type { Mishap, Poisoned, SilentCalls } from '../contract.ts';
import { type Act, type Arguments, act, type Draft } from './act.ts';
import { orderOf, paymentOf } from './objects.ts';
import { duration } from './world.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

interface Lasting extends Arguments {
  readonly what: keyof typeof DESCRIPTIONS;
  readonly forMs: number;
}

const DESCRIPTIONS: Readonly<Record<Exclude<Mishap, `charges of ${string}` | SilentCalls>, string>> = {
  'all dynamodb': 'DynamoDB responds with 5xx',
  'all bus': 'EventBridge responds with 5xx',
  'all sqs': 'SQS responds with 5xx',
  'all tables': 'the tables are unavailable',
  'all answers of sqs': 'responses from SQS are lost',
  'secret of test': 'the secret of the processors in test mode is wrong',
  'secret of live': 'the secret of the processor in live mode is wrong',
  relay: 'the relay is stopped',
};

const lasting = (
  name: string,
  {
    whats,
    forMs,
  }: { readonly whats: (isLive: boolean) => readonly Lasting['what'][]; readonly forMs: readonly number[] },
  definition: Pick<Parameters<typeof act<Lasting>>[0], 'feature' | 'actor'>,
): Act =>
  act<Lasting>({
    name,
    about: 'nothing',
    weight: 8,
    delay: ['instant', 'seconds', 'minutes'],
    ...definition,
    draw: ({ dice, has }) => ({ what: dice.pick(whats(has('modes'))), forMs: dice.pick(forMs) }),
    play: async ({ system }, { id, what, forMs: lastsMs }) => {
      system.mishap(what, false);
      system.at(system.nowMs + lastsMs, `step ${id} ends`, () => system.mishap(what, true));
      return 'done';
    },
    describe: ({ what, forMs: lastsMs }) => `for ${duration(lastsMs)} ${DESCRIPTIONS[what]}`,
  });

/** Stops the relay, sometimes for longer than a Stream retains its records. */
const relayOutage = lasting(
  'relay_outage',
  { whats: () => ['relay'], forMs: [2 * HOUR_MS, 26 * HOUR_MS, 50 * HOUR_MS] },
  { feature: 'relay_outages', actor: 'machine' },
);

const serviceOutage = lasting(
  'service_outage',
  { whats: () => ['all dynamodb', 'all bus', 'all sqs'], forMs: [MINUTE_MS, 4 * MINUTE_MS, 12 * MINUTE_MS] },
  { feature: 'service_outages', actor: 'world' },
);

const wrongSecret = lasting(
  'wrong_secret',
  {
    whats: (isLive) => (isLive ? ['secret of test', 'secret of live'] : ['secret of test']),
    forMs: [20 * MINUTE_MS, HOUR_MS, 5 * HOUR_MS],
  },
  { feature: 'credentials', actor: 'operator' },
);

interface LostTables extends Arguments {
  readonly nth: number;
  /**
   * Selects which rows of the transaction the restored tables contain.
   * @default each restored table contains all its rows of the transaction, or none
   */
  readonly choice?: number;
}

/**
 * Maximum of a drawn `choice`, whose remainder selects one of the possible choices. It is so large that all of
 * them are about equally probable.
 */
const MAX_CHOICE = 999_999;

const lostTables = act<LostTables>({
  name: 'lost_tables',
  actor: 'world',
  feature: 'restores',
  about: 'nothing',
  weight: 8,
  delay: ['instant', 'seconds', 'minutes'],
  draw: ({ dice }) => ({
    nth: dice.pick([1, 1, 2, 3, 5]),
    ...(dice.chance(0.7) ? { choice: dice.whole(0, MAX_CHOICE) } : {}),
  }),
  play: async ({ system }, { id, nth, choice }) => {
    system.loseTables(nth, `step ${id}`, choice);
    return 'done';
  },
  describe: ({ nth, choice }) =>
    `the tables are lost within ${nth === 1 ? 'the next transaction' : `transaction ${nth} from here`} and restored, some ${choice === undefined ? '' : `rows (choice ${choice}) `}without that transaction, and an operator recovers them`,
});

interface WaitingRun extends Arguments {
  readonly job: JobId;
  readonly forMs: number;
}

/** SQS responses are lost, so the waiting run resends its message without knowing which sends succeeded. */
const waitingRun = act<WaitingRun>({
  name: 'waiting_run',
  actor: 'operator',
  feature: 'waiting_runs',
  about: 'nothing',
  weight: 20,
  delay: ['instant', 'minutes', 'hours'],
  // Draw only jobs that have no deadline, because the wait could exceed a deadline.
  draw: ({ dice }) => ({
    job: dice.pick(['expire-authorizations', 'release-commissions'] as const),
    forMs: dice.pick([8 * MINUTE_MS, 15 * MINUTE_MS]),
  }),
  play: async ({ system }, { id, job, forMs }) => {
    if (!(await system.occupyJob(job, forMs))) return 'nothing';
    system.mishap('all answers of sqs', false);
    system.at(system.nowMs + forMs, `step ${id} ends`, () => system.mishap('all answers of sqs', true));
    await system.runJob(job);
    return 'done';
  },
  describe: ({ job, forMs }) =>
    `for ${duration(forMs)} ${DESCRIPTIONS['all answers of sqs']}; an operator starts the job ${job} while another run of it is in progress for the whole time`,
});

interface Poison extends Arguments {
  readonly by: Poisoned;
  readonly forMs: number;
}

const EARLY_MS = 5 * MINUTE_MS;

/** After the fix, an operator usually redrives the parked events. */
const poison = act<Poison>({
  name: 'poison',
  actor: 'machine',
  feature: 'poison',
  about: 'payment',
  weight: 6,
  delay: ['instant', 'minutes', 'hours'],
  draw: ({ dice }) => ({
    by: dice.pick(['bus', 'bus', 'views-projector', 'webhook-fan-out'] as const),
    forMs: dice.pick([HOUR_MS, 5 * HOUR_MS, 30 * HOUR_MS]),
  }),
  leadsTo: ({ dice }, { by, forMs, atMs }): readonly Draft[] => [
    { act: 'refund', delay: ['seconds', 'minutes'], given: { amount: 1 } },
    // Sometimes an operator also redrives before the bug is fixed.
    ...(by === 'bus' && dice.named('too early').chance(0.5)
      ? [{ act: 'redrive', delay: ['instant'], given: { what: 'queues' }, fromMs: atMs + forMs - EARLY_MS } as const]
      : []),
    ...(dice.chance(0.8)
      ? [
          {
            act: by === 'bus' || dice.chance(0.5) ? 'redrive' : 'redrive_queue',
            delay: ['minutes'],
            given: by === 'bus' ? { what: 'queues' } : {},
            fromMs: atMs + forMs,
          } as const,
        ]
      : []),
  ],
  play: async (scene, step) => {
    const { system } = scene;
    const id = paymentOf(scene, step);
    if (id === undefined) return 'nothing';
    system.poison(id, step.by, false);
    system.at(system.nowMs + step.forMs, `step ${step.id} ends`, () => system.poison(id, step.by, true));
    return 'done';
  },
  describe: ({ of, by, forMs }, { name }) =>
    `for ${duration(forMs)} ${by === 'bus' ? 'the bus' : `the consumer ${by}`} cannot accept the events of ${name(of)}`,
});

interface ByHand extends Arguments {
  readonly how: 'overwritten' | 'removed';
}

/** Time within which a new row reaches the archive, in milliseconds. */
const ARCHIVED_MS = 10 * MINUTE_MS;
const MAX_WAITS = 10;

const changeByHand = act<ByHand>({
  name: 'change_by_hand',
  actor: 'operator',
  feature: 'changes_by_hand',
  about: 'payment',
  weight: 5,
  delay: ['hours', 'days'],
  draw: ({ dice }) => ({ how: dice.pick(['overwritten', 'removed'] as const) }),
  play: async (scene, step) => {
    const { system } = scene;
    const share = system.decide(`step ${step.id} row`);
    for (let wait = 0; wait < MAX_WAITS; wait += 1) {
      for (const id of [orderOf(scene, step), paymentOf(scene, step)]) {
        const end = id === undefined ? 'nothing' : await system.changeByHand(id, step.how, share);
        if (end !== 'nothing') return end;
      }
      await system.sleep(ARCHIVED_MS);
    }
    return 'nothing';
  },
  describe: ({ of, how }, { name }) =>
    `a row of the Ledger of ${name(of)} is ${how} manually, and restored from the archive`,
});

export const MISHAP_ACTS: readonly Act[] = [
  relayOutage,
  serviceOutage,
  lostTables,
  wrongSecret,
  waitingRun,
  poison,
  changeByHand,
];
