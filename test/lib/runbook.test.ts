/** Holds the guarantee "raised alarms". */
import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { synthesize } from '../support/synth.ts';
import { EVERYTHING } from './templates.ts';

const runbook = readFileSync(new URL('../../docs/operate/runbook.md', import.meta.url), 'utf8');
const entries = [...runbook.matchAll(/^## (.+)$/gm)].map(([, heading = '']) =>
  heading.toLowerCase().replaceAll(' ', '-'),
);
const stacks = [await synthesize(), await synthesize(EVERYTHING)].flatMap((each) => Object.values(each));
const alarms = stacks.flatMap(
  (template) =>
    Object.entries(template?.findResources('AWS::CloudWatch::Alarm') ?? {}) as [
      string,
      { readonly Properties: { readonly AlarmDescription?: string } },
    ][],
);
const named = alarms.map(
  ([, { Properties }]) => /docs\/operate\/runbook\.md#([a-z-]+)$/.exec(Properties.AlarmDescription ?? '')?.[1],
);

test('every alarm names an existing runbook entry', () => {
  expect(alarms.length).toBeGreaterThan(10);
  for (const [index, [id]] of alarms.entries()) {
    expect({ id, entry: entries.find((entry) => entry === named[index]) }).toEqual({ id, entry: named[index] });
    expect(named[index]).toBeDefined();
  }
});

test('every runbook entry belongs to an alarm or says that it has none, and occurs exactly once', () => {
  expect(new Set(entries).size).toBe(entries.length);
  const withoutAlarm = runbook
    .split(/^## .+$/m)
    .slice(1)
    .map((text) => text.trim().startsWith('No alarm.'));
  expect(entries.filter((entry, index) => named.includes(entry) === withoutAlarm[index])).toEqual([]);
});
