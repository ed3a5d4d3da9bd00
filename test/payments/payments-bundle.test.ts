import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { bundle } from '../../lib/lambda-code.ts';
import { startFiles, startSize } from '../support/start-size.ts';
import { gatewayEvent } from '../world/api.ts';

let directory: string;

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'payonce-bundle-'));
  bundle(directory);
});

afterAll(() => {
  rmSync(directory, { recursive: true, force: true });
});

test('the payments function starts with at most 450 kB, without the documents and the processors’ packages', () => {
  const folder = join(directory, 'payments');

  expect(startSize(folder)).toBeLessThanOrEqual(450_000);
  const files = startFiles(folder).map((file) => readFileSync(join(folder, file), 'utf8'));
  expect(files.join('')).not.toContain('openapi:"3.1');
});

test.each(['payments', 'callbacks', 'orders', 'payment-jobs', 'upkeep-jobs'])(
  'the function %s contains Stripe’s package, and does not load it at its start',
  (name) => {
    const folder = join(directory, name);
    const holdsStripe = (file: string) => readFileSync(join(folder, file), 'utf8').includes('api.stripe.com');

    expect(readdirSync(folder).some((file) => file.endsWith('.mjs') && holdsStripe(file))).toBe(true);
    expect(startFiles(folder).filter(holdsStripe)).toEqual([]);
  },
);

test('no other function contains Stripe’s package', () => {
  for (const name of readdirSync(directory)) {
    const folder = join(directory, name);
    if (readdirSync(folder).length > 4) continue;
    expect(readFileSync(join(folder, 'index.mjs'), 'utf8')).not.toContain('api.stripe.com');
  }
});

test('the documents function finds its files beside it', async () => {
  const { handler } = (await import(join(directory, 'api-documents', 'index.mjs'))) as {
    handler: (event: object) => Promise<{ statusCode: number; body: string }>;
  };

  for (const name of ['swagger-ui-bundle.js', 'swagger-ui.css']) {
    const result = await handler(gatewayEvent('GET', `/docs/${name}`));
    expect(result.statusCode).toBe(200);
    expect(result.body).toBe(readFileSync(join(directory, 'api-documents', name), 'utf8'));
  }
});
