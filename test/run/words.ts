/** `npm run words`: finds words of the sources that an engineer would not use, and names a better one. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import { PROJECT } from '../../local/directories.ts';
import { wordFindings } from './word-list.ts';

/** Folders whose comments and texts are not clean yet. */
const UNCLEAN = [
  'test',
  'bench',
  'docs',
  'lambdas',
  'lib',
  'sandbox',
  'bridge',
  'client',
  'cli',
  'local',
  'console',
  'demo',
  'examples',
  'package',
];
/** Folders whose names are not clean yet. */
const UNCLEAN_NAMES = UNCLEAN;
/** Folders that are generated, or not ours. */
const IGNORED = ['node_modules', '.git', '.payonce', 'cdk.out', 'coverage', 'dist', 'test/entries'];

new Command('npm run words')
  .description('Finds words of the sources that an engineer would not use, and names a better one.')
  .parse();

const isIn = (file: string, folders: readonly string[]): boolean =>
  folders.some((folder) => file.startsWith(`${folder}/`));
const files = globSync('**/*.{ts,tsx,js,cjs,mjs}', {
  cwd: PROJECT,
  exclude: [...IGNORED, ...UNCLEAN].map((folder) => `${folder}/**`),
});
const lines = files.toSorted().flatMap((file) => {
  const findings = wordFindings(readFileSync(join(PROJECT, file), 'utf8'), !isIn(file, UNCLEAN_NAMES));
  return findings.map(({ line, found, instead }) => `${file}:${line}: "${found}": write ${instead}`);
});
for (const line of lines) console.error(line);
process.exitCode = lines.length === 0 ? 0 : 1;
