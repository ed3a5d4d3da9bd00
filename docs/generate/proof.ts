import { readFileSync } from 'node:fs';
import { type HuntRow, readHuntRows } from '../../test/world/mutants/hunt-rows.ts';
import { MUTANTS } from '../../test/world/mutants/mutants.ts';
import { ACTS } from '../../test/world/simulator/acts/all-acts.ts';
import { effectOf, type Reached, sorted } from '../../test/world/simulator/coverage.ts';
import { code, fill, markdownTable } from './state-machine.ts';

export interface Finding {
  readonly finding: string;
  readonly what: string;
  readonly fix: string;
  /** `<file> › <name>`. */
  readonly test: string;
  /** The name of a file of test/world/stories, without its ending. */
  readonly story?: string;
}

export const FINDINGS = read('findings') as readonly Finding[];
const REACHED = read('reached') as Reached;
const ROWS: ReadonlyMap<string, HuntRow> = new Map(readHuntRows().map((row) => [row.mutant, row]));

function read(name: string): unknown {
  return JSON.parse(readFileSync(new URL(`../proof/${name}.json`, import.meta.url), 'utf8'));
}

/** docs/proof/planted-faults.md with its tables made again from the files of docs/proof. */
export function proofPage(page: string): string {
  return fill(page, { findings, mutants, cells, faults, acts });
}

function findings(): string {
  return markdownTable(
    ['finding', 'what was wrong', 'fix', 'planted again as: histories', 'story', 'test'],
    FINDINGS.map(({ finding, what, fix, test, story }) => {
      const planted = MUTANTS.filter((mutant) => mutant.finding === finding).map(
        ({ name }) => `${code(name)}: ${took(name)}`,
      );
      const [file = '', name = ''] = test.split(' › ');
      return [
        finding,
        what,
        fix,
        planted.join('; '),
        story === undefined ? '' : code(story),
        `${code(file)} › ${name}`,
      ];
    }),
  );
}

function mutants(): string {
  return markdownTable(
    ['fault', 'finding', 'file', 'histories', 'seed', 'oracle', 'story'],
    MUTANTS.map(({ name, finding = '', edits }) => {
      const { random, story } = ROWS.get(name) ?? {};
      const files = [...new Set(edits.map(({ file }) => code(file.split('/').at(-1) ?? file)))].join(', ');
      const { shown } = random ?? {};
      const seed = shown === undefined ? '' : `${shown.seed} of ${code(shown.profile)}`;
      const oracle = shown?.oracle ?? story?.oracle ?? '';
      return [code(name), finding, files, took(name), seed, oracle, story === undefined ? '' : code(story.name)];
    }),
  );
}

/** The median of the rows of histories. */
function took(mutant: string): string {
  const { random } = ROWS.get(mutant) ?? {};
  if (random === undefined) return 'not hunted at random';
  const { histories, most, profiles } = random;
  const median = histories[Math.floor(histories.length / 2)] ?? null;
  const of = profiles.length > 3 ? '' : ` of ${profiles.map(code).join(', ')}`;
  return median === null ? `not found in ${most}${of}` : `${median}${of}`;
}

function cells(): string {
  const { all, reached, never, unreachable } = sorted('cell', REACHED);
  return [
    `Of ${all.length} cells of the state tables, ${reached.length} were reached in ${REACHED.histories} histories.`,
    '',
    markdownTable(
      ['cell that was not reached', 'why'],
      [
        ...unreachable.map(({ name, why }) => [name, why]),
        ...never.map((name) => [name, 'no history reached it yet: a defect of the generator']),
      ],
    ),
  ].join('\n');
}

function faults(): string {
  const { all, reached, never, unreachable } = sorted('fault', REACHED);
  const pairs = sorted('pair', REACHED);
  return [
    `Of ${all.length} faults, ${reached.length} were reached; of ${pairs.all.length} pairs of an act and a kind of fault, ${pairs.reached.length}.`,
    '',
    markdownTable(
      ['fault that was not reached', 'why'],
      [
        ...unreachable.map(({ name, why }) => [name, why]),
        ...never.map((name) => [name, 'no history reached it yet: a defect of the generator']),
      ],
    ),
  ].join('\n');
}

function acts(): string {
  return markdownTable(
    ['act', 'steps'],
    ACTS.map(({ name }) => [code(name), effectOf(name, REACHED)]),
  );
}
