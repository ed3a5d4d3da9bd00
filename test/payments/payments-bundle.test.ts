import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { bundle } from '../../lib/lambda-code.ts';
import { gatewayEvent } from '../support/payments-desk.ts';

let directory: string;

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'payonce-bundle-'));
  bundle(directory);
});

afterAll(() => {
  rmSync(directory, { recursive: true, force: true });
});

test('the payments function is at most 800 kB, a third of it for Stripe, and does not carry the documents', () => {
  const file = join(directory, 'payments', 'index.mjs');

  expect(statSync(file).size).toBeLessThanOrEqual(800_000);
  expect(readFileSync(file, 'utf8')).not.toContain('openapi:"3.1');
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
