/** Tests that an import stops the writes of deployed functions. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { ExitCode } from '../../cli/failure.ts';
import { STATE_VALID_MS } from '../../lambdas/authority/contract.ts';
import { AuthorityLog } from '../../lambdas/authority/store/authority-log.ts';
import { documentClient } from '../../lambdas/kernel/platform/document-client.ts';
import { systemClock, systemEntropy } from '../../lambdas/kernel/platform/platform.ts';
import { ApiClient } from '../support/api-client.ts';
import { payonce } from '../support/command-line.ts';
import { dynamoDbClient, localAws } from '../support/local-aws.ts';
import { until } from '../support/until.ts';

test('while an import has stopped writes, payments can be read but not created (503); writes continue after --cancel', async () => {
  const aws = localAws();
  const api = new ApiClient(aws, aws.apiKey);
  const paid = await api.payUntilSucceeded({ key: crypto.randomUUID() });
  const pacing = { clock: systemClock, entropy: systemEntropy };
  const client = documentClient(dynamoDbClient());
  const log = new AuthorityLog({ client, tables: aws.tables, pacing }, 'drill');
  expect(await log.append(await log.newest(), 'import.started')).toBeDefined();
  const key = crypto.randomUUID();
  try {
    await sleep(STATE_VALID_MS);
    const refused = await api.pay({ key });
    expect([refused.status, refused.json['code'], refused.headers.get('retry-after')]).toEqual([
      503,
      'temporarily_unavailable',
      '60',
    ]);
    expect((await api.send('GET', `/v1/payments/${String(paid.json['id'])}`)).status).toBe(200);
  } finally {
    expect(await payonce(aws, 'db', 'import', '--cancel')).toMatchObject({ code: ExitCode.done });
  }
  const answered = await until(async () => {
    const answer = await api.pay({ key });
    if (answer.status === 201) return answer;
    await sleep(1_000);
    return undefined;
  });
  expect(await api.charges(answered.json['id'])).toHaveLength(1);
});
