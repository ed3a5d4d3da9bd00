/**
 * Reads `<seed> <profile>` or `story <name>` from each line of standard input, and writes the result as a line of JSON.
 * `--import …/apply-mutant.ts` plants a fault.
 */
import { createInterface } from 'node:readline';
import { storyNamed } from '../stories/story.ts';
import { ReachedText } from './reached-text.ts';

export interface Hunted {
  readonly violated: readonly string[];
  /** Empty if a fault is planted. */
  readonly reached: readonly string[];
}

const text = process.env['PAYONCE_MUTANT'] === undefined ? new ReachedText() : undefined;
// Load production code only after coverage has started.
const { generate } = await import('../simulator/generate.ts');
const { play } = await import('../simulator/play.ts');
Error.stackTraceLimit = 8;

for await (const line of createInterface({ input: process.stdin })) {
  const [seed = '', profile = ''] = line.split(' ');
  const { violations } = await play(seed === 'story' ? storyNamed(profile).history : generate(Number(seed), profile));
  const violated = [...new Set(violations.map(({ oracle }) => oracle))];
  const hunted: Hunted = { violated, reached: text?.take() ?? [] };
  process.stdout.write(`${JSON.stringify(hunted)}\n`);
}
