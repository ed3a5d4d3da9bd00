import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { PROJECT } from '../../local/directories.ts';

const run = promisify(execFile);

/**
 * Derives a number from the content of the working tree. The run before a commit and the CI run therefore use the same
 * slice, and the run after the next change uses another slice.
 *
 * @returns an integer from 0 to 2^31 - 1; 0 outside a git repository
 */
export async function sliceOfTree(): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'payonce-tree-'));
  try {
    const { stdout: objects } = await run('git', ['rev-parse', '--path-format=absolute', '--git-path', 'objects'], {
      cwd: PROJECT,
    });
    // Uses a separate index and object folder, so that the repository does not change.
    const env = {
      ...process.env,
      GIT_INDEX_FILE: join(folder, 'index'),
      GIT_OBJECT_DIRECTORY: folder,
      GIT_ALTERNATE_OBJECT_DIRECTORIES: objects.trim(),
    };
    await run('git', ['add', '--all', '.'], { cwd: PROJECT, env });
    const { stdout } = await run('git', ['write-tree'], { cwd: PROJECT, env });
    return Number.parseInt(stdout.slice(0, 8), 16) & 0x7f_ff_ff_ff;
  } catch {
    return 0;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
