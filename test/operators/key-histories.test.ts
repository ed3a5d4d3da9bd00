/** Tests the guarantee "valid credentials". */
import { expect, test } from '@jest/globals';
import { RegistryRow } from '../../lambdas/kernel/contract/rows.ts';
import { fingerprintOf } from '../../lambdas/kernel/fingerprint.ts';
import { storedOperationId, type TenantId } from '../../lambdas/kernel/ids.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import { DynamoDbApprovals } from '../../lambdas/operators/store/dynamodb-approvals.ts';
import { makeKeyOnce } from '../../lambdas/operators/use/make-key.ts';
import type { RecordedOutcome } from '../../lambdas/operators/use/record-once.ts';
import { DynamoDbStore } from '../../lambdas/payments/store/dynamodb-store.ts';
import { idOfApiKey, TenantAdministration } from '../../lambdas/tenants/store/tenant-administration.ts';
import { BY_OPERATOR } from '../support/causes.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { beforeEachCall, type HistoryRun, surveyFaults, violatedGuarantees } from '../support/fault-histories.ts';
import { Actor, FaultPlan, type PlannedFault } from '../support/fault-plan.ts';
import { SDK_ERRORS } from '../support/faulty-client.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { whole } from '../support/slice.ts';
import { emptyTables } from '../world/stores.ts';
import { TABLES } from '../world/tables.ts';

type Kind = 'make' | 'roll';
const RIGHTS = { mode: 'test', name: 'Web shop', scopes: ['payments:read'] } as const;

class History {
  readonly plan: FaultPlan;
  readonly clock = new SimulatedClock();
  readonly database = emptyTables(this.clock);
  readonly answers: { readonly request: string; readonly body: Readonly<Record<string, unknown>> }[] = [];
  /** Whether the request's record is written together with the API key. */
  isRecorded = true;
  #tenant = '' as TenantId;
  #old = '';

  constructor(faults: readonly PlannedFault[]) {
    this.plan = new FaultPlan(faults);
  }

  async begin(): Promise<void> {
    const administration = this.#administration(this.database.client, 'setup');
    this.#tenant = await administration.createTenant('Shop');
    this.#old = await administration.createApiKey({ ...RIGHTS, tenantId: this.#tenant });
  }

  /** @param key idempotency key of the request */
  request(process: string, kind: Kind, key: string): Promise<unknown> {
    return this.#during(process, async (client) => {
      const pacing = { clock: this.clock, entropy: countingEntropy(process) };
      const administration = this.#administration(client, process);
      const effects = new DynamoDbApprovals(client, TABLES, pacing, new DynamoDbStore(client, TABLES, pacing));
      const outcome: RecordedOutcome = await makeKeyOnce(
        { accessRecords: effects, runner: idempotentRunner, ...pacing },
        {
          operationId: storedOperationId(`mkr_${key}`),
          fingerprint: fingerprintOf(systemDigest, { body: {}, query: {} }),
          status: 201,
          make: (recordOf) => {
            const record = this.isRecorded ? recordOf : undefined;
            return kind === 'make'
              ? administration.makeApiKey({ ...RIGHTS, tenantId: this.#tenant }, record)
              : administration.makeSuccessor(idOfApiKey(this.#old), 3_600, record);
          },
          show: ({ id }, secret) => ({ id, secret }),
        },
      );
      if ('answer' in outcome) {
        const body = JSON.parse(outcome.answer.body) as Record<string, unknown>;
        this.answers.push({ request: `${kind} ${key}`, body });
      }
    });
  }

  revoke(process: string): Promise<unknown> {
    return this.#during(process, (client) => this.#administration(client, process).revokeKey(idOfApiKey(this.#old)));
  }

  async violations(kind: Kind): Promise<readonly string[]> {
    const found: string[] = [];
    const administration = this.#administration(this.database.client, 'look');
    const keys = await administration.listApiKeys(this.#tenant);
    const rows = this.database.items(TABLES.registry, RegistryRow.apiKey);
    if (rows.length !== keys.length) found.push('a key is missing in the list');
    const requests = new Set(this.answers.map(({ request }) => request));
    if (keys.length > 1 + Math.max(1, requests.size)) found.push('one request has made two keys');
    for (const request of requests) {
      const bodies = this.answers.filter((answer) => answer.request === request).map(({ body }) => body);
      if (new Set(bodies.map(({ id }) => id)).size > 1) found.push('one request has two answers');
      const shown = bodies.flatMap(({ secret }) => (typeof secret === 'string' ? [secret] : []));
      if (shown.length > 1) found.push('a key was shown twice');
      for (const secret of shown)
        if (!keys.some(({ id }) => id === idOfApiKey(secret))) found.push('a key that was shown does not exist');
      if (!keys.some(({ id }) => id === bodies[0]?.['id'])) found.push('an answer names an unknown key');
    }
    const old = keys.find(({ id }) => id === idOfApiKey(this.#old));
    const others = keys.filter(({ id }) => id !== old?.id);
    if (kind === 'roll' && others.length > 1) found.push('a key was replaced twice');
    if (kind === 'roll' && old?.rolledTo !== others[0]?.id) found.push('a key does not name its successor');
    return found;
  }

  #administration(client: typeof this.database.client, process: string): TenantAdministration {
    const entropy = countingEntropy(`${process} of the keys`);
    return new TenantAdministration(client, TABLES, BY_OPERATOR, { clock: this.clock, entropy });
  }

  #during(process: string, work: (client: typeof this.database.client) => Promise<unknown>): Promise<unknown> {
    const actor = new Actor(process, this.plan);
    return actor.run(() => work(this.database.clientWith((command, apply) => actor.call(command, SDK_ERRORS, apply))));
  }
}

type Rival = (history: History, kind: Kind) => Promise<unknown>;

/** Runs a request, with a rival if one is given, retries it, and finally repeats it without faults. */
async function runHistory(
  kind: Kind,
  faults: readonly PlannedFault[],
  { rivalAt, rival, isRecorded = true }: { rivalAt?: number; rival?: Rival; isRecorded?: boolean } = {},
): Promise<HistoryRun> {
  const history = new History(faults);
  history.isRecorded = isRecorded;
  await history.begin();
  const violations: string[] = [];
  const look = async () => violations.push(...(await history.violations(kind)));
  history.plan.holdAt(rivalAt, async () => rival?.(history, kind));
  await history.request('first', kind, 'k');
  await look();
  await history.request('retry', kind, 'k');
  const calls = history.plan.calm();
  await history.request('calm', kind, 'k');
  await look();
  if (rival === undefined && history.answers.length === 0) violations.push('the request has no answer');
  return { calls, violations };
}

const RIVALS: Readonly<Record<string, Rival>> = {
  'the same request': (history, kind) => history.request('rival', kind, 'k'),
  'another request': (history, kind) => history.request('rival', kind, 'other'),
  'the revocation of the old key': (history) => history.revoke('rival'),
};

test.each(['make', 'roll'] as const)(
  'a request to %s a key creates one key despite any single fault at any call',
  async (kind) => {
    const { histories, findings } = await surveyFaults((faults) => runHistory(kind, faults), { faults: 1 });
    expect(findings.slice(0, 2)).toEqual([]);
    expect(histories).toBeGreaterThan(20);
  },
);

test.each(Object.entries(RIVALS))(
  'an API key is replaced once despite any single fault combined with %s before any call',
  async (_name, rival) => {
    const { calls } = await runHistory('roll', []);
    const { histories, findings } = await surveyFaults(
      (faults, { rivalAt }) => runHistory('roll', faults, { rivalAt, rival }),
      { faults: 1, races: beforeEachCall(calls.length, [{}]), oneOf: 7 },
    );
    expect(findings.slice(0, 2)).toEqual([]);
    expect(histories).toBeGreaterThan(whole(100, { slice: 15 }));
  },
);

test("these histories detect an API key that is written separately from its request's record", async () => {
  const survey = await surveyFaults((faults) => runHistory('make', faults, { isRecorded: false }), { faults: 0 });
  expect(violatedGuarantees(survey)).toContain('one request has made two keys');
});
