/**
 * A payment in atomic phases on PostgreSQL, as the article on idempotency keys behind "rocket rides" describes
 * (https://brandur.org/idempotency-keys): a row for each key with a recovery point and a lock, one serializable
 * transaction for each phase between two calls to other systems, and a staged job that a relay publishes.
 */
import pg from 'pg';

/** Time after which another request may take over a locked key, in milliseconds. */
const LOCK_MS = 90_000;

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 4 });
pool.on('error', () => undefined);

/** A failure unlocks the key, so that a retry can proceed. */
async function atomicPhase(key, work) {
  const client = await pool.connect();
  try {
    await client.query('BEGIN ISOLATION LEVEL SERIALIZABLE');
    const result = await work(client);
    await client.query('COMMIT');
    return result;
  } catch (error) {
    await client.query('ROLLBACK');
    if (key !== undefined) await client.query('UPDATE keys SET locked_at_ms = NULL WHERE id = $1', [key.id]);
    throw error;
  } finally {
    client.release();
  }
}

/**
 * Does not lock a finished key. Returns undefined while another request holds the lock.
 * @throws Error if the key was used with another body
 */
const lockKey = (name, params) =>
  atomicPhase(undefined, async (client) => {
    const nowMs = Date.now();
    const { rows } = await client.query('SELECT * FROM keys WHERE key = $1', [name]);
    const [found] = rows;
    if (found === undefined) {
      const created = await client.query(
        "INSERT INTO keys (key, params, locked_at_ms, recovery_point) VALUES ($1, $2, $3, 'started') RETURNING *",
        [name, params, nowMs],
      );
      return created.rows[0];
    }
    if (found.params !== params) throw new Error('the key was used with another body');
    if (found.locked_at_ms !== null && Number(found.locked_at_ms) > nowMs - LOCK_MS) return undefined;
    if (found.recovery_point !== 'finished') {
      await client.query('UPDATE keys SET locked_at_ms = $2 WHERE id = $1', [found.id, nowMs]);
    }
    return found;
  });

async function charge(key, { amount, currency, source }) {
  const response = await fetch(`${process.env.TEST_SANDBOX_URL}/charges`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'idempotency-key': `rocket-rides-${key.id}` },
    body: JSON.stringify({ amount, currency, source, capture: 'automatic', metadata: {} }),
  });
  if (response.status !== 201) throw new Error(`the processor returned ${response.status}`);
  return response.json();
}

const recover = (client, key, point) =>
  client.query('UPDATE keys SET recovery_point = $2 WHERE id = $1', [key.id, point]);

const PHASES = {
  started: (key, body) => async (client) => {
    const { rows } = await client.query(
      'INSERT INTO payments (key_id, amount, currency) VALUES ($1, $2, $3) RETURNING id',
      [key.id, body.amount, body.currency],
    );
    await client.query("INSERT INTO audit_records (payment_id, action) VALUES ($1, 'created')", [rows[0].id]);
    await recover(client, key, 'payment_created');
    return { ...key, recovery_point: 'payment_created' };
  },
  payment_created: (key, body) => async (client) => {
    const { rows } = await client.query('SELECT id FROM payments WHERE key_id = $1', [key.id]);
    const { id } = await charge(key, body);
    await client.query('UPDATE payments SET charge = $2 WHERE id = $1', [rows[0].id, id]);
    await recover(client, key, 'charge_created');
    return { ...key, recovery_point: 'charge_created' };
  },
  charge_created: (key) => async (client) => {
    const { rows } = await client.query('SELECT id, charge FROM payments WHERE key_id = $1', [key.id]);
    await client.query("INSERT INTO staged_jobs (payment_id, name) VALUES ($1, 'payment.completed')", [rows[0].id]);
    const answer = JSON.stringify({ id: rows[0].id, charge: rows[0].charge, status: 'succeeded' });
    await client.query(
      "UPDATE keys SET recovery_point = 'finished', locked_at_ms = NULL, status = 201, body = $2 WHERE id = $1",
      [key.id, answer],
    );
    return { ...key, recovery_point: 'finished', status: 201, body: answer };
  },
};

export async function handler({ headers, body }) {
  let key = await lockKey(headers['Idempotency-Key'], body);
  if (key === undefined) return { statusCode: 409, body: 'a request with this key is in progress' };
  const request = JSON.parse(body);
  while (key.recovery_point !== 'finished') {
    key = await atomicPhase(key, PHASES[key.recovery_point](key, request));
  }
  return { statusCode: key.status, body: key.body };
}
