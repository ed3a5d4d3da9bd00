/**
 * `npm run generate`: generates the examples of the API documents, the types of the API, the protocol of processors and
 * some pages of the documents (`generated/`, not in git), and the types of the Python client. `npm ci` runs it.
 */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { Command } from 'commander';
import { writePages } from './pages.ts';
import { processorProtocol } from './processor-protocol.ts';

const FOLDER = new URL('../../generated/', import.meta.url);
const EXAMPLES = new URL('api-examples.json', FOLDER);

new Command('npm run generate')
  .description('Generates the API types, the examples of the API documents and some pages (generated/, not in git).')
  .parse();
mkdirSync(FOLDER, { recursive: true });
writePages(new URL('docs/', FOLDER));
writeFileSync(new URL('processor-protocol.json', FOLDER), processorProtocol());
// Capturing the examples loads the API documents. They import the file of the examples, so it must exist.
if (!existsSync(EXAMPLES)) writeFileSync(EXAMPLES, '{ "operations": {}, "problems": {} }\n');
const { captureExamples } = await import('../../test/api-docs/capture-examples.ts');
writeFileSync(EXAMPLES, await captureExamples());
const { apiTypes } = await import('./api-types.ts');
writeFileSync(new URL('api-types.ts', FOLDER), await apiTypes());
const { pythonTypes } = await import('./python-types.ts');
writeFileSync(new URL('../../clients/python/src/payonce/api_types.py', import.meta.url), pythonTypes());
