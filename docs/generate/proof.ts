import { readFileSync } from 'node:fs';
import { type HuntRow, readHuntRows } from '../../test/world/mutants/hunt-rows.ts';
import type { Mutant } from '../../test/world/mutants/mutant.ts';
import { MUTANTS } from '../../test/world/mutants/mutants.ts';
import { ACTS } from '../../test/world/simulator/acts/all-acts.ts';
import { type Reached, sorted } from '../../test/world/simulator/coverage.ts';
import { code, fill, markdownTable } from './state-machine.ts';
import { wrapMarkdown } from './wrap.ts';

export interface Finding {
  readonly finding: string;
  readonly what: string;
  readonly fix: string;
  /** The test that shows the fix: `<file> › <name>`. */
  readonly test: string;
  /** Name of a file in test/world/stories, without its extension. */
  readonly story?: string;
}

export const FINDINGS = read('findings') as readonly Finding[];
const REACHED = read('reached') as Reached;
const ROWS: ReadonlyMap<string, HuntRow> = new Map(readHuntRows().map((row) => [row.mutant, row]));

function read(name: string): unknown {
  return JSON.parse(readFileSync(new URL(`../proof/${name}.json`, import.meta.url), 'utf8'));
}

export function proofPage(page: string): string {
  return wrapMarkdown(fill(page, { mutants, survivors, coverage }));
}

type Result = 'random histories' | 'a story only' | 'not found';

function resultOf(mutant: Mutant): Result {
  if (histories(mutant) !== undefined) return 'random histories';
  return ROWS.get(mutant.name)?.story === undefined ? 'not found' : 'a story only';
}

/** Undefined if at most half of the series found the fault. */
function histories({ name }: Mutant): number | undefined {
  const { histories: counts = [] } = ROWS.get(name)?.random ?? {};
  return counts[Math.floor(counts.length / 2)] ?? undefined;
}

function mutants(): string {
  const results: readonly Result[] = ['random histories', 'a story only', 'not found'];
  const numbers = results.map((result) => String(MUTANTS.filter((mutant) => resultOf(mutant) === result).length));
  const counts = MUTANTS.flatMap((mutant) => histories(mutant) ?? []).toSorted((one, other) => one - other);
  const quantile = (part: number) => counts[Math.floor(counts.length * part)];
  return [
    markdownTable(['faults', ...results], [[String(MUTANTS.length), ...numbers]]),
    '',
    `Half of the faults found by random histories took at most ${quantile(0.5)} histories, and nine of ten at most ${quantile(0.9)}.`,
  ].join('\n');
}

function survivors(): string {
  const left = MUTANTS.filter((mutant) => resultOf(mutant) === 'not found');
  if (left.length === 0) return 'No fault survives: random histories or a kept story detect each of them.';
  return markdownTable(
    ['fault that was not found', 'behavior'],
    left.map(({ name, fault }) => [code(name), fault]),
  );
}

function coverage(): string {
  const pairs = sorted('pair', REACHED);
  return [
    `The figures are from ${REACHED.histories} histories.`,
    '',
    markdownTable(
      ['what', 'of', 'reached'],
      [
        ['cells of the state tables', ...share('cell')],
        ['faults', ...share('fault')],
        ['acts that took effect', ...share('act')],
        ['pairs of an act and a kind of fault', String(pairs.all.length), String(pairs.reached.length)],
      ],
    ),
    '',
    markdownTable(['not reached', 'reason'], [...missed('cell'), ...missed('fault')]),
    '',
    actsWithoutEffect(),
  ].join('\n');
}

function share(kind: 'cell' | 'fault' | 'act'): readonly [string, string] {
  const { all, reached } = sorted(kind, REACHED);
  return [String(all.length), String(reached.length)];
}

function missed(kind: 'cell' | 'fault'): readonly (readonly [string, string])[] {
  const { unreachable, never } = sorted(kind, REACHED);
  const reasons = [...Map.groupBy(unreachable, ({ why }) => why)];
  return [
    ...reasons.map(([why, of]) => [of.length === 1 ? (of[0]?.name ?? '') : `${of.length} ${kind}s`, why] as const),
    ...never.map((name) => [name, 'no history reached it yet: a defect of the generator'] as const),
  ];
}

function actsWithoutEffect(): string {
  const { never } = sorted('act', REACHED);
  const rare = ACTS.map(({ name }) => name).filter((name) => {
    const { [`drawn ${name}`]: drawn = 0, [`effect ${name}`]: effect = 0 } = REACHED.counts;
    return drawn > 0 && 2 * effect < drawn;
  });
  return `Acts that no history contains: ${list(never)}. Acts with an effect in less than half of their steps: ${list(rare)}.`;
}

function list(names: readonly string[]): string {
  return names.length === 0 ? 'none' : names.map(code).join(', ');
}
