import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { FileSystem } from 'aws-cdk-lib';
import { bundle } from '../../lib/lambda-code.ts';

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

  test('are one folder for each function, with its module and only files that it reads', () => {
    expect(readdirSync(first).sort()).toEqual(FUNCTIONS);
    expect(readdirSync(join(first, 'webhooks')).sort()).toEqual(['index.mjs', 'index.mjs.map']);
    for (const file of readdirSync(join(first, 'payments')))
      expect(file).toMatch(/^(index|[a-z-]+-[0-9A-Z]{8})\.mjs(\.map)?$/);
    expect(readdirSync(join(first, 'api-documents')).sort()).toEqual([
      'index.mjs',
      'index.mjs.map',
      'swagger-ui-bundle.js',
      'swagger-ui.css',
    ]);
  });

  test('of unchanged sources have an unchanged hash and are not deployed again', () => {
    const second = bundled();
    for (const name of FUNCTIONS) {
      expect(FileSystem.fingerprint(join(second, name))).toBe(FileSystem.fingerprint(join(first, name)));
    }
  });

  test('read credentials from the environment only', () => {
    const maps = readdirSync(join(first, 'payments')).filter((file) => file.endsWith('.map'));
    const sources = maps.map((file) => readFileSync(join(first, 'payments', file), 'utf8')).join('');
    const providers = sources.match(/@(?:aws-sdk|smithy)\/(?:credential-provider|token-provider|nested-client)[^/"]*/g);
    expect(new Set(providers)).toEqual(new Set(['@aws-sdk/credential-provider-env']));
  });
});
