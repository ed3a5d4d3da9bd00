/** Implements `npm run words`: finds words that an engineer would not use, and suggests better words. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import { PROJECT } from '../../local/directories.ts';
import { wordFindings } from './word-list.ts';

/** Folders that are not checked yet. */
const UNCLEAN = ['docs'];
/** Generated files, third-party files, and the samples of the word list. */
const IGNORED = [
  '.git',
  '.payonce',
  'cdk.out',
  'coverage',
  'dist',
  'generated',
  'node_modules',
  'test/entries',
  'test/run/subject-rules.test.ts',
  'test/run/word-list.ts',
  'test/run/words.test.ts',
];

new Command('npm run words')
  .description('Finds words that an engineer would not use, and suggests better words.')
  .parse();

const files = globSync('**/*.{ts,tsx,js,cjs,mjs}', {
  cwd: PROJECT,
  exclude: [...IGNORED, ...UNCLEAN].flatMap((path) => [path, `${path}/**`]),
});
const lines = files.toSorted().flatMap((file) => {
  const findings = wordFindings(file, readFileSync(join(PROJECT, file), 'utf8'));
  return findings.map(({ line, found, instead }) => `${file}:${line}: "${found}": write ${instead}`);
});
for (const line of lines) console.error(line);
process.exitCode = lines.length === 0 ? 0 : 1;
