import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { buildSync } from 'esbuild';
import { bundle } from '../lib/lambda-code.ts';
import { paymentsEnvironment } from '../test/support/payments-environment.ts';
import { gatewayEvent } from '../test/world/gateway-event.ts';
import { median } from './median.ts';
import { type Answer, withStandIn } from './stand-in.ts';

/** Each field is the median over all rounds. */
export interface StartRatios {
  readonly importToBareClient: number;
  readonly importToPowertools: number;
  readonly powertoolsToBareClient: number;
  readonly firstToPowertools: number;
  /** Relative to the CPU time up to the first payment, from 0 to 1. */
  readonly importShare: number;
}

export interface WarmRatios {
  readonly toNaive: number;
  readonly toPowertools: number;
  readonly powertoolsToNaive: number;
  /** CPU time in milliseconds. */
  readonly payment: number;
}

/** CPU times in milliseconds. */
interface Times {
  readonly import: number;
  readonly first: number;
  /** Mean of a payment after the warm-up. */
  readonly warm: number;
}

const ROOT = resolve(import.meta.dirname, '..');
const SUBJECTS = ['bare-client', 'naive', 'powertools', 'payments'] as const;
type Subject = (typeof SUBJECTS)[number];

const TOKEN = `sk_test_${'a'.repeat(22)}`;
const TENANT = `ten_${'a'.repeat(26)}`;

/** Each time in a new process. @param starts the number of processes that are started for each program */
export async function measureStart(starts: number): Promise<StartRatios> {
  const runs = await inTurns(['bare-client', 'powertools', 'payments'], { rounds: starts, payments: 1 });
  const upToFirst = (times: Times): number => times.import + times.first;
  return {
    importToBareClient: median(runs.map((run) => run.payments.import / run['bare-client'].import)),
    powertoolsToBareClient: median(runs.map((run) => run.powertools.import / run['bare-client'].import)),
    importToPowertools: median(runs.map((run) => run.payments.import / run.powertools.import)),
    firstToPowertools: median(runs.map((run) => upToFirst(run.payments) / upToFirst(run.powertools))),
    importShare: median(runs.map(({ payments }) => payments.import / upToFirst(payments))),
  };
}

/** @param payments the number of payments of each process; the first half is a warm-up and is not measured */
export async function measureWarm({ rounds, payments }: Turns): Promise<WarmRatios> {
  const runs = await inTurns(['naive', 'powertools', 'payments'], { rounds, payments });
  return {
    toNaive: median(runs.map((run) => run.payments.warm / run.naive.warm)),
    powertoolsToNaive: median(runs.map((run) => run.powertools.warm / run.naive.warm)),
    toPowertools: median(runs.map((run) => run.payments.warm / run.powertools.warm)),
    payment: median(runs.map((run) => run.payments.warm)),
  };
}

export interface Turns {
  readonly rounds: number;
  /** Payments of each process. */
  readonly payments: number;
  /** @default no profiles */
  readonly profiles?: string;
}

/** A stand-in server responds as DynamoDB, Secrets Manager and the processor. */
export async function inTurns<Name extends Subject>(
  subjects: readonly Name[],
  { rounds, payments, profiles }: Turns,
): Promise<readonly Readonly<Record<Name, Times>>[]> {
  const directory = mkdtempSync(join(tmpdir(), 'payonce-start-'));
  try {
    bundleSubjects(directory);
    return await withStandIn(answerTo, async (url) => {
      const runs: Readonly<Record<Name, Times>>[] = [];
      for (let round = 0; round < rounds; round += 1) {
        const run: [Name, Times][] = [];
        for (const name of round % 2 === 0 ? subjects : subjects.toReversed()) {
          const file = join(directory, name, 'index.mjs');
          run.push([name, await runOnce(file, url, name === 'bare-client' ? 0 : payments, profiles)]);
        }
        runs.push(Object.fromEntries(run) as Record<Name, Times>);
      }
      return runs;
    });
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

export function bundleSubjects(directory: string): void {
  bundle(directory, ['payments']);
  for (const name of SUBJECTS.filter((each) => each !== 'payments')) {
    buildSync({
      entryPoints: [join(ROOT, 'bench', 'subjects', `${name}.ts`)],
      outfile: join(directory, name, 'index.mjs'),
      bundle: true,
      format: 'esm',
      platform: 'node',
      target: 'node24',
      mainFields: ['module', 'main'],
      minify: true,
      alias: {
        '@aws-sdk/credential-provider-node': join(ROOT, 'lambdas', 'kernel', 'platform', 'environment-credentials.ts'),
      },
    });
  }
}

const PROGRAM = `
  const [url, payments, event] = JSON.parse(process.argv[1]);
  const context = { getRemainingTimeInMillis: () => 25_000, awsRequestId: 'request' };
  const cpuMs = () => { const { user, system } = process.cpuUsage(); return (user + system) / 1000; };
  const begin = cpuMs();
  const { handler } = await import(url);
  const imported = cpuMs();
  const pay = async (number) => {
    const headers = { ...event.headers, 'Idempotency-Key': 'order-' + number };
    const multiValueHeaders = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]]));
    const { statusCode, body } = await handler({ ...event, headers, multiValueHeaders }, context);
    if (statusCode !== 201) throw new Error(statusCode + ' ' + body);
  };
  if (payments > 0) await pay(0);
  const first = cpuMs();
  const half = Math.floor(payments / 2);
  for (let number = 1; number <= half; number += 1) await pay(number);
  const warmed = cpuMs();
  for (let number = 1; number <= half; number += 1) await pay(half + number);
  const times = { import: imported - begin, first: first - imported, warm: (cpuMs() - warmed) / half };
  process.stdout.write('\\n' + JSON.stringify(times));
  process.exit();
`;

/** @param directory the directory of the profile, if any */
export function profiling(directory: string | undefined): readonly string[] {
  return directory === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${directory}`];
}

async function runOnce(file: string, url: string, payments: number, profiles?: string): Promise<Times> {
  const event = {
    ...gatewayEvent('POST', '/v1/payments', { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json' }),
    body: JSON.stringify({ amount: 12_500, currency: 'EUR', source: 'tok_ok' }),
  };
  const asked = JSON.stringify([pathToFileURL(file).href, payments, event]);
  const options = [...profiling(profiles), '--input-type=module', '-e', PROGRAM, asked];
  const { stdout } = await promisify(execFile)(process.execPath, options, {
    env: { ...paymentsEnvironment(url), POWERTOOLS_SERVICE_NAME: 'bench' },
    maxBuffer: 64 * 1024 * 1024,
  });
  // The last line is the result. The lines before it are the program's log.
  return JSON.parse(stdout.slice(stdout.lastIndexOf('\n'))) as Times;
}

const answerTo: Answer = (operation, body) => ANSWERS[operation]?.(body) ?? {};

const ANSWERS: Readonly<Record<string, (body: Readonly<Record<string, unknown>>) => object>> = {
  GetSecretValue: () => ({ SecretString: 'the-secret-of-the-processor' }),
  GetItem: ({ TableName }) => (TableName === 'registry' ? { Item: API_KEY } : {}),
  UpdateItem: ({ ReturnValues }) =>
    ReturnValues === 'UPDATED_NEW' ? { Attributes: { fullAtUs: { N: '1000000000000000' } } } : {},
  POST: ({ amount, currency, metadata }) => ({
    id: `ch_${'a'.repeat(26)}`,
    object: 'charge',
    amount,
    amount_captured: amount,
    amount_refunded: 0,
    currency,
    capture: 'automatic',
    status: 'succeeded',
    failure: null,
    fee: 100,
    action_url: null,
    void_reason: null,
    refunds: [],
    disputes: [],
    metadata: metadata ?? {},
    livemode: false,
    created: 1_700_000_000,
  }),
};

const API_KEY = {
  keyHash: { S: createHash('sha256').update(TOKEN).digest('hex') },
  tenantId: { S: TENANT },
  mode: { S: 'test' },
  scopes: { L: [{ S: 'payments:write' }] },
};
