/**
 * Implements `npm run commits`: checks the subjects of commits that are not on the default branch, or of the last 50
 * commits on that branch. With a file, checks the commit message in that file, as the git hook `commit-msg` does.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { PROJECT } from '../../local/directories.ts';
import { subjectProblem } from './subject-rules.ts';

const LAST = 50;

const [file] = new Command('npm run commits --')
  .description('Checks the subjects of commits.')
  .argument('[file]', 'file with the message of one commit; without it, the commits of this branch are checked')
  .parse().args;

/** Undefined if git is missing or fails. */
function git(...words: readonly string[]): string | undefined {
  try {
    return execFileSync('git', words, { cwd: PROJECT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  } catch {
    return undefined;
  }
}

function subjectIn(message: string): string {
  return message.split('\n').find((line) => line.trim() !== '' && !line.startsWith('#')) ?? '';
}

function subjectsOfBranch(): readonly string[] {
  const main = git('rev-parse', '--abbrev-ref', 'origin/HEAD') ?? 'main';
  const base = git('merge-base', main, 'HEAD');
  const isDefault = base === undefined || base === git('rev-parse', 'HEAD');
  const range = isDefault ? [`--max-count=${LAST}`] : [`${base}..HEAD`];
  const subjects = git('log', '--no-merges', '--format=%s', ...range) ?? '';
  return subjects.split('\n').filter((subject) => subject !== '');
}

const subjects = file === undefined ? subjectsOfBranch() : [subjectIn(readFileSync(file, 'utf8'))];
for (const subject of subjects) {
  const problem = subjectProblem(subject);
  if (problem === undefined) continue;
  console.error(`"${subject}" ${problem}.`);
  process.exitCode = 1;
}
