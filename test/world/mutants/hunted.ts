/**
 * Plays histories on request: a line `<seed> <profile>` on standard input is answered by a line of JSON, the names of the oracles
 * that the history violates. With `--import …/apply-mutant.ts` the product has a planted fault.
 */
import { createInterface } from 'node:readline';
import { generate } from '../simulator/generate.ts';
import { play } from '../simulator/play.ts';

for await (const line of createInterface({ input: process.stdin })) {
  const [seed = '', profile = ''] = line.split(' ');
  const { violations } = await play(generate(Number(seed), profile));
  process.stdout.write(`${JSON.stringify([...new Set(violations.map(({ oracle }) => oracle))])}\n`);
}
