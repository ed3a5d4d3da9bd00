import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, test } from '@jest/globals';
import type { RateLimit } from '../../lambdas/kernel/contract/limits.ts';
import { documentClient } from '../../lambdas/kernel/platform/document-client.ts';
import { emulatorEnvironment } from '../../local/emulator-environment.ts';
import { createTables, dynamoDbClient, emulatedAws } from '../support/local-aws.ts';
import { inTurn, whole } from '../support/slice.ts';
import { describeLimits } from './limits-suite.ts';

describeLimits(
  'on the DynamoDB API',
  async () => ({ client: documentClient(dynamoDbClient()), tables: await createTables('limits') }),
  { limits: [{ rate: 20, burst: 10 }], seconds: whole(2, { slice: 1 }) },
);

export interface LimitRequest {
  readonly table: string;
  readonly bucket: { readonly tenantId: string; readonly mode: string; readonly kind: string };
  readonly limit: RateLimit;
  readonly seconds: number;
}

const PROCESSES = 6;

type Seen = Record<'fromMs' | 'untilMs' | 'admitted' | 'asked', number>;

/** @returns a function that makes the process send its requests, and returns its report */
async function readyProcess(request: LimitRequest): Promise<() => Promise<Seen>> {
  const child = spawn(process.execPath, [join('test', 'tenants', 'limits-process.ts'), JSON.stringify(request)], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: emulatorEnvironment(emulatedAws()),
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  expect((await lines.next()).value).toBe('ready');
  return async () => {
    child.stdin.end('go');
    const { value } = await lines.next();
    const seen = JSON.parse(String(value)) as Seen;
    if (child.exitCode === null) await once(child, 'exit');
    return seen;
  };
}

inTurn(test, { place: 1, of: 3, otherwise: test.skip })(
  'concurrent operating-system processes together admit at most rate × time + burst',
  async () => {
    const limit = { rate: 20, burst: 10 };
    const { registry: table } = await createTables('processes');
    const bucket = { tenantId: 'ten_processes', mode: 'test', kind: 'payments' };
    const request: LimitRequest = { table, bucket, limit, seconds: 4 };
    const processes = await Promise.all(Array.from({ length: PROCESSES }, () => readyProcess(request)));
    const seen = await Promise.all(processes.map((go) => go()));
    const sum = (name: 'admitted' | 'asked') => seen.reduce((all, each) => all + each[name], 0);
    const seconds =
      (Math.max(...seen.map((each) => each.untilMs)) - Math.min(...seen.map((each) => each.fromMs))) / 1_000;
    expect(sum('admitted')).toBeLessThanOrEqual(limit.rate * seconds + limit.burst);
    // The processes ran at the same time, and together sent more requests than the limit admits.
    const [first, second] = seen.toSorted((left, right) => left.fromMs - right.fromMs);
    expect(second?.fromMs).toBeLessThan(first?.untilMs ?? 0);
    expect(sum('asked')).toBeGreaterThan(sum('admitted'));
    // Processes left at most half of their reserved tokens unused.
    expect(sum('admitted')).toBeGreaterThan((limit.rate * request.seconds) / 2);
  },
);
