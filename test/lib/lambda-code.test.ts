import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { FileSystem } from 'aws-cdk-lib';
import { bundle } from '../../lib/lambda-code.ts';

const KILOBYTE = 1000;
const FUNCTIONS = [
  'api-documents',
  'callbacks',
  'commission-consumer',
  'cron-executor',
  'dead-letters',
  'events',
  'jobs',
  'ledger',
  'orders',
  'outbox-relay',
  'payment-jobs',
  'payments',
  'receipt-consumer',
  'republish-range',
  'sandbox-processor',
  'upkeep-jobs',
  'views-projector',
  'webhook-fan-out',
  'webhook-sender',
  'webhooks',
];

describe('the bundles', () => {
  const directories: string[] = [];
  const bundled = (): string => {
    const directory = mkdtempSync(join(tmpdir(), 'payonce-bundle-'));
    directories.push(directory);
    bundle(directory);
    return directory;
  };
  let first = '';

  beforeAll(() => {
    first = bundled();
  });

  afterAll(() => {
    for (const directory of directories) rmSync(directory, { recursive: true, force: true });
  });

  test('are one folder for each function, with a module and nothing that the function does not read', () => {
    expect(readdirSync(first).sort()).toEqual(FUNCTIONS);
    expect(readdirSync(join(first, 'payments')).sort()).toEqual(['index.mjs', 'index.mjs.map']);
    expect(readdirSync(join(first, 'api-documents')).sort()).toEqual([
      'index.mjs',
      'index.mjs.map',
      'swagger-ui-bundle.js',
      'swagger-ui.css',
    ]);
  });

  test('of unchanged sources have an unchanged hash, so that they are not deployed again', () => {
    const second = bundled();
    for (const name of FUNCTIONS) {
      expect(FileSystem.fingerprint(join(second, name))).toBe(FileSystem.fingerprint(join(first, name)));
    }
  });

  test('that take payments are small enough to start fast', () => {
    // A third of it is Stripe's package, which is read and not run where Stripe is not called.
    expect(statSync(join(first, 'payments', 'index.mjs')).size).toBeLessThanOrEqual(800 * KILOBYTE);
  });

  test('take credentials from the environment, and bring no other way to find some', () => {
    const map = readFileSync(join(first, 'payments', 'index.mjs.map'), 'utf8');
    const providers = map.match(/@(?:aws-sdk|smithy)\/(?:credential-provider|token-provider|nested-client)[^/"]*/g);
    expect(new Set(providers)).toEqual(new Set(['@aws-sdk/credential-provider-env']));
  });
});
