import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { deploy, PAYONCE } from '../../local/cdk.ts';
import { connect, type LocalAws } from '../../local/local-aws.ts';
import { type ApiAnswer, ApiClient } from '../support/api-client.ts';
import { localAws } from '../support/local-aws.ts';
import { whole } from '../support/prove.ts';

const ENVIRONMENT = 'under-way';
const PAYERS = 3;
/** The settings of the second deploy. They change functions, the API's stage, alarms, logs and routes, and the code of every function. */
const CHANGED = {
  'payonce:memoryMb': '640',
  'payonce:tenantRate': '90',
  'payonce:throttlingRate': '150',
  'payonce:logRetentionDays': '30',
  'payonce:alarmEmail': 'on-call@shop.example',
  'payonce:stripeAccount': 'acct_1',
};

const { awsEndpoint: endpoint } = localAws();
let directory: string;
// Hooks run only if the test does.
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'payonce-deploys-'));
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

async function deployWith(settings: Readonly<Record<string, string>>): Promise<Omit<LocalAws, 'keeperPid'>> {
  const context = { ...PAYONCE.context, 'payonce:environment': ENVIRONMENT, ...settings };
  const outputs = await deploy({ endpoint, directory, report: () => undefined }, { context });
  return connect(endpoint, outputs, { environment: ENVIRONMENT });
}

/** How often a payer retries a payment, at a second each. */
const MAX_RETRIES = 120;

/** A deploy from the command line takes half a minute of a processor, so it is made only by `npm run prove`. */
whole(test, { slice: test.skip })(
  'payments during a deploy get only answers that a retry heals, and one charge each',
  async () => {
    const before = await deployWith({});
    const api = new ApiClient(before, before.apiKey);
    const paid: ApiAnswer[] = [];
    const retried: string[] = [];
    const pay = async (key: string): Promise<void> => {
      for (let retry = 0; retry < MAX_RETRIES; retry += 1) {
        const answer = await api.pay({ key });
        if (answer.status === 201) {
          paid.push(answer);
          return;
        }
        retried.push(`${answer.status} ${String(answer.json['code'])}`);
        await sleep(1_000);
      }
      throw new Error(`the payment ${key} was not taken`);
    };
    const ended = new AbortController();
    const payers = Array.from({ length: PAYERS }, async (_, name) => {
      for (let number = 0; !ended.signal.aborted; number += 1) await pay(`${name}-${number}`);
    });
    const after = await deployWith(CHANGED).finally(() => ended.abort());
    await Promise.all(payers);

    expect([after.tables, after.apiUrl]).toEqual([before.tables, before.apiUrl]);
    expect(paid.length).toBeGreaterThan(PAYERS);
    // The emulator ends a function's processes when it is deployed (502). AWS lets them finish.
    expect(retried.filter((answer) => !/^50[23] |^409 idempotency_key_in_progress$/.test(answer))).toEqual([]);
    for (const { json } of paid) {
      const read = await api.send('GET', `/v1/payments/${String(json['id'])}`);
      expect(read.json).toMatchObject({ id: json['id'], status: 'succeeded' });
      const charges = await fetch(`${before.sandboxUrl}/charges?payment=${String(json['id'])}`, {
        headers: { authorization: `Bearer ${before.sandboxSecret}` },
      });
      expect(((await charges.json()) as { data: unknown[] }).data).toHaveLength(1);
    }
  },
);
