import { readFileSync, writeFileSync } from 'node:fs';
import { Command } from 'commander';
import { flagsOf, synthesizedStacks } from '../../lib/synthesized.ts';
import { proofPage } from './proof.ts';
import { fill } from './state-machine.ts';

const STATE_MACHINE = new URL('../reference/state-machine.md', import.meta.url);
const PROOF = new URL('../proof/planted-faults.md', import.meta.url);
const COSTS = new URL('../operate/costs.md', import.meta.url);
const COUNTED = new URL('../../lib/cost/counted-paths.json', import.meta.url);

new Command('npm run docs:tables').description('Updates the generated parts of the documents.').parse();
writeFileSync(STATE_MACHINE, fill(readFileSync(STATE_MACHINE, 'utf8')));
writeFileSync(PROOF, proofPage(readFileSync(PROOF, 'utf8')));
const { countPaths } = await import('../../test/bench/bench-counted-paths.ts');
writeFileSync(COUNTED, `${JSON.stringify(await countPaths(), null, 2)}\n`);
// Import this module only after the counts are written, because the module reads them.
const { costsPage } = await import('./costs.ts');
const synthesize = async (context: Readonly<Record<string, string>>) => [
  ...synthesizedStacks(context, flagsOf()).values(),
];
writeFileSync(COSTS, await costsPage(synthesize));
