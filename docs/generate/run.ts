import { readFileSync, writeFileSync } from 'node:fs';
import { fill } from './state-machine.ts';

const DOCUMENT = new URL('../state-machine.md', import.meta.url);

writeFileSync(DOCUMENT, fill(readFileSync(DOCUMENT, 'utf8')));
