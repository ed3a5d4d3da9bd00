/**
 * Tests the guarantee "restored tables". Follows the runbook for a restored PostgreSQL database, with a real server and
 * the DynamoDB API.
 */
import { once } from 'node:events';
import { CloudFormationClient, CreateStackCommand, DescribeStacksCommand } from '@aws-sdk/client-cloudformation';
import { DeleteCommand, PutCommand, ScanCommand } from '@aws-sdk/lib-dynamodb';
import { expect, test } from '@jest/globals';
import { ExitCode } from '../../cli/failure.ts';
import { activityKey } from '../../lambdas/activity/store/activity-keys.ts';
import { erasePostgresDetails } from '../../lambdas/activity/store/postgres-erasure.ts';
import { StackOutput, stackNameOf } from '../../lambdas/kernel/contract/api.ts';
import { LedgerRow } from '../../lambdas/kernel/contract/rows.ts';
import { IdempotencyTable } from '../../lambdas/kernel/contract/tables.ts';
import { documentClient } from '../../lambdas/kernel/platform/document-client.ts';
import { LedgerCarrier, PAYMENT_CHAIN } from '../../lambdas/payments/store/postgres-carrier.ts';
import type { CreatePayment } from '../../lambdas/payments/use/create-payment.ts';
import { carryShard } from '../../lambdas/postgres/carry.ts';
import { OUTBOX_SHARDS, Outbox } from '../../lambdas/postgres/outbox.ts';
import type { LocalAws } from '../../local/local-aws.ts';
import { change, paymentRequest } from '../payments/payment-fixtures.ts';
import { sql } from '../postgres/postgres-fixture.ts';
import { openTestDatabase, prepareDatabase, toolsOn } from '../postgres/store-database.ts';
import { BY_OPERATOR } from '../support/causes.ts';
import { payonce } from '../support/command-line.ts';
import { CREDENTIALS, createTables, dynamoDbClient, emulatedAws } from '../support/local-aws.ts';
import { createDatabase } from '../support/postgres.ts';
import { startServer } from '../support/server-process.ts';
import { whole } from '../support/slice.ts';
import { until } from '../support/until.ts';
import { storesOnPostgres } from '../world/postgres-stores.ts';
import { Stores } from '../world/stores.ts';
import { World, type WorldTools } from '../world/world.ts';

const ENVIRONMENT = 'restored-postgres';
const client = documentClient(dynamoDbClient());

/** Commands read the names of the tables from the outputs of these stacks. */
async function createStacks(tables: LocalAws['tables'], replayCache: string): Promise<void> {
  const { awsEndpoint: endpoint, region } = emulatedAws();
  const cloudFormation = new CloudFormationClient({ endpoint, region, credentials: CREDENTIALS });
  const outputs = {
    data: {
      [StackOutput.idempotencyTable]: { Value: tables.idempotency },
      [StackOutput.ledgerTable]: { Value: tables.ledger },
      [StackOutput.registryTable]: { Value: tables.registry },
      [StackOutput.viewsTable]: { Value: tables.views },
    },
    service: { [StackOutput.replayCacheTable]: { Value: replayCache } },
  };
  const Resources = { Nothing: { Type: 'AWS::CloudFormation::WaitConditionHandle' } };
  for (const stack of ['data', 'service'] as const) {
    const StackName = stackNameOf(stack, ENVIRONMENT);
    const TemplateBody = JSON.stringify({ Resources, Outputs: outputs[stack] });
    await cloudFormation.send(new CreateStackCommand({ StackName, TemplateBody }));
    await until(async () => {
      const { Stacks: [found] = [] } = await cloudFormation.send(new DescribeStacksCommand({ StackName }));
      return found?.StackStatus === 'CREATE_COMPLETE' || undefined;
    });
  }
  cloudFormation.destroy();
}

async function startRestorable() {
  const { server, url: address } = await startServer('postgres-server.ts');
  const { url } = await createDatabase(address);
  await prepareDatabase(url, new World().clock);
  const database = openTestDatabase(url);
  const ask = async (path: string): Promise<void> => {
    await database.close();
    const answer = await fetch(`${address}${path}`);
    if (!answer.ok) throw new Error(await answer.text());
  };
  return {
    url,
    database,
    save: () => ask('save'),
    restore: () => ask('restore'),
    end: async () => {
      await database.close();
      const ended = once(server, 'exit');
      server.disconnect();
      await ended;
    },
  };
}

type Server = Awaited<ReturnType<typeof startRestorable>>;

class Deployment {
  readonly world: World;
  readonly stopped: string[] = [];
  readonly #server: Server;
  readonly #tables: LocalAws['tables'];
  readonly #carrier: LedgerCarrier;

  constructor(server: Server, tables: LocalAws['tables']) {
    this.#server = server;
    this.#tables = tables;
    this.world = new World({ store: storesOnPostgres(server.database).store });
    const observer = { stopped: (id: string) => void this.stopped.push(id), failed: () => undefined };
    this.#carrier = new LedgerCarrier({ ...this.tools, client, tables, chains: [PAYMENT_CHAIN], observer });
  }

  get tools() {
    return toolsOn(this.#server.database, this.world.clock);
  }

  /** Works as the job `carry` does. */
  async copy(): Promise<void> {
    const failed = (_: string, error: unknown): never => {
      throw error;
    };
    const observer = { failed, stopped: () => undefined, observed: () => undefined };
    const tools = { outbox: new Outbox(this.tools), carrier: this.#carrier, observer, clock: this.world.clock };
    for (let shard = 0; shard < OUTBOX_SHARDS; shard += 1) await carryShard(tools, shard, Number.POSITIVE_INFINITY);
  }

  async erase({ paymentId, tenantId, mode }: CreatePayment): Promise<boolean> {
    return erasePostgresDetails(this.tools, this.#carrier, {
      chain: { tenantId, mode },
      action: 'payment.erased',
      actor: BY_OPERATOR,
      about: [paymentId],
      occurredAtMs: this.world.clock.nowMs(),
    });
  }

  async ledger(): Promise<readonly string[]> {
    const { Items = [] } = await client.send(new ScanCommand({ TableName: this.#tables.ledger, ConsistentRead: true }));
    return Items.filter(({ pk }) => String(pk).startsWith(LedgerRow.payment))
      .map((item) => JSON.stringify(Object.entries(item).toSorted(([one], [other]) => one.localeCompare(other))))
      .toSorted();
  }

  async refunded(payment: CreatePayment): Promise<readonly number[]> {
    const { state } = await this.world.chain(payment);
    return [state.payment.amountRefundedMinor, this.world.refundedAtProcessor(payment)];
  }
}

const refund = (of: CreatePayment, key: string, amountMinor: number) =>
  change(of, key, { kind: 'refund', amountMinor });

function claimsLost({ processor }: World): Pick<WorldTools, 'processor'> {
  return { processor: { ...processor, abilities: { ...processor.abilities, claimsLost: true } } };
}

/**
 * Payments and changes before and after the backup to which the database is restored:
 *
 *   before   kept, refunded, forked and erased are paid
 *   after    refunded and forked: a refund. later: paid. unknown: its owner dies after the charge. erased: erased.
 *            forgotten: paid, and the database is lost before this payment is copied to the Ledger
 */
whole(test, { slice: test.skip })(
  'a database that was restored to an earlier point in time is recovered from the Ledger, and nothing is charged twice',
  async () => {
    const server = await startRestorable();
    const tables = await createTables('restored');
    // Another idempotency table serves as the replay cache, because both tables have the same key schema.
    const { idempotency: replayCache } = await createTables('replay-cache');
    await createStacks(tables, replayCache);
    await client.send(new PutCommand({ TableName: replayCache, Item: { [IdempotencyTable.partitionKey]: 'replay' } }));
    const deployment = new Deployment(server, tables);
    const { world } = deployment;
    const notes = { description: 'two shirts', metadata: { order: '6735' } };
    const [kept, refunded, forked, erased, later, unknown, forgotten] = [
      paymentRequest('kept'),
      paymentRequest('refunded'),
      paymentRequest('forked'),
      paymentRequest('erased', notes),
      paymentRequest('later', { ...notes, reference: 'invoice-2' }),
      paymentRequest('unknown'),
      paymentRequest('forgotten'),
    ] as const;
    const { activity } = new Stores(world.clock, { client }, tables);
    await activity.recordSettings({ authority: 'dynamodb' });

    for (const payment of [kept, refunded, forked, erased]) await world.answered(payment);
    await deployment.copy();
    await server.save();
    await world.change(refund(refunded, 'refund-of-400', 400));
    await world.change(refund(forked, 'refund-of-300', 300));
    await world.answered(later);
    await world.claimThenDie(unknown, true);
    expect(await deployment.erase(erased)).toBe(true);
    await deployment.copy();
    await world.answered(forgotten);
    await server.restore();

    const lost = claimsLost(world);
    const ledger = await deployment.ledger();
    // The functions run too early: a payment continues before the recovery.
    await world.change(refund(forked, 'refund-of-200', 200), lost);
    await deployment.copy();
    expect(deployment.stopped).toEqual([forked.paymentId]);

    const words = ['db', 'recover', '--url', server.url, '--environment', ENVIRONMENT, '--json'];
    const said = expect.stringContaining('are in dynamodb');
    expect(await payonce(emulatedAws(), ...words)).toMatchObject({ code: ExitCode.refused, said });
    await client.send(new DeleteCommand({ TableName: tables.ledger, Key: activityKey('settings', 1) }));
    await activity.recordSettings({ authority: 'postgres' });
    const first = await payonce(emulatedAws(), ...words);
    const report = JSON.parse(first.said.slice(0, first.said.lastIndexOf('}') + 1)) as Record<string, unknown>;
    expect({ code: first.code, report }).toMatchObject({
      code: 1,
      report: {
        read: 6,
        recovered: 3,
        stopped: [{ chainId: forked.paymentId, sequence: 3, because: 'differs' }],
        erased: [erased.paymentId],
        missing: { inquiry: 1, reference: 1 },
        broken: [],
        unreadable: [],
      },
    });
    expect(await client.send(new ScanCommand({ TableName: replayCache }))).toMatchObject({ Count: 0 });
    expect(await deployment.ledger()).toEqual(ledger);
    expect(await deployment.erase(erased)).toBe(true);

    // The clients repeat their requests, except those for the payments `forked` and `erased`.
    const repeated = [kept, refunded, later, unknown, forgotten];
    for (const payment of repeated) {
      await world.pay(payment, lost);
      expect(world.taken(payment)).toBe(1);
    }
    await world.change(refund(refunded, 'refund-of-400', 400), lost);
    expect(await deployment.refunded(refunded)).toEqual([400, 400]);
    await world.resolveFor(60, lost);
    await deployment.copy();
    for (const payment of repeated) {
      const { state } = await world.chain(payment);
      expect([state.payment.status, world.taken(payment)]).toEqual(['succeeded', 1]);
    }
    const { first: shown } = await world.chain(later);
    expect(shown.first).toMatchObject(notes);
    const waiting = await server.database.run(sql('SELECT DISTINCT chain_id FROM outbox'));
    expect(waiting).toEqual([{ chain_id: forked.paymentId }]);
    const unbalanced = sql(`SELECT chain_id FROM posting GROUP BY chain_id, currency
      HAVING sum(CASE direction WHEN 'debit' THEN amount_minor ELSE -amount_minor END) <> 0`);
    expect(await server.database.run(unbalanced)).toEqual([]);
    expect(new Set(await deployment.ledger())).toEqual(new Set([...(await deployment.ledger()), ...ledger]));
    await server.end();
  },
);
