import { readFileSync, writeFileSync } from 'node:fs';
import { Command } from 'commander';
import { metricsPage } from './metrics.ts';
import { proofPage } from './proof.ts';
import { retentionPage } from './retention.ts';
import { fill } from './state-machine.ts';

const STATE_MACHINE = new URL('../state-machine.md', import.meta.url);
const METRICS = new URL('../metrics.md', import.meta.url);
const RETENTION = new URL('../retention.md', import.meta.url);
const PROOF = new URL('../proof.md', import.meta.url);
const EXAMPLES = new URL('../../lambdas/api-docs/examples.json', import.meta.url);

new Command('npm run docs:tables')
  .description('Updates the generated parts of the documents, and the examples of the API description.')
  .parse();
const { captureExamples } = await import('../../test/api-docs/capture-examples.ts');
writeFileSync(STATE_MACHINE, fill(readFileSync(STATE_MACHINE, 'utf8')));
writeFileSync(METRICS, metricsPage());
writeFileSync(RETENTION, retentionPage());
writeFileSync(PROOF, proofPage(readFileSync(PROOF, 'utf8')));
writeFileSync(EXAMPLES, await captureExamples());
