/** Tests the guarantee "bounded cost". */
import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { costsPage, type Synthesize } from '../../docs/generate/costs.ts';
import {
  idleBill,
  KEY_READS,
  pathsFor,
  type StackTemplate,
  TRAFFIC_METRICS,
  trafficBill,
} from '../../lib/cost/bill.ts';
import { logsOf } from '../../lib/cost/paths.ts';
import { linesOf, totalOf, type Usage } from '../../lib/cost/prices.ts';
import { synthesize } from '../support/synth.ts';

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const synthesized: Synthesize = async (context) =>
  Object.values(await synthesize(context)).flatMap((template) =>
    template === undefined ? [] : [template.toJSON() as unknown as StackTemplate],
  );

test('docs/operate/costs.md is current (to update it: npm run docs:tables)', async () => {
  expect(read('docs/operate/costs.md')).toBe(await costsPage(synthesized));
});

test('docs/design/authorities.md states the same costs of PostgreSQL as docs/operate/costs.md', () => {
  const [, idle = '', saved = ''] =
    /^\| `authority`: `postgres` \|.*\| ([\d.]+) \| ([\d.]+) less per million requests/m.exec(
      read('docs/operate/costs.md'),
    ) ?? [];
  const page = read('docs/design/authorities.md');
  expect(page).toContain(`${idle} a month`);
  expect(page).toContain(`| ${saved} less |`);
});

test('the bills contain requests to KMS, custom metrics under traffic, and process starts', async () => {
  const templates = await synthesized({ 'payonce:sandbox': 'false' });
  const numbers = (lines: ReturnType<typeof idleBill>) =>
    Object.fromEntries(lines.map(({ what, number }) => [what, number]));
  const [idle, traffic] = [numbers(idleBill(templates)), numbers(trafficBill(templates, 1_000_000))];
  // DynamoDB calls KMS for each function and table. Jobs alone have four functions, each with one to four tables.
  expect(idle['requests to KMS']).toBeGreaterThan(4 * KEY_READS);
  expect(traffic['requests to KMS']).toBeGreaterThan(10 * KEY_READS);
  expect(traffic['custom metrics under traffic']).toBe(TRAFFIC_METRICS);
  expect(numbers(trafficBill(templates, 73))['custom metrics under traffic']).toBeCloseTo(TRAFFIC_METRICS / 10);
  expect(pathsFor(templates).payment.usage.gbSecond).toBeGreaterThan(0.5 * 0.5);
});

test('an idle deployment without options costs at most 12.30 USD a month, and a million executions of each path cost at most its limit', async () => {
  const templates = await synthesized({ 'payonce:sandbox': 'false' });
  expect(totalOf(idleBill(templates))).toBeLessThanOrEqual(12.3);
  const { payment, callback, event, eventAlone, webhook, webhookUnderLoad, reconciling } = pathsFor(templates);
  const perMillion = ({ usage }: { readonly usage: Usage }): number => totalOf(linesOf(usage, 1_000_000));
  // The limit was 14 before AWS charged for process starts.
  expect(perMillion(payment)).toBeLessThanOrEqual(14.1);
  expect(perMillion(event)).toBeLessThanOrEqual(10);
  // The memory of the relay and the projector is set for full load, so a single event is billed at this memory, too.
  expect(perMillion(eventAlone)).toBeLessThanOrEqual(10.5);
  expect(perMillion(webhookUnderLoad)).toBeLessThanOrEqual(6);
  const logs = [payment, callback, event, webhookUnderLoad].map((path) => totalOf(linesOf(logsOf(path), 1_000_000)));
  expect(logs.reduce((sum, usd) => sum + usd, perMillion(reconciling))).toBeLessThanOrEqual(6);
  // Includes 0.30 USD for the message groups of the queue, which isolate tenants from each other.
  expect(perMillion(webhook)).toBeLessThanOrEqual(6.3);
});
