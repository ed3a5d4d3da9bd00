import type { PathCost } from './paths.ts';
import type { SpeedRatio } from './speed.ts';
import type { Weight } from './weight.ts';

export interface Measurements {
  readonly engine: readonly PathCost[];
  readonly others: readonly PathCost[];
  readonly overhead: readonly SpeedRatio[];
  readonly throughput: readonly SpeedRatio[];
  readonly weight: Weight;
}

/** The page of figures: counts, and ratios within one run. Nothing here depends on how fast the machine is. */
export function report({ engine, others, overhead, throughput, weight }: Measurements): string {
  return `# Benchmarks

Written by \`npm run bench\`. Counts are DynamoDB's own (\`ReturnConsumedCapacity\`, indexes included), as the local emulator
keeps them. Ratios are medians of rounds that take turns, in one run on one store. Neither says how fast a machine is.

## What a payment costs

| path | outcome | calls | durable writes | request units |
|---|---|---|---|---|
${rows(engine, costCells)}

Budgets: a first execution is two durable writes and at most 11 write units, 13 with a reference or a hold; a cold replay is one call that
is refused, a warm one is none. A refused call does not say what it cost: DynamoDB charges it for the items that stood in its way, here
two of at most a kilobyte, 4 units (three and 6 with a reference).

Beside it, for the same payment:

| path | outcome | calls | durable writes | request units |
|---|---|---|---|---|
${rows(others, costCells)}

They cost less because they leave out what makes a payment happen once: transactions, which cost double, the pending transition,
and the indexes by which open claims and recent outcomes are found. \`test/powertools\` and the feature of the race show what
becomes of money without these.

## Overhead

The time of one payment through the engine, with the processor in memory, one at a time.

| against | engine's time over theirs |
|---|---|
${rows(overhead, ({ subject, timeRatio }) => [subject, timeRatio.toFixed(2)])}

## Throughput

Payments that are finished in the same time, 32 in flight, on the same store in the same run.

| beside | engine's throughput over theirs |
|---|---|
${rows(throughput, ({ subject, timeRatio }) => [subject, (1 / timeRatio).toFixed(2)])}

## Weight

| function | minified kB |
|---|---|
${rows([...weight.kilobytes], ([name, kilobytes]) => [name, kilobytes.toFixed(0)])}

The CPU time to import the payments function, beside a handler with the SDK's DynamoDB client alone:

| the client | ratio |
|---|---|
${rows(weight.imports, ({ beside, ratio }) => [beside, ratio.toFixed(2)])}
`;
}

function costCells({ path, outcome, calls, durableWrites, units }: PathCost): readonly (string | number)[] {
  return [path, outcome, calls, durableWrites, units ?? 'refused'];
}

function rows<Row>(items: readonly Row[], cells: (item: Row) => readonly (string | number)[]): string {
  return items.map((item) => `| ${cells(item).join(' | ')} |`).join('\n');
}
