import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Node 20 is the oldest version that the client supports; undefined if it is not installed. */
export function oldNode(): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  const programs = folders.map((folder) => join(folder, 'node')).filter((each) => existsSync(each));
  return programs.find((each) => execFileSync(each, ['--version'], { encoding: 'utf8' }).startsWith('v20.'));
}
