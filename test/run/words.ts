/** Implements `npm run words`: finds words that an engineer would not use, and documents that are too long. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import { PROJECT } from '../../local/directories.ts';
import { documentFindings } from './document-limits.ts';
import { fileNameFindings, wordFindings } from './word-list.ts';

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
  'test/run/document-limits.test.ts',
];

new Command('npm run words')
  .description('Finds words that an engineer would not use, and documents that are too long.')
  .parse();

const files = globSync('**/*.{ts,tsx,js,cjs,mjs}', {
  cwd: PROJECT,
  exclude: IGNORED.flatMap((path) => [path, `${path}/**`]),
});
const read = (file: string): string => readFileSync(join(PROJECT, file), 'utf8');
const documents = globSync(['{README,CHANGELOG,CONTRIBUTING,SECURITY}.md', 'docs/**/*.md'], { cwd: PROJECT });
const stories = globSync('test/world/stories/*.json', { cwd: PROJECT });
const lines = [
  ...[...files, ...documents, ...stories].toSorted().flatMap(fileNameFindings),
  ...files
    .toSorted()
    .flatMap((file) =>
      wordFindings(file, read(file)).map(({ line, found, instead }) => `${file}:${line}: "${found}": write ${instead}`),
    ),
  ...documentFindings(new Map(documents.toSorted().map((file) => [file, read(file)]))),
];
for (const line of lines) console.error(line);
process.exitCode = lines.length === 0 ? 0 : 1;
