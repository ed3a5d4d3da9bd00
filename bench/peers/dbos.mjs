/**
 * A payment as a DBOS workflow: the idempotency key is the workflow's id, the charge and the event are steps, and the
 * posting is a transaction of a data source, which commits together with its checkpoint.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { DBOS } from '@dbos-inc/dbos-sdk';
import {
  assertStillOwnsWorkflow,
  DBOSStepAlreadyRecordedError,
  migrateDataSourcePG,
  registerDataSource,
  replayRecordedStep,
  runTransaction,
} from '@dbos-inc/dbos-sdk/datasource';
import pg from 'pg';

const connectionString = process.env.DATABASE_URL;
const COMPLETED = 'dbos.transaction_completion';

/** Implements the SDK's documented interface for data sources. */
class PostgresDataSource {
  name = 'shop';
  client = new AsyncLocalStorage();
  #pool = new pg.Pool({ connectionString, max: 4 });

  async initialize() {
    this.#pool.on('error', () => undefined);
    await this.#transaction((client) => migrateDataSourcePG(async (sql) => (await client.query(sql)).rows));
  }

  destroy() {
    return this.#pool.end();
  }

  async invokeTransactionFunction(_config, target, work, ...args) {
    const { workflowID, stepID } = DBOS;
    const recorded = () => this.#recorded(workflowID, stepID);
    const before = await recorded();
    if (before !== undefined) return replayRecordedStep(before);
    try {
      return await this.#transaction(async (client) => {
        const result = await this.client.run(client, () => work.apply(target, args));
        const { rowCount } = await client.query(
          `INSERT INTO ${COMPLETED} (workflow_id, function_num) VALUES ($1, $2) ON CONFLICT DO NOTHING`,
          [workflowID, stepID],
        );
        if (rowCount === 0) throw new DBOSStepAlreadyRecordedError(workflowID, stepID);
        await assertStillOwnsWorkflow(workflowID);
        return result;
      });
    } catch (error) {
      const rival = error instanceof DBOSStepAlreadyRecordedError ? await recorded() : undefined;
      if (rival === undefined) throw error;
      return replayRecordedStep(rival);
    }
  }

  async #recorded(workflowID, stepID) {
    const { rows } = await this.#pool.query(
      `SELECT output, error FROM ${COMPLETED} WHERE workflow_id = $1 AND function_num = $2`,
      [workflowID, stepID],
    );
    return rows[0];
  }

  async #transaction(work) {
    const client = await this.#pool.connect();
    try {
      await client.query('BEGIN');
      const result = await work(client);
      await client.query('COMMIT');
      return result;
    } catch (error) {
      await client.query('ROLLBACK');
      throw error;
    } finally {
      client.release();
    }
  }
}

const shop = new PostgresDataSource();
registerDataSource(shop);

async function charge({ amount, currency, source }) {
  const response = await fetch(`${process.env.TEST_SANDBOX_URL}/charges`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'idempotency-key': DBOS.workflowID },
    body: JSON.stringify({ amount, currency, source, capture: 'automatic', metadata: {} }),
  });
  if (response.status !== 201) throw new Error(`the processor returned ${response.status}`);
  const { id } = await response.json();
  return id;
}

async function publish() {
  const event = JSON.stringify({ id: DBOS.workflowID, type: 'payment.completed' });
  await fetch(process.env.EVENTS_URL, { method: 'POST', body: event });
}

const pay = DBOS.registerWorkflow(
  async (body) => {
    const chargeId = await DBOS.runStep(() => charge(body), { name: 'charge' });
    const { workflowID } = DBOS;
    await runTransaction(
      async () => {
        await shop.client
          .getStore()
          .query('INSERT INTO postings (payment, charge, amount) VALUES ($1, $2, $3)', [
            workflowID,
            chargeId,
            body.amount,
          ]);
      },
      'post',
      { dsName: shop.name },
    );
    await DBOS.runStep(publish, { name: 'publish' });
    return { id: workflowID, charge: chargeId, status: 'succeeded' };
  },
  { name: 'pay' },
);

DBOS.setConfig({ name: 'payonce-bench', systemDatabaseUrl: connectionString, logLevel: 'error' });
await DBOS.launch();

export async function handler({ headers, body }) {
  const handle = await DBOS.startWorkflow(pay, { workflowID: headers['Idempotency-Key'] })(JSON.parse(body));
  return { statusCode: 201, body: JSON.stringify(await handle.getResult()) };
}
