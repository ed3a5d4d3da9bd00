import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';

const PROJECT = resolve(import.meta.dirname, '..', '..');

/** Disables the compile cache, which npm and bundlers would otherwise leave in the temporary folder. */
const ENVIRONMENT = { ...process.env, NODE_DISABLE_COMPILE_CACHE: '1' };

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A separate project that uses Payonce as a package. */
export interface ForeignProject {
  readonly folder: string;
  readonly tarball: string;
  /** The lines that the build printed to standard error. */
  readonly progress: readonly string[];
  /** The wheel of the Python client. */
  readonly wheel: string;
  readonly installed: string;
  write(path: string, text: string): void;
  /** @param node path of Node; by default, the Node of this process */
  run(words: readonly string[], environment?: Readonly<Record<string, string>>, node?: string): Promise<Ended>;
  remove(): void;
}

/** Downloads nothing: the package has no dependencies, and the packages in `has` are linked from this project. */
export async function foreignProject(has: readonly string[]): Promise<ForeignProject> {
  const folder = mkdtempSync(join(tmpdir(), 'payonce-foreign-'));
  const packed = await promisify(execFile)(
    process.execPath,
    ['local/launch.mjs', 'package/build.ts', '--directory', join(folder, 'packed')],
    { cwd: PROJECT },
  );
  const [tarball = '', wheel = ''] = packed.stdout.trim().split('\n');
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  };
  write('package.json', JSON.stringify({ name: 'other-project', private: true, type: 'module' }));
  const npm = ['install', '--offline', '--ignore-scripts', '--no-audit', '--no-fund', tarball];
  await promisify(execFile)('npm', npm, { cwd: folder, env: ENVIRONMENT });
  for (const name of has) {
    mkdirSync(dirname(join(folder, 'node_modules', name)), { recursive: true });
    symlinkSync(join(PROJECT, 'node_modules', name), join(folder, 'node_modules', name));
  }
  return {
    folder,
    tarball,
    progress: packed.stderr.trim().split('\n'),
    wheel,
    installed: join(folder, 'node_modules', 'payonce'),
    write,
    run: async (words, environment = {}, node = process.execPath) =>
      promisify(execFile)(node, [...words], { cwd: folder, env: { ...ENVIRONMENT, ...environment } }).then(
        (ended) => ({ code: 0, ...ended }),
        (error: unknown) => error as Ended,
      ),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
