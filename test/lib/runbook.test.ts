/** Tests the guarantee "raised alarms". */
import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { synthesize } from '../support/synth.ts';
import { carryingTemplate } from './carrying-template.ts';
import { EVERYTHING } from './templates.ts';

const RUNBOOK = new URL('../../docs/operate/runbook/', import.meta.url);
/** Keyed by page and anchor. */
const entries = new Map(
  readdirSync(RUNBOOK)
    .filter((page) => page !== 'README.md')
    .flatMap((page) =>
      readFileSync(new URL(page, RUNBOOK), 'utf8')
        .split(/^## /m)
        .slice(1)
        .map((entry): [string, string] => {
          const [heading = '', ...lines] = entry.split('\n');
          return [`${page}#${heading.toLowerCase().replaceAll(' ', '-')}`, lines.join('\n').trim()];
        }),
    ),
);
const stacks = [
  ...[await synthesize(), await synthesize(EVERYTHING)].flatMap((each) => Object.values(each)),
  carryingTemplate(),
];
const alarms = stacks.flatMap(
  (template) =>
    Object.entries(template?.findResources('AWS::CloudWatch::Alarm') ?? {}) as [
      string,
      { readonly Properties: { readonly AlarmDescription?: string } },
    ][],
);
const named = alarms.map(
  ([, { Properties }]) => /docs\/operate\/runbook\/([a-z]+\.md#[a-z-]+)$/.exec(Properties.AlarmDescription ?? '')?.[1],
);

test('every alarm names an existing runbook entry', () => {
  expect(alarms.length).toBeGreaterThan(10);
  for (const [index, [id]] of alarms.entries())
    expect({ id, entry: named[index] }).toEqual({
      id,
      entry: [...entries.keys()].find((each) => each === named[index]),
    });
  expect(named).not.toContain(undefined);
});

test('every runbook entry belongs to an alarm or states that it has none', () => {
  const withoutAlarm = [...entries].filter(([, text]) => text.startsWith('No alarm.')).map(([entry]) => entry);
  expect(new Set([...named, ...withoutAlarm])).toEqual(new Set(entries.keys()));
  expect(withoutAlarm.filter((entry) => named.includes(entry))).toEqual([]);
});
