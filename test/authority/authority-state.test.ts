/**
 * Tests a deployment that is switched between DynamoDB and PostgreSQL, and a deployment whose payments are imported.
 */
import { describe, expect, test } from '@jest/globals';
import { verifyActivity } from '../../lambdas/activity/use/activity-log.ts';
import { configuredAuthority } from '../../lambdas/authority/configured-authority.ts';
import { POSTGRES_AUTHORITY, STATE_VALID_MS } from '../../lambdas/authority/contract.ts';
import type { AuthorityPlatform } from '../../lambdas/authority/postgres-authority.ts';
import { AuthorityLog } from '../../lambdas/authority/store/authority-log.ts';
import { faultAnswer } from '../../lambdas/http/http-answer.ts';
import type { Authority } from '../../lambdas/jobs/contract/jobs.ts';
import { RetryableError } from '../../lambdas/kernel/faults.ts';
import { systemInstruments } from '../../lambdas/kernel/platform/instruments.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { chargeOperation } from '../../lambdas/payments/ids.ts';
import { DynamoDbStore } from '../../lambdas/payments/store/dynamodb-store.ts';
import { createPayment } from '../../lambdas/payments/use/create-payment.ts';
import type { PaymentStore } from '../../lambdas/payments/use/payment-store.ts';
import { openRecord, paymentRequest, pendingTransition } from '../payments/payment-fixtures.ts';
import { timedOut } from '../support/faulty-client.ts';
import { TABLES } from '../world/tables.ts';
import { World } from '../world/world.ts';

class Deployment {
  readonly world = new World();
  /** Contains the names of the commands that all processes send, and `sql` for each statement. */
  readonly calls: string[] = [];
  isDown = false;
  /** Runs after the next write, whose response is then lost. */
  beforeLoss: (() => Promise<unknown>) | undefined;
  inPostgres: string | undefined;

  async record(settings: Readonly<Record<string, string>>): Promise<void> {
    await this.world.store.activity.recordSettings(settings);
  }

  async start(authority: Authority): Promise<PaymentStore> {
    const { clock, entropy, store } = this.world;
    const platform: AuthorityPlatform = {
      variables: authority === 'postgres' ? { [POSTGRES_AUTHORITY]: '{"secretId":"database"}' } : {},
      clock,
      entropy,
      digest: systemDigest,
      documents: store.database.clientWith(async (command, apply) => {
        if (this.isDown) throw timedOut();
        this.calls.push(command);
        const answer = await apply();
        const { beforeLoss } = this;
        if (command !== 'TransactWriteCommand' || beforeLoss === undefined) return answer;
        this.beforeLoss = undefined;
        await beforeLoss();
        throw timedOut();
      }),
      instruments: systemInstruments,
      secretsManager: () => Promise.reject(new Error('unexpected read of a secret')),
      openDatabase: () => ({
        run: async ({ name, values }) => {
          this.calls.push('sql');
          return name === 'chain-exists' && values[0] === this.inPostgres ? [{ found: 1 }] : [];
        },
        transaction: () => Promise.reject(new Error('unexpected transaction')),
      }),
    };
    const { client, postgres } = await configuredAuthority(platform, TABLES);
    return postgres?.store ?? new DynamoDbStore(client, TABLES, { clock, entropy });
  }
}

const request = paymentRequest('k');
const operationId = chargeOperation(request.paymentId);
const CHECK = ['QueryCommand', 'GetCommand'];
/** A process checks the authority before its first read, and then once a minute. */
const READS = {
  dynamodb: [...CHECK, 'GetCommand', 'GetCommand'],
  postgres: [...CHECK, 'sql', 'sql'],
} as const satisfies Record<Authority, readonly string[]>;

describe.each<[began: Authority, switchedTo: Authority]>([
  ['dynamodb', 'postgres'],
  ['postgres', 'dynamodb'],
])('a deployment that began with %s and is switched to %s', (began, switchedTo) => {
  test('responds to each request with 503, charges nothing, and works when it is switched back', async () => {
    const deployment = new Deployment();
    const { world, calls } = deployment;
    for (const authority of [began, switchedTo]) await deployment.record({ sandbox: 'true', authority });

    const store = await deployment.start(switchedTo);
    for (let attempt = 0; attempt < 2; attempt += 1) {
      const error: unknown = await createPayment({ ...world.tools, store }, request).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ name: 'RetryableError', code: 'authority_changed' });
      const { status, headers, body } = faultAnswer(error, 'req');
      expect([status, headers['retry-after']]).toEqual([503, '60']);
      expect(body).toContain('The settings name a database that does not contain the payments');
      await expect(store.readPayment(request.paymentId)).rejects.toMatchObject({ code: 'authority_changed' });
    }
    expect(world.processor.charges(request.paymentId)).toEqual([]);
    expect(new Set(calls)).toEqual(new Set(CHECK));

    calls.length = 0;
    const back = await deployment.start(began);
    for (let read = 0; read < 2; read += 1) expect(await back.readRecord(operationId)).toBeUndefined();
    expect(calls).toEqual(READS[began]);
  });
});

describe('the authority check', () => {
  test('expects DynamoDB if the deployment’s first settings name no authority', async () => {
    const deployment = new Deployment();
    await deployment.record({ sandbox: 'true' });
    const refused = await deployment.start('postgres');
    await expect(refused.readRecord(operationId)).rejects.toMatchObject({ code: 'authority_changed' });
    expect(await (await deployment.start('dynamodb')).readRecord(operationId)).toBeUndefined();
  });

  test('expects PostgreSQL if the deployment’s first settings name Aurora DSQL', async () => {
    const deployment = new Deployment();
    await deployment.record({ sandbox: 'true', authority: 'dsql' });
    expect(await (await deployment.start('postgres')).readRecord(operationId)).toBeUndefined();
    const refused = await deployment.start('dynamodb');
    await expect(refused.readRecord(operationId)).rejects.toMatchObject({ code: 'authority_changed' });
  });

  test.each<Authority>(['dynamodb', 'postgres'])('accepts %s before any settings are recorded', async (authority) => {
    const store = await new Deployment().start(authority);
    expect(await store.readRecord(operationId)).toBeUndefined();
  });

  test('is repeated if DynamoDB did not respond, and no statement is sent to PostgreSQL before it succeeds', async () => {
    const deployment = new Deployment();
    const store = await deployment.start('postgres');
    deployment.isDown = true;
    await expect(store.readRecord(operationId)).rejects.toThrow(RetryableError);
    deployment.isDown = false;
    await store.readRecord(operationId);
    expect(deployment.calls).toEqual([...CHECK, 'sql']);
  });

  test('is repeated after a minute, without reading the first settings again', async () => {
    const deployment = new Deployment();
    await deployment.record({ authority: 'dynamodb' });
    const store = await deployment.start('dynamodb');
    await store.readRecord(operationId);
    deployment.calls.length = 0;
    deployment.world.clock.advance(STATE_VALID_MS - 1);
    await store.readRecord(operationId);
    expect(deployment.calls).toEqual(['GetCommand']);
    deployment.world.clock.advance(1);
    await store.readRecord(operationId);
    expect(deployment.calls).toEqual(['GetCommand', 'QueryCommand', 'GetCommand']);
  });
});

describe('an import', () => {
  const codes = (stores: readonly PaymentStore[], call: (store: PaymentStore) => Promise<unknown>) =>
    Promise.all(
      stores.map((store) =>
        call(store).then(
          () => 'done',
          ({ code }: RetryableError) => code,
        ),
      ),
    );

  test('stops all writes within a minute, but no reads, until it is canceled or finished', async () => {
    const deployment = new Deployment();
    await deployment.record({ authority: 'dynamodb' });
    const { clock, entropy, store, processor, tools } = deployment.world;
    const { client } = store.database;
    const log = new AuthorityLog({ client, tables: TABLES, pacing: { clock, entropy } }, 'ada');
    const [dynamodb, postgres] = await Promise.all([deployment.start('dynamodb'), deployment.start('postgres')]);
    const read = () => codes([dynamodb, postgres], (each) => each.readRecord(operationId));
    const pay = () => codes([dynamodb, postgres], (each) => createPayment({ ...tools, store: each }, request));
    expect(await read()).toEqual(['done', 'authority_changed']);

    const started = await log.append(undefined, 'import.started');
    clock.advance(STATE_VALID_MS);
    expect(await read()).toEqual(['done', 'authority_changed']);
    expect(await pay()).toEqual(['authority_importing', 'authority_changed']);
    expect(processor.charges(request.paymentId)).toEqual([]);

    const canceled = await log.append(started, 'import.canceled');
    expect(await log.append(started, 'import.finished')).toBeUndefined();
    clock.advance(STATE_VALID_MS);
    expect(await pay()).toEqual(['done', 'authority_changed']);

    const again = await log.append(canceled, 'import.started');
    await log.append(again, 'import.finished');
    clock.advance(STATE_VALID_MS);
    expect(await read()).toEqual(['authority_changed', 'done']);
    expect(await verifyActivity({ log: store.activity, digest: systemDigest }, 'imports')).toEqual({ entries: 4 });
  });

  test('makes a write ambiguous if its response is lost and the import stops writes before the retry', async () => {
    const deployment = new Deployment();
    await deployment.record({ authority: 'dynamodb' });
    const { clock, entropy, store } = deployment.world;
    const pacing = { clock, entropy };
    const log = new AuthorityLog({ client: store.database.client, tables: TABLES, pacing }, 'ada');
    const process = await deployment.start('dynamodb');
    deployment.beforeLoss = async () => {
      await log.append(undefined, 'import.started');
      clock.advance(STATE_VALID_MS);
    };
    const { paymentId } = request;
    const claim = process.claim({ record: openRecord(paymentId), pending: pendingTransition(paymentId) });
    await expect(claim).rejects.toMatchObject({ name: 'AmbiguousError' });
  });

  test('takes effect in a process only if the process’s settings name each database of the import', async () => {
    const deployment = new Deployment();
    const { clock, entropy, store } = deployment.world;
    const pacing = { clock, entropy };
    const log = new AuthorityLog({ client: store.database.client, tables: TABLES, pacing }, 'ada');
    await log.append(await log.append(undefined, 'import.started'), 'import.finished', { first: '', b: '' });
    const postgres = await deployment.start('postgres');
    await expect(postgres.readRecord(operationId)).rejects.toMatchObject({
      code: 'authority_changed',
      message: expect.stringContaining('the database b'),
    });
    expect(deployment.calls).not.toContain('sql');
  });

  test('takes effect in a process only if the process finds the imported payments in its database; it checks this once', async () => {
    const deployment = new Deployment();
    const { clock, entropy, store } = deployment.world;
    const pacing = { clock, entropy };
    const log = new AuthorityLog({ client: store.database.client, tables: TABLES, pacing }, 'ada');
    await log.append(await log.append(undefined, 'import.started'), 'import.finished', {
      first: request.paymentId,
    });
    const postgres = await deployment.start('postgres');
    await expect(postgres.readRecord(operationId)).rejects.toMatchObject({ code: 'authority_changed' });

    deployment.inPostgres = request.paymentId;
    deployment.calls.length = 0;
    for (let read = 0; read < 2; read += 1) expect(await postgres.readRecord(operationId)).toBeUndefined();
    expect(deployment.calls).toEqual(['sql', 'sql', 'sql']);
  });
});
