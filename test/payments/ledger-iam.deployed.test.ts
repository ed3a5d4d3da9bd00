/** Tests the guarantee "least privilege". */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  CreateFunctionCommand,
  DeleteFunctionCommand,
  GetFunctionConfigurationCommand,
  InvokeCommand,
  LambdaClient,
} from '@aws-sdk/client-lambda';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { buildSync } from 'esbuild';
import { ensurePython } from '../../local/python-environment.ts';
import { CREDENTIALS, localAws } from '../support/local-aws.ts';

const PROBE = 'ledger-probe';
let lambda: LambdaClient;
let directory: string;

/** The function has the payments function's role and tries the requested actions. */
beforeAll(async () => {
  const { awsEndpoint, region, paymentsFunction } = localAws();
  lambda = new LambdaClient({ endpoint: awsEndpoint, region, credentials: CREDENTIALS });
  const { Role } = await lambda.send(new GetFunctionConfigurationCommand({ FunctionName: paymentsFunction }));
  directory = mkdtempSync(join(tmpdir(), 'payonce-probe-'));
  await lambda.send(
    new CreateFunctionCommand({
      FunctionName: PROBE,
      Role,
      Runtime: 'nodejs24.x',
      Handler: 'index.handler',
      Timeout: 20,
      Code: { ZipFile: await zipped(join(import.meta.dirname, 'ledger-probe.ts')) },
    }),
  );
});

afterAll(async () => {
  await lambda.send(new DeleteFunctionCommand({ FunctionName: PROBE }));
  rmSync(directory, { recursive: true, force: true });
});

async function zipped(source: string): Promise<Uint8Array> {
  const code = join(directory, 'index.mjs');
  buildSync({
    entryPoints: [source],
    outfile: code,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node24',
    mainFields: ['module', 'main'],
  });
  const archive = join(directory, 'probe.zip');
  execFileSync(await ensurePython(), ['-m', 'zipfile', '-c', archive, code]);
  return readFileSync(archive);
}

/** @returns `done`, or the name of the error */
async function attempt(action: string, table: string): Promise<unknown> {
  const { Payload } = await lambda.send(
    new InvokeCommand({ FunctionName: PROBE, Payload: JSON.stringify({ action, table }) }),
  );
  return JSON.parse(Buffer.from(Payload ?? []).toString('utf8')) as unknown;
}

describe('the role of the payments function', () => {
  test.each(['update', 'delete', 'batch', 'put', 'update-in-transaction', 'delete-in-transaction'])(
    'is denied the action “%s” on a row of the Ledger',
    async (action) => {
      expect(await attempt(action, localAws().tables.ledger)).toBe('AccessDeniedException');
    },
  );

  test('may put a row into the Ledger inside a transaction, and read the row', async () => {
    expect(await attempt('put-in-transaction', localAws().tables.ledger)).toBe('done');
    expect(await attempt('read', localAws().tables.ledger)).toBe('done');
  });

  test('may not append to the activity log', async () => {
    expect(await attempt('put-activity-in-transaction', localAws().tables.ledger)).toBe('AccessDeniedException');
  });

  test('may access only its own kinds of records and Ledger rows', async () => {
    const { idempotency, ledger } = localAws().tables;
    expect(await attempt('put-own-record', idempotency)).toBe('done');
    expect(await attempt('put-record-of-order', idempotency)).toBe('AccessDeniedException');
    expect(await attempt('read-record-of-callback', idempotency)).toBe('AccessDeniedException');
    expect(await attempt('read-activity', ledger)).toBe('AccessDeniedException');
  });

  test('may access only its own kinds of Registry rows', async () => {
    const { registry } = localAws().tables;
    expect(await attempt('read-key', registry)).toBe('done');
    expect(await attempt('put-row', registry)).toBe('AccessDeniedException');
    expect(await attempt('put-row-in-transaction', registry)).toBe('AccessDeniedException');
    expect(await attempt('put-in-transaction', registry)).toBe('AccessDeniedException');
  });

  test('may not scan the Ledger, delete an idempotency record, or access the Views', async () => {
    expect(await attempt('scan', localAws().tables.ledger)).toBe('AccessDeniedException');
    expect(await attempt('delete', localAws().tables.idempotency)).toBe('AccessDeniedException');
    expect(await attempt('read', localAws().tables.views)).toBe('AccessDeniedException');
  });
});
